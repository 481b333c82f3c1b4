"""One demo for the tour and for the trouble that comes after it: its first run takes a while."""

from collections.abc import Iterator

import pytest

from tests.e2e.demo.living import Living, living
from tests.lake.test_full_disk import NAMESPACE, has_namespaces

DAYS = "3"  # fewer tell nothing of what is to come
EVERY = "1h"  # later runs are asked for
RUN_S = 900.0  # of a loaded machine
MEMORY_MAX = 3 << 30


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    """Once its past was worked on; with mounts of its own, where that is possible.

    The last test of it ends it. It must not live on beside the tests of others.
    """
    home = tmp_path_factory.mktemp("demo")
    within = NAMESPACE if has_namespaces() else ()
    with living(home, "--days", DAYS, "--every", EVERY, within=within) as demo:
        demo.first_run(RUN_S)
        assert demo.memory() < MEMORY_MAX
        yield demo
