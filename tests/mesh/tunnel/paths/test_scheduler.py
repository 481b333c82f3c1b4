"""M6: the choice of a path, with its reasons."""

import pytest

from rookery.mesh.tunnel.packets.sent_packet import SentPacket
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path import TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode, Scheduler

ENDLESS = float("inf")


def outbound(number: int, rtt_s: float) -> OutboundPath:
    path = TunnelPath(id=number, kind=TunnelPathKind.DATAGRAM, rtt_s=rtt_s)
    return OutboundPath(path, 1, lambda size: b"\xff" * size, 0.0)


def filled(number: int, rtt_s: float) -> OutboundPath:
    path = outbound(number, rtt_s)
    while path.has_room(0.0):
        path.left(SentPacket(path.number(), 1100, 0.0, [], []))
    return path


def test_the_earliest_while_it_has_room() -> None:
    scheduler, fast, slow = Scheduler(Mode.AUTO), outbound(1, 0.02), outbound(2, 0.2)
    assert scheduler.choose([slow, fast], ENDLESS, 1 << 24, 0.0) is fast
    assert scheduler.decisions["earliest delivery"] == 1


@pytest.mark.parametrize(
    ("backlog", "credit", "is_used", "reason"),
    [
        (ENDLESS, 1 << 24, True, "beside the best path, which is busy"),
        (5_000, 1 << 24, False, "waited: the best path will be done sooner"),
        (ENDLESS, 5_000, False, "waited: it would block the reader"),
    ],
)
def test_another_when_the_best_is_busy_and_it_pays(
    backlog: float, credit: int, is_used: bool, reason: str
) -> None:
    """R10: the blocking guard."""
    scheduler, fast, slow = Scheduler(Mode.AUTO), filled(1, 0.02), outbound(2, 0.2)
    chosen = scheduler.choose([fast, slow], backlog, credit, 0.0)
    assert chosen is (slow if is_used else None)
    assert scheduler.decisions == {reason: 1}


def test_only_the_three_nearest_are_used() -> None:
    near = [filled(number, 0.01 * number) for number in (1, 2, 3)]
    assert Scheduler(Mode.AUTO).choose([*near, outbound(4, 0.5)], ENDLESS, 1 << 24, 0.0) is None


@pytest.mark.parametrize("mode", list(Mode))
def test_without_any_path_or_room_there_is_no_choice(mode: Mode) -> None:
    assert Scheduler(mode).choose([], ENDLESS, 1 << 24, 0.0) is None
    assert Scheduler(mode).choose([filled(1, 0.1), filled(2, 0.1)], ENDLESS, 1 << 24, 0.0) is None
    assert Scheduler(mode).nearest([]) is None
