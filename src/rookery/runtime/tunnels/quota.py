"""How many connections one member, and all together, may hold open at an exit."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.mesh.proxy.answer import LOAD_MAX
from rookery.mesh.proxy.fault import ProxyFault


class MemberQuota:
    """Seats per member and in total."""

    def __init__(self, each_max: int, all_max: int) -> None:
        self._each_max = each_max
        self._all_max = all_max
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @property
    def load(self) -> int:
        """Seats taken, in 255ths of all."""
        taken = self.taken
        return LOAD_MAX if taken >= self._all_max else LOAD_MAX * taken // self._all_max

    @contextmanager
    def take(self, hashname: str) -> Iterator[None]:
        """Take a seat for the duration of the block; CongestionError when there is none left."""
        if self._taken[hashname] >= self._each_max or self.taken >= self._all_max:
            raise ProxyFault.BUSY.error(f"a seat for {hashname[:8]}")
        self._taken[hashname] += 1
        try:
            yield
        finally:
            self._taken[hashname] -= 1
            if not self._taken[hashname]:
                del self._taken[hashname]
