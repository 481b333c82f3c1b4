"""Rules of the repository that no linter knows."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")])
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))

REQUIREMENTS = [
    *(f"T{number}" for number in range(1, 8)),
    *(f"C{number}" for number in range(1, 9)),
    *(f"M{number}" for number in range(1, 12)),
    *(f"Q{number}" for number in range(1, 8)),
    *(f"F{number}" for number in range(1, 16)),
    *(f"P{number}" for number in range(1, 6)),
]

# One module tells one story, mostly in less than 400 lines. This stops only what grows without end.
MODULE_LINES_MAX = 700
FOLDER_MODULES_MAX = 25

NAMELESS = {"utils", "util", "helpers", "common", "misc", "base"}

# Written so that this file does not match itself.
_REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|debian|crates)\.(?:org|com|io)\b")
_INDEX_OPTION = re.compile(r"--(?:extra-)?index-url|--(?:find)-links|--(?:trusted)-host")
_MACHINE_PATH = re.compile(r"(?<![\w.~}])/(?:work|root|home|Users|opt)/\w")
_PEM_SECRET = re.compile(r"-----BEGIN (?:\w+ )*PRIVATE KEY-----")
_NAMED_SECRET = re.compile(
    r"\"(?:secret|private)\w*\"\s*:\s*\"(?:[0-9a-f]{40,}|[a-z2-7]{32,})\"", re.IGNORECASE
)
_PUBLIC_SECRETS = ("tests/vectors/", "docs/protocol/")


def committed() -> list[str]:
    """Every file that is in the repository or would be with the next `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git work tree")
    names = listing.stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def matches(pattern: re.Pattern[str], names: list[str]) -> list[str]:
    found = []
    for name in names:
        text = (ROOT / name).read_bytes().decode(errors="replace")
        found += [f"{name}: {match[0]}" for match in pattern.finditer(text)]
    return found


def docstrings(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield f"{node.name.replace('_', ' ')} {ast.get_docstring(node) or ''}"
            case ast.Module():
                yield ast.get_docstring(node) or ""


@cache
def told_by_tests() -> list[str]:
    return [text for path in TESTS for text in docstrings(ast.parse(path.read_text()))]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(_REGISTRY, id="registry"),
        pytest.param(_INDEX_OPTION, id="index option"),
        pytest.param(_MACHINE_PATH, id="machine path"),
        pytest.param(_PEM_SECRET, id="private key"),
    ],
)
def test_no_file_holds(pattern: re.Pattern[str]) -> None:
    assert matches(pattern, committed()) == []


def test_secret_keys_are_only_those_of_the_public_vectors() -> None:
    names = [name for name in committed() if not name.startswith(_PUBLIC_SECRETS)]
    assert matches(_NAMED_SECRET, names) == []


def test_the_search_finds_what_it_looks_for() -> None:
    assert _REGISTRY.search("https://" + "pypi" + ".org/simple")
    assert _INDEX_OPTION.search("--" + "index-url x")
    assert _MACHINE_PATH.search("see " + "/" + "home/someone")
    assert not _MACHINE_PATH.search("docs/work/x ./root/x")
    assert _PEM_SECRET.search("-----BEGIN " + "RSA PRIVATE KEY-----")
    assert _NAMED_SECRET.search('"secret": "' + "a7" * 32 + '"')


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_every_requirement_is_named_by_a_test(requirement: str) -> None:
    word = re.compile(rf"\b{requirement}\b", re.IGNORECASE)
    assert any(word.search(text) for text in told_by_tests())


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_no_module_outgrows_its_idea() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert [name for name, length in lengths.items() if length > MODULE_LINES_MAX] == []


def test_no_folder_is_a_crowd() -> None:
    sizes = Counter(relative(path.parent) for path in SOURCES if path.is_relative_to(ROOT / "src"))
    assert [folder for folder, size in sizes.items() if size > FOLDER_MODULES_MAX] == []


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        if path.is_relative_to(ROOT / "src"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(relative(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_every_module_is_named_after_its_idea() -> None:
    endings = ("_manager", "_service")
    vague = [path for path in SOURCES if path.stem in NAMELESS or path.stem.endswith(endings)]
    assert vague == []


def test_nothing_loses_a_cancellation() -> None:
    """Python 3.11's `wait_for` does, when it comes with the result; `asyncio.timeout` does not."""
    assert [str(path) for path in SOURCES if "asyncio.wait_for(" in path.read_text()] == []


_PINNED = r"[a-z0-9-]+(?:\[[a-z0-9,-]+\])?==\S+"


@pytest.mark.parametrize("path", LOCKS, ids=relative)
def test_every_locked_dependency_has_a_version_and_hashes(path: Path) -> None:
    entries = path.read_text().replace("\\\n", "").splitlines()
    assert entries
    for entry in entries:
        assert re.match(rf"{_PINNED} ", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_all_locks_agree_on_versions() -> None:
    pins = [
        {re.sub(r"\[.*\]", "", pin) for pin in re.findall(rf"^{_PINNED}", text, re.MULTILINE)}
        for text in (path.read_text() for path in LOCKS)
    ]
    largest = max(pins, key=len)
    assert all(pin <= largest for pin in pins)


def test_what_others_need_with_an_extra_is_pinned_with_it() -> None:
    """Else pip takes the newest there is of it, once that is not the pinned one, without a hash."""
    locked = (ROOT / "requirements" / "dev.lock").read_text()
    pins = [Requirement(pin) for pin in re.findall(rf"^{_PINNED}", locked, re.MULTILINE)]
    extras = {canonicalize_name(pin.name): pin.extras for pin in pins}
    lacking = [
        f"{name} needs {text}"
        for name in extras
        for text in needs(name)
        if (needed := Requirement(text)).extras - extras.get(canonicalize_name(needed.name), set())
        and (needed.marker is None or needed.marker.evaluate({"extra": ""}))
    ]
    assert lacking == []


def needs(name: str) -> list[str]:
    """What an installed distribution asks for; nothing where it is for other machines."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def test_coverage_does_not_slow_down_what_it_is_not_about(request: pytest.FixtureRequest) -> None:
    """This is no test of a core, so nobody traces it."""
    if not request.config.pluginmanager.hasplugin("_cov"):
        pytest.skip("nothing is traced")
    assert sys.gettrace() is None
