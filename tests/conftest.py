"""Settings that every test shares."""

import os

import pytest
from hypothesis import settings

# No deadline: two workers under coverage share the machine, and time is not what is tested.
settings.register_profile("local", deadline=None)
# In CI the same examples every time, so that a red run is the change's doing.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep groups together: xdist 3.8 says `@group` where pytest 9.2 does not look any more."""
    for item in items:
        marked = getattr(item, "_nodeid", item.nodeid)
        if marked != item.nodeid:
            item._id = type(item.id).parse(marked)
