"""M4: a transfer that has no way for a while just waits, and goes on as soon as it has one."""

import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.mesh.haul import Haul, await_ways, haul
from tests.e2e.mesh.lab import Weather, is_possible

pytestmark = [
    pytest.mark.skipif(not is_possible(), reason="needs root and /dev/net/tun"),
    pytest.mark.slow,
    pytest.mark.xdist_group("lab"),
]

MB = 1_000_000
SIZE = 18 * MB
CLEAR = Weather(delay_s=0.002, rate=3 * MB)
MTU = 9000
FROZEN_S = 10.0
RESUMED_S_MAX = 15.0


def freeze_all(hauling: Haul) -> None:
    for relay in hauling.relays:
        relay.signal(signal.SIGSTOP)


def thaw_all(hauling: Haul) -> None:
    for relay in hauling.relays:
        relay.signal(signal.SIGCONT)


@pytest.mark.parametrize("moves", [False, True], ids=["there", "elsewhere"])
def test_a_transfer_waits_while_all_relays_are_frozen(
    tmp_path: Path, moves: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when its source is at another address when they go on."""
    with haul(tmp_path, [CLEAR] * 2, mtu=MTU) as hauling:
        await_ways(hauling, 2)
        hauling.begin(SIZE)
        hauling.read_until(SIZE // 3)
        freeze_all(hauling)
        frozen_s = time.monotonic()
        if moves:
            hauling.source.host.move("10.77.0.101")
        time.sleep(FROZEN_S)
        thaw_all(hauling)
        thawed_s = time.monotonic()
        _, taken = hauling.end()
        ended_s = time.monotonic()
    resumed_s = taken.gap_s(thawed_s, ended_s)
    with capsys.disabled():
        print(f"\nall relays frozen for {FROZEN_S:.0f} s: bytes {resumed_s:.2f} s after")
    assert taken.gap_s(frozen_s, ended_s) > FROZEN_S - 2  # it had no way indeed
    assert resumed_s < RESUMED_S_MAX


def test_a_transfer_goes_on_when_its_ends_have_other_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with haul(tmp_path, [CLEAR] * 2, mtu=MTU) as hauling:
        await_ways(hauling, 2)
        hauling.begin(SIZE)
        times = []
        for number, end in enumerate((hauling.source, hauling.target), start=1):
            hauling.read_until(number * SIZE // 3)
            times.append(time.monotonic())
            end.host.move(f"10.77.0.{100 + number}")
        _, taken = hauling.end()
        times.append(time.monotonic())
    gaps_s = [taken.gap_s(*span) for span in pairwise(times)]
    with capsys.disabled():
        print()
        for moved, gap_s in zip(("source", "target"), gaps_s, strict=True):
            print(f"the {moved}'s address changed: no bytes for {gap_s:.2f} s")
    assert max(gaps_s) < RESUMED_S_MAX
