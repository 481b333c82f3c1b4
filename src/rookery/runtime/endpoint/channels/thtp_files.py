"""Serve the files below one directory over `thtp`, and nothing else."""

import asyncio
import functools
import mimetypes
import os
import stat
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote

from rookery.errors import UsageError
from rookery.runtime.endpoint.channels.interface import Handler
from rookery.runtime.endpoint.channels.thtp_server import ThtpRequest, thtp_handler

READ_SIZE = 1 << 16
INDEX = "index.html"


@functools.cache
def _content_types() -> mimetypes.MimeTypes:
    """The table that comes with Python alone: the machine's own would make answers differ."""
    return mimetypes.MimeTypes()


def serve_files(directory: Path) -> Handler:
    """A channel handler that answers GET and HEAD with files; UsageError if there is no such."""
    root = directory.resolve()
    if not root.is_dir():
        raise UsageError(f"{directory} is not a directory")

    async def serve(request: ThtpRequest) -> None:
        if request.head.method not in {"GET", "HEAD"}:
            await request.respond_text(405, "only GET and HEAD", [("allow", "GET, HEAD")])
            return
        names = _names(request.head.path)
        if names is None:
            await request.respond_text(404, "not found")
            return
        target = root.joinpath(*names)
        if names[-1] != "" and await asyncio.to_thread(_is_directory, root, target):
            location = "/" + "".join(f"{quote(name, safe='')}/" for name in names)
            await request.respond_text(301, "a directory", [("location", location)])
        else:
            await _send_file(request, root, target if names[-1] else target / INDEX)

    return thtp_handler(serve)


def _names(path: str) -> list[str] | None:
    """The names a path is made of; None when one of them is not for others to ask.

    An empty last name asks for a directory's index.
    """
    *folders, last = path.partition("?")[0].removeprefix("/").split("/")
    names = [*(unquote(folder) for folder in folders if folder), unquote(last)]
    return None if any(not _is_public(name) for name in names) else names


def _is_public(name: str) -> bool:
    # Dot files hold secrets and history; `..` is one of them. The other characters separate
    # or end names on some systems.
    if name.startswith(".") and name != ".well-known":
        return False
    return not any(char in "/\\:\0\ufffd" for char in name)


def _is_directory(root: Path, target: Path) -> bool:
    try:
        resolved = target.resolve(strict=True)
        return resolved.is_relative_to(root) and resolved.is_dir()
    except (OSError, RuntimeError):
        return False


async def _send_file(request: ThtpRequest, root: Path, target: Path) -> None:
    file = await asyncio.to_thread(_open_inside, root, target)
    if file is None:
        await request.respond_text(404, "not found")
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        headers = [("content-type", _content_type(target.name)), ("content-length", str(size))]
        request.start(200, headers)
        left = 0 if request.head.method == "HEAD" else size
        while left > 0 and (data := await asyncio.to_thread(file.read, min(READ_SIZE, left))):
            left -= len(data)
            await request.write(data)
        if left:
            request.abort("the file shrank while it was sent")
        else:
            await request.finish()


def _open_inside(root: Path, target: Path) -> BinaryIO | None:
    """Open a regular file that is really below `root`, whatever links lead there.

    The check follows the opening and compares what is open with what the path resolves to, so
    that a link changed in between gains nothing.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    if _is_inside(root, target, os.fstat(descriptor)):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None


def _is_inside(root: Path, target: Path, status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    try:
        resolved = target.resolve(strict=True)
        return resolved.is_relative_to(root) and os.path.samestat(status, resolved.stat())
    except (OSError, RuntimeError):
        return False


def _content_type(name: str) -> str:
    kind, encoding = _content_types().guess_type(name)
    if kind is None or encoding is not None:
        return "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
