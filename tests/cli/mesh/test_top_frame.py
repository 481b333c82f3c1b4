"""A frame of `top`: what comes first, and what fits."""

from io import StringIO

import msgspec
import pytest
from rich.console import Console, RenderableType

from rookery.cli.mesh.top_frame import PeerTraffic, Sort, frame, peer_traffic, sorted_peers
from rookery.runtime.node.snapshot import PeerRow, Snapshot
from tests.runtime.colony import BOB_PEER, COUNTERS, DAVE_PEER, ROUTES, STATUS

NOW = Snapshot(status=STATUS, peers=(BOB_PEER, DAVE_PEER), routes=ROUTES, counters=COUNTERS)


def later(seconds: float, **fields: object) -> Snapshot:
    """The same with more traffic of bob's."""
    bob = msgspec.structs.replace(BOB_PEER, **fields)
    status = msgspec.structs.replace(STATUS, made_at=STATUS.made_at + seconds)
    return msgspec.structs.replace(NOW, status=status, peers=(bob, DAVE_PEER))


def printed(renderable: RenderableType) -> str:
    console = Console(width=160, file=StringIO())
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_flow_is_what_came_between_two_snapshots() -> None:
    after = later(2.0, in_bytes=BOB_PEER.in_bytes + 4000, out_bytes=BOB_PEER.out_bytes)
    assert peer_traffic(after, NOW)[BOB_PEER.node.hashname] == PeerTraffic(2000.0, 0.0)


def test_before_there_are_two_it_is_all_so_far() -> None:
    assert peer_traffic(NOW, None)[BOB_PEER.node.hashname] == PeerTraffic(2_000_000, 1_000)


def test_a_link_made_anew_counts_from_zero() -> None:
    after = later(1.0, in_bytes=10, out_bytes=5)
    assert peer_traffic(after, NOW)[BOB_PEER.node.hashname] == PeerTraffic(10.0, 5.0)


@pytest.mark.parametrize(
    ("sort", "first"), [("traffic", "busy"), ("rtt", "near"), ("loss", "lossy")]
)
def test_the_most_interesting_comes_first(sort: Sort, first: str) -> None:
    def peer(name: str, **fields: object) -> PeerRow:
        node = msgspec.structs.replace(BOB_PEER.node, hashname=name, name=name)
        plain = msgspec.structs.replace(BOB_PEER, node=node, rtt_ms=9.0, loss_in=0.0, in_bytes=1)
        return msgspec.structs.replace(plain, **fields)

    peers = (
        peer("asleep", rtt_ms=None),
        peer("busy", in_bytes=10),
        peer("near", rtt_ms=1.0),
        peer("lossy", loss_out=0.2),
    )
    flows = {p.node.hashname: PeerTraffic(p.in_bytes, 0) for p in peers}
    assert sorted_peers(sort, peers, flows)[0].node.name == first


def test_rates_take_the_place_of_sums() -> None:
    assert "2 MB/s" not in printed(frame(NOW, None, "traffic"))
    after = later(1.0, in_bytes=BOB_PEER.in_bytes + 2_000_000)
    assert "2 MB/s" in printed(frame(after, NOW, "traffic"))


@pytest.mark.parametrize("count", [0, 5, 300])
@pytest.mark.parametrize("height", [18, 40])
def test_it_fits_the_screen_and_says_what_does_not(count: int, height: int) -> None:
    many_peers = msgspec.structs.replace(NOW, peers=(BOB_PEER,) * count, routes=ROUTES * count)
    text = printed(frame(many_peers, NOW, "rtt", height))
    assert len(text.splitlines()) <= height
    assert ("rows do not fit" in text) == (count == 300 or (count == 5 and height == 18))
    assert "q: quit" in text
