"""The log of peers: the last error of each and when, for as long as there is room."""

import pytest

from rookery.link.events import Event, LinkDown, LinkForgotten, LinkUp, PathLost, Transmit
from rookery.link.link import Link
from rookery.runtime.peer_log import PEERS_MAX, PeerEntry, PeerLog
from rookery.wire.path import NetPath
from tests.link.worlds import Pair


class Core:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.deadline: float | None = 7.0
        self.heard: list[object] = []

    def tick(self, now: float) -> None:
        self.heard.append(("tick", now))

    def handle(self, event: Event, now: float) -> None:
        self.heard.append(event)

    def report(self) -> None:
        self.heard.append("report")

    def flush(self, now: float) -> None:
        self.heard.append(("flush", now))


@pytest.fixture
def link() -> Link:
    return Pair().link


def test_everything_is_passed_on(link: Link) -> None:
    core = Core()
    log = PeerLog(core, 0.0)
    transmit = Transmit(NetPath("udp4", "192.0.2.1", 7), b"x")
    log.tick(3.0)
    log.handle(LinkUp(link), 4.0)
    log.handle(transmit, 4.0)
    log.report()
    log.flush(5.0)
    assert core.heard == [("tick", 3.0), LinkUp(link), transmit, "report", ("flush", 5.0)]
    assert log.deadline == 7.0
    assert log.worked_s == 3.0


def test_the_last_error_is_kept_with_its_time(link: Link) -> None:
    wall = iter([1000.0, 2000.0])
    log = PeerLog(Core(), 0.0, lambda: next(wall))
    log.handle(LinkDown(link, "no answer"), 1.0)
    assert log.entry(link.hashname) == PeerEntry("no answer", 1000.0, 1.0)
    log.handle(LinkUp(link), 2.0)
    assert log.entry(link.hashname) == PeerEntry("no answer", 1000.0, 2.0)
    link.last_error = "closed"
    log.handle(LinkForgotten(link), 3.0)
    assert log.entry(link.hashname) == PeerEntry("closed", 2000.0, 3.0)


def test_each_vain_try_counts(link: Link) -> None:
    wall = iter([1000.0, 2000.0])
    log = PeerLog(Core(), 0.0, lambda: next(wall))
    path = NetPath("tcp4", "192.0.2.1", 7)
    log.handle(PathLost(link, path), 0.5)
    assert log.entry(link.hashname) == PeerEntry()
    log.handle(LinkDown(link, "no answer"), 1.0)
    link.last_error = "no path could be opened"
    log.handle(PathLost(link, path), 2.0)
    assert log.entry(link.hashname) == PeerEntry("no path could be opened", 2000.0, 1.0)


def test_nothing_is_known_of_strangers() -> None:
    assert PeerLog(Core(), 0.0).entry("x" * 52) == PeerEntry()


def test_the_oldest_makes_room(link: Link) -> None:
    log = PeerLog(Core(), 0.0)
    first = link.hashname
    for number in range(PEERS_MAX + 1):
        log.handle(LinkDown(link, "gone"), float(number))
        link.hashname = f"{number:052}"
    assert log.entry(first) == PeerEntry()
    assert log.entry(f"{PEERS_MAX - 1:052}").error == "gone"
