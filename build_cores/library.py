"""The extension modules, and the package with them.

build/cores/cpython-311-…/c/      what mypyc wrote, and a C file for each package
                         /o/      objects
                         /lib/    the extension modules
"""

import fcntl
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

from build_cores.generated import GROUP, Extension, generated
from build_cores.modules import ROOT, SOURCES, sources, used
from build_cores.progress import Progress
from build_cores.steps import Step, Steps, digest
from build_cores.toolchain import SUFFIX, CannotCompileError, Toolchain, failure, missing

_KEPT = ROOT / "build" / "cores"
_MADE_OF = "made_of.json"
_CACHED_BYTECODE = "__pycache__"
_UNITS = (
    "mesh.tunnel",
    "runtime.crow",
    "runtime.endpoint.gates",
    "runtime.outbox",
    "runtime.proxy",
)


def build() -> Path:
    """The folder with the extension modules, made as far as they have to be."""
    toolchain = Toolchain()
    work = _work_folder(toolchain)
    with _locked(work):
        if not _is_current(work):
            if (lack := missing()) is not None:
                raise CannotCompileError(lack)
            _compile(work, toolchain)
    return work / "lib"


def present(folder: Path, extension_modules: Path) -> None:
    """Make `folder` the package: links to the sources as they are, and to extension modules."""
    wanted = {
        path.relative_to(root): path
        for root, pattern in ((SOURCES, "*"), (extension_modules, f"*{SUFFIX}"))
        for path in root.rglob(pattern)
        if path.is_file() and _CACHED_BYTECODE not in path.parts
    }
    with _locked(extension_modules.parent):
        for path in list(folder.rglob("*")):
            if path.is_symlink() and path.relative_to(folder) not in wanted:
                path.unlink()
        for name, target in wanted.items():
            _link(folder / name, target)


def _link(link: Path, target: Path) -> None:
    """In one move, as programs may be running from there."""
    if not link.is_symlink() or link.readlink() != target:
        link.parent.mkdir(parents=True, exist_ok=True)
        new = link.with_name(f".{link.name}")
        new.unlink(missing_ok=True)
        new.symlink_to(target)
        new.replace(link)


def _work_folder(toolchain: Toolchain) -> Path:
    try:
        mypy = version("mypy")
    except PackageNotFoundError as error:
        raise CannotCompileError("no mypy (pip install mypy setuptools)") from error
    tools = json.dumps([sys.version, SUFFIX, mypy, toolchain.compile, toolchain.link])
    name = f"{sys.implementation.cache_tag}-{hashlib.sha256(tools.encode()).hexdigest()[:8]}"
    try:
        (_KEPT / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotCompileError(f"{error.filename}: {error.strerror}") from error
    return _KEPT / name


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Alone: whoever comes second finds it made."""
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_current(work: Path) -> bool:
    try:
        made_of: dict[str, str] = json.loads((work / _MADE_OF).read_text())
        return all(digest(ROOT / name) == known for name, known in made_of.items())
    except (OSError, ValueError):
        return False


def _compile(work: Path, toolchain: Toolchain) -> None:
    progress = Progress(len(sources()))
    made_of = {str(path.relative_to(ROOT)): digest(path) for path in _inputs()}
    (work / _MADE_OF).unlink(missing_ok=True)
    library, *modules = generated(work / "c")
    objects = _objects(work, toolchain, library)
    paths = tuple(step.output for step in objects)
    linked = Step(_output(work, library), (*toolchain.link, *map(str, paths)), paths)
    shims = [_shim(work, toolchain, module) for module in modules]
    steps = Steps(work / "c", work / "steps.json")
    steps.take([*objects, *shims], progress)
    steps.take([linked], progress)
    _leave_only(work / "lib", {linked.output, *(shim.output for shim in shims)})
    if (
        reason := failure([sys.executable, "-c", f"import {library.name}"], work / "lib")
    ) is not None:
        raise CannotCompileError(reason)
    (work / _MADE_OF).write_text(json.dumps(made_of))
    progress.end()


def _inputs() -> list[Path]:
    return sorted({*used(), *Path(__file__).parent.glob("*.py"), ROOT / "pyproject.toml"})


def _objects(work: Path, toolchain: Toolchain, library: Extension) -> list[Step]:
    """One for each part of the package, see `_unit`.

    All in one would keep one processor busy; one for each module would read the headers, which are
    long, a hundred times, and leave nothing to inline.
    """
    folder = work / "c"
    headers = tuple(sorted(folder.glob("*.h")))
    runtime = [path for path in library.include_dirs if Path(path) != folder]
    include = [f"-I{path}" for path in (".", *runtime)]
    include += [f"-ffile-prefix-map={path}=mypyc" for path in runtime]
    steps = []
    in_order = sorted(map(Path, library.sources), key=lambda path: (_unit(path), path))
    for unit, found in groupby(in_order, _unit):
        inputs = tuple(found)
        together = folder / f"{unit}.c"
        together.write_text("".join(f'#include "{each.name}"\n' for each in inputs))
        command = (*toolchain.compile, *include, "-c", together.name)
        modules = 0 if unit == GROUP else len(inputs)
        steps.append(Step(work / "o" / f"{unit}.o", command, (*inputs, *headers), modules))
    return steps


def _unit(source: Path) -> str:
    """What is compiled together, so that calls within it can be inlined.

    `__native_rookery___mesh___routing___forwarding.c` is of `rookery.mesh`, and what mypyc brings
    of none; parts in `_UNITS` are large enough to be compiled beside their package.
    """
    root, *rooms = source.stem.removeprefix("__native_").split("___")
    if not rooms:
        return GROUP
    module = ".".join(rooms)
    return f"{root}.{next((unit for unit in _UNITS if module.startswith(f'{unit}.')), rooms[0])}"


def _shim(work: Path, toolchain: Toolchain, module: Extension) -> Step:
    """What an import of the module finds: it takes the module out of the library."""
    names = [str(Path(path).relative_to(work / "c")) for path in module.sources]
    command = (*toolchain.compile_and_link, *names)
    return Step(_output(work, module), command, tuple(map(Path, module.sources)))


def _output(work: Path, extension: Extension) -> Path:
    return work / "lib" / f"{extension.name.replace('.', '/')}{SUFFIX}"


def _leave_only(folder: Path, outputs: set[Path]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path not in outputs:
            path.unlink()
