"""Peak: the most memory that the children of this process had, and an end to those that want more.

Those that were there before are somebody else's. Those that were not there a moment ago do not
count: a JVM that is about to start another program has a child with the same memory, which is there
once.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

_SAMPLE_S = 0.5


class Peak:
    """What they had at once so far."""

    def __init__(self, max_gb: float) -> None:
        self.gb = 0.0
        self._max_gb = max_gb
        self._others = frozenset(psutil.Process().children())
        self._before: set[psutil.Process] = set()

    @property
    def is_too_much(self) -> bool:
        return self.gb > self._max_gb

    def look(self) -> None:
        now = _families(set(psutil.Process().children()) - self._others)
        sizes = {each: _resident_gb(each) for each in now & self._before}
        self._before = now
        total = sum(sizes.values())
        self.gb = max(self.gb, total)
        if total > self._max_gb:
            with suppress(psutil.NoSuchProcess):
                max(sizes, key=lambda each: sizes[each]).kill()


@contextmanager
def watched(max_gb: float) -> Iterator[Peak]:
    """While this goes on; with more than `max_gb` among all, the largest of them is killed."""
    peak = Peak(max_gb)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_SAMPLE_S):
            peak.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def _families(roots: set[psutil.Process]) -> set[psutil.Process]:
    found = set(roots)
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            found.update(root.children(recursive=True))
    return found


def _resident_gb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 1e9
    except psutil.NoSuchProcess:
        return 0.0
