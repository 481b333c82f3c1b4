"""Settings that every test shares."""

import os
import sys
import threading
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: workers under coverage share the machine, and time is not what is tested.
settings.register_profile("local", deadline=None)
# In CI the same examples every time, so that a red run is the change's doing.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("fast", deadline=None, max_examples=20)
settings.load_profile("ci" if os.environ.get("CI") else "local")
# Every Spark here is young when it ends: what the JVM's second compiler and its collector's threads
# would make faster later costs a third of the processor now. With one compiler a JVM reserves 48 MB
# for code unless it is told otherwise; a session of the lake asks for more than this by itself.
os.environ.setdefault(
    "JDK_JAVA_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m -XX:+UseSerialGC",
)

COVERED = pytest.StashKey[frozenset[str]]()  # the cores, each with a folder of tests of its own
# What `--fast` leaves out: what starts programs of ours or simulates whole meshes, and groups that
# start Spark, browsers, databases or compilers.
LONG_PATHS = frozenset(
    {
        "bench",
        "cli",
        "e2e",
        "install",
        "interop",
        "mesh_sim",
        "test_compiled.py",
        "test_documentation.py",
    }
)
LONG_GROUPS = frozenset({"browser", "cluster", "compiled", "databases", "discovery", "spark"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help="without Spark, browsers, databases, programs of ours, and what is slow",
    )


def pytest_configure(config: pytest.Config) -> None:
    tools = tomllib.loads((config.rootpath / "pyproject.toml").read_text())["tool"]
    packages = tools["coverage"]["run"]["source_pkgs"]
    config.stash[COVERED] = frozenset(name.removeprefix("rookery.") for name in packages)
    if config.getoption("fast"):
        settings.load_profile("fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    tests = config.rootpath / "tests"
    is_long = collection_path.parent == tests and collection_path.name in LONG_PATHS
    return True if is_long and config.getoption("fast") else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it in the end.

    And keep groups together: xdist 3.8 says `@group` where pytest 9.2 does not look any more.
    """
    if config.getoption("fast"):
        long = [item for item in items if is_long(item)]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not is_long(item)]
    items.sort(key=is_slow, reverse=True)
    for item in items:
        marked = getattr(item, "_nodeid", item.nodeid)
        if marked != item.nodeid:
            item._id = type(item.id).parse(marked)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have coverage see the tests of cores alone, and of those none that take long without it.

    It makes the cores three times as slow, and what made-up examples cover is covered without them,
    too. The mark `no_cover` of pytest-cov does not help: in a worker of xdist there are two
    tracers, and while one pauses the other goes on.
    """
    if is_covered(item):
        return (yield)
    tracers = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracers[0])
        threading.settrace(tracers[1])


def is_covered(item: pytest.Item) -> bool:
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    takes_long = is_slow(item) or item.get_closest_marker("hypothesis") is not None
    return folder in item.config.stash[COVERED] and not takes_long


def is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def is_long(item: pytest.Item) -> bool:
    groups = {mark.args[0] for mark in item.iter_markers("xdist_group")}
    return is_slow(item) or not groups.isdisjoint(LONG_GROUPS)
