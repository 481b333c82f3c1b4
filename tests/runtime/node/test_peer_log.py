"""The log of peers: the last error of each and when, for as long as there is room."""

import pytest

from rookery.link.events import LinkDown, LinkForgotten, LinkUp, PathLost
from rookery.link.link import Link
from rookery.runtime.node.peer_log import PEERS_MAX, PeerLog, PeerLogEntry
from rookery.wire.link.path import NetPath
from tests.link.worlds import Pair


@pytest.fixture
def link() -> Link:
    return Pair().link


def test_the_last_error_is_kept_with_its_time(link: Link) -> None:
    wall = iter([1000.0, 2000.0])
    log = PeerLog(lambda: next(wall))
    log.hear(LinkDown(link, "no answer"), 1.0)
    assert log.entry(link.hashname) == PeerLogEntry("no answer", 1000.0, 1.0)
    log.hear(LinkUp(link), 2.0)
    assert log.entry(link.hashname) == PeerLogEntry("no answer", 1000.0, 2.0)
    link.last_error = "closed"
    log.hear(LinkForgotten(link), 3.0)
    assert log.entry(link.hashname) == PeerLogEntry("closed", 2000.0, 3.0)


def test_each_vain_try_counts(link: Link) -> None:
    wall = iter([1000.0, 2000.0])
    log = PeerLog(lambda: next(wall))
    path = NetPath("tcp4", "192.0.2.1", 7)
    log.hear(PathLost(link, path), 0.5)
    assert log.entry(link.hashname) == PeerLogEntry()
    log.hear(LinkDown(link, "no answer"), 1.0)
    link.last_error = "no path could be opened"
    log.hear(PathLost(link, path), 2.0)
    assert log.entry(link.hashname) == PeerLogEntry("no path could be opened", 2000.0, 1.0)


def test_nothing_is_known_of_strangers() -> None:
    assert PeerLog().entry("x" * 52) == PeerLogEntry()


def test_the_oldest_makes_room(link: Link) -> None:
    log = PeerLog()
    first = link.hashname
    for number in range(PEERS_MAX + 1):
        log.hear(LinkDown(link, "gone"), float(number))
        link.hashname = f"{number:052}"
    assert log.entry(first) == PeerLogEntry()
    assert log.entry(f"{PEERS_MAX - 1:052}").error == "gone"
