"""Settings that every test shares."""

import os
import sys
import threading
import tomllib
from collections.abc import Generator

import pytest
from hypothesis import settings

# No deadline: two workers under coverage share the machine, and time is not what is tested.
settings.register_profile("local", deadline=None)
# In CI the same examples every time, so that a red run is the change's doing.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
# Every Spark here is young when it ends: what the JVM's second compiler and its collector's threads
# would make faster later costs a third of the processor now.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

COVERED = pytest.StashKey[frozenset[str]]()  # the cores, each with a folder of tests of its own


def pytest_configure(config: pytest.Config) -> None:
    tools = tomllib.loads((config.rootpath / "pyproject.toml").read_text())["tool"]
    packages = tools["coverage"]["run"]["source_pkgs"]
    config.stash[COVERED] = frozenset(name.removeprefix("rookery.") for name in packages)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it in the end.

    And keep groups together: xdist 3.8 says `@group` where pytest 9.2 does not look any more.
    """
    items.sort(key=is_slow, reverse=True)
    for item in items:
        marked = getattr(item, "_nodeid", item.nodeid)
        if marked != item.nodeid:
            item._id = type(item.id).parse(marked)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have coverage see the tests of cores alone, and none that are slow without it.

    It makes the cores three times as slow. The mark `no_cover` of pytest-cov does not help: in a
    worker of xdist there are two tracers, and while one pauses the other goes on.
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
    return folder in item.config.stash[COVERED] and not is_slow(item)


def is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None
