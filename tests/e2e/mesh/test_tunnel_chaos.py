"""M4, M5: a large transfer through a tunnel while its relays are in trouble, one after another.

Four relays make four disjoint routes of two hops, of which a tunnel uses three at a time. Trouble
falls on the relay that carries most at that moment, and the longest silence that the reader of the
stream sees after it is printed. The bounds are for a busy machine.
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.mesh.flock import Bird
from tests.e2e.mesh.haul import Haul, await_ways, haul
from tests.e2e.mesh.lab import Weather, is_possible
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.skipif(not is_possible(), reason="needs root and /dev/net/tun"),
    pytest.mark.slow,
    pytest.mark.xdist_group("lab"),
]

MB = 1_000_000
SIZE = 200 * MB
STEP = SIZE // 9  # read between two troubles
CLEAR = Weather(delay_s=0.002, rate=8 * MB)
BLOCKED = Weather(blocked=True)
MTU = 16000
TOLD_S_MAX = 2.0  # goal: 0.1
SILENT_S_MAX = 6.0  # goal: 3


class Troubles:
    """Makes them, and remembers when."""

    def __init__(self, haul: Haul) -> None:
        self._haul = haul
        self._victim: Bird = haul.relays[0]
        self.times: list[tuple[str, float, float]] = []  # what, when, and the longest gap allowed

    def all(self) -> None:
        """One at every step of the way."""
        steps: list[tuple[str, Callable[[], None], float]] = [
            ("kill -9 of a relay (a reset tells)", self._kill, TOLD_S_MAX),
            ("it is there again", self._revive, TOLD_S_MAX),
            ("a relay frozen (silent)", self._freeze, SILENT_S_MAX),
            ("it goes on", self._thaw, TOLD_S_MAX),
            ("nothing passes from the source to a relay (silent)", self._block, SILENT_S_MAX),
            ("it does again", self._unblock, TOLD_S_MAX),
            ("nothing passes from a relay to the source (silent)", self._mute, SILENT_S_MAX),
            ("it does again, and another relay is restarted", self._restart, TOLD_S_MAX),
        ]
        for number, (what, work, gap_s_max) in enumerate(steps):
            self._haul.read_until((number + 1) * STEP)
            self.times.append((what, time.monotonic(), gap_s_max))
            work()

    def _kill(self) -> None:
        self._victim = self._haul.busiest()
        self._now()
        self._victim.kill()

    def _revive(self) -> None:
        self._victim.revive()

    def _freeze(self) -> None:
        self._victim = self._haul.busiest()
        self._now()
        self._victim.signal(signal.SIGSTOP)

    def _thaw(self) -> None:
        self._victim.signal(signal.SIGCONT)

    def _block(self) -> None:
        self._victim = self._haul.busiest()
        self._now()
        self._haul.lab.from_to(self._haul.source.host, self._haul.host(self._victim), BLOCKED)

    def _unblock(self) -> None:
        self._haul.lab.between(self._haul.source.host, self._haul.host(self._victim), CLEAR)

    def _mute(self) -> None:
        self._victim = self._haul.busiest()
        self._now()
        self._haul.lab.from_to(self._haul.host(self._victim), self._haul.source.host, BLOCKED)

    def _restart(self) -> None:
        self._unblock()
        self._victim = self._haul.busiest()
        self._now()
        self._victim.signal(signal.SIGTERM)
        self._victim.process.wait(PATIENCE_S)
        self._victim.revive()

    def _now(self) -> None:
        """The trouble begins only now: to find whom it falls on took a while."""
        what, _, gap_s_max = self.times[-1]
        self.times[-1] = (what, time.monotonic(), gap_s_max)


def test_a_transfer_is_byte_exact_while_relays_die_freeze_and_fall_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with haul(tmp_path, [CLEAR] * 4, mtu=MTU) as hauling:
        await_ways(hauling, 3)
        troubles = Troubles(hauling)
        hauling.begin(SIZE)
        troubles.all()
        hauled, taken = hauling.end()
        assert taken.size == SIZE
        begun = [begun_s for _, begun_s, _ in troubles.times]
        ended = [*begun[1:], time.monotonic()]
        gaps_s = [taken.gap_s(*span) for span in zip(begun, ended, strict=True)]
        with capsys.disabled():
            print(f"\n{SIZE / MB:.0f} MB in {hauled.seconds:.1f} s")
            for (what, _, _), gap_s in zip(troubles.times, gaps_s, strict=True):
                print(f"{what}: no bytes for {gap_s * 1e3:.0f} ms")
        for (what, _, gap_s_max), gap_s in zip(troubles.times, gaps_s, strict=True):
            assert gap_s < gap_s_max, what
