"""`rookery cp`: a file to a folder of another node, or from there, in as many goes as it takes."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, print_line
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.progress import Progress
from rookery.cli.terminal.screen import print_json
from rookery.errors import DecodeError, UsageError
from rookery.mesh.files.path import FilePath
from rookery.mesh.services import FILES
from rookery.runtime.files.copy import CopyResult, MemberFile, Opener, get, put
from rookery.runtime.files.transfer import OnProgress
from rookery.runtime.tunnels.member_stream import MemberStream

Copy = Callable[[Opener, OnProgress], Awaitable[CopyResult]]

_PLACES = "give FILE NODE:FOLDER/PATH or NODE:FOLDER/PATH FILE; a local name with : as ./NAME"


class RemoteCopyPath(NamedTuple):
    """A place at another node."""

    node: str
    path: str

    def file(self, name: str) -> MemberFile:
        """The file that is meant; a path that ends in / is a folder, for a file of this name."""
        text = self.path + name if self.path.endswith("/") else self.path
        try:
            return MemberFile(self.node, FilePath.parse(text))
        except DecodeError as error:
            raise UsageError(f"{self.node}:{text}: {error}") from error


def cp(
    source: Annotated[str, Parameter(name="FROM", help="FILE, or NODE:FOLDER/PATH.")],
    target: Annotated[
        str,
        Parameter(name="TO", help="NODE:FOLDER/PATH, or FILE; a folder for a file of that name."),
    ],
    /,
    *,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    node, copy = _planned(parse_place(source), parse_place(target))

    async def work() -> int:
        progress = Progress(is_json=output.json)
        async with AsyncExitStack() as stack:
            try:
                copied = await copy(_NodeStreamOpener(stack, control_options, node), progress)
            finally:
                progress.end()
        _print(source, target, copied, progress.took_s, output)
        return OK

    return run_verb(work())


def parse_place(text: str) -> RemoteCopyPath | Path:
    """`bob:inbox/a.txt`, or a file of this machine; as with scp, a / before the : makes it one."""
    node, colon, path = text.partition(":")
    if not colon or "/" in node:
        if not text:
            raise UsageError(f"an empty name; {_PLACES}")
        return Path(text)
    if not node or not path:
        raise UsageError(f"{text!r} is nowhere; {_PLACES}")
    return RemoteCopyPath(node, path)


def _planned(source: RemoteCopyPath | Path, target: RemoteCopyPath | Path) -> tuple[str, Copy]:
    """The remote node, and the copy to make with it."""
    if isinstance(source, Path) and isinstance(target, RemoteCopyPath):
        local, remote = source, target.file(source.name)
        return target.node, lambda opener, progress: put(opener, local, remote, progress)
    if isinstance(source, RemoteCopyPath) and isinstance(target, Path):
        remote = source.file("")
        local = target / remote.path.name if target.is_dir() else target
        return source.node, lambda opener, progress: get(opener, remote, local, progress)
    raise UsageError(f"one of the two is at another node: {_PLACES}")


class _NodeStreamOpener:
    """Streams of the local node, whose connections last as long as the verb."""

    def __init__(self, stack: AsyncExitStack, control_options: ControlOptions, node: str) -> None:
        self._stack = stack
        self._control_options = control_options
        self._node = node

    async def __call__(self, meta: Mapping[str, object]) -> MemberStream:
        control = await self._stack.enter_async_context(self._control_options.connected())
        stream, _ = await control.stream(self._node, FILES, meta)
        return stream


def _print(source: str, target: str, copied: CopyResult, took_s: float, output: Output) -> None:
    if output.json:
        print_json(
            {
                "is": "copied",
                "from": source,
                "to": target,
                "bytes": copied.size,
                "kept_bytes": copied.kept,
                "blake2b": copied.digest,
                "took_s": round(took_s, 3),
            }
        )
        return
    text = f"{source} -> {target}: {units.size(copied.size)}"
    if copied.kept:
        text += f", {units.size(copied.kept)} of it from an earlier try"
    moved = copied.size - copied.kept
    if moved and took_s > 0:
        text += f", {units.rate(moved / took_s)}"
    print_line(text)
