"""Frames: packets with a binary head, beside the channels of a link."""

from rookery.link.endpoint import FrameReader
from rookery.link.events import PathFound, PathLost
from rookery.link.link import Link, LinkState
from rookery.sim.world import SimulatedEndpoint, World
from rookery.wire.link.path import Arrival, NetPath, Path
from tests.link.worlds import is_up

Frame = tuple[str, str, bytes, bytes]


def reader(seen: list[Frame]) -> FrameReader:
    def read(link: Link, path: Path, head: bytes, body: bytes | memoryview, *_: object) -> None:
        seen.append((link.hashname, path.kind, head, bytes(body)))

    return read


def pair(
    kinds: tuple[str, ...] = ("udp4",), *, streams_first: bool = False
) -> tuple[World, SimulatedEndpoint, SimulatedEndpoint, Link]:
    world = World(seed=5)
    alice, bob = (world.node(f"10.0.0.{n}", kinds=kinds) for n in (1, 2))
    for node in (alice, bob):
        node.endpoint.streams_first = streams_first
        node.accepts_strangers = True
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)
    world.run(1)
    return world, alice, bob, link


def test_a_frame_reaches_the_frame_reader() -> None:
    world, alice, bob, link = pair()
    seen: list[Frame] = []
    bob.endpoint.frame_reader = reader(seen)
    link.send_frame(b"\x01", b"hello")
    link.send_frame(b"123456", b"")
    alice.settle()
    world.run(1)
    assert seen == [
        (alice.hashname, "udp4", b"\x01", b"hello"),
        (alice.hashname, "udp4", b"123456", b""),
    ]


def test_a_link_counts_what_it_carries() -> None:
    world, alice, bob, link = pair()
    back = bob.endpoint.links[alice.hashname]
    bob.endpoint.frame_reader = reader([])
    sent, received = link.out_bytes, back.in_bytes
    link.send_frame(b"\x01", bytes(1000))
    alice.settle()
    world.run(1)
    assert 1000 < link.out_bytes - sent < 1100
    assert 1000 < back.in_bytes - received < 1100
    assert back.out_bytes > 0


def test_a_frame_without_a_reader_is_counted() -> None:
    world, alice, bob, link = pair()
    link.send_frame(b"\x01", b"hello")
    alice.settle()
    world.run(1)
    assert bob.endpoint.dropped["ProtocolError"] == 1


def test_a_large_packet_is_taken_where_it_lies_and_refused_as_any_other() -> None:
    """It may be read to where the next one comes: nothing of it is kept as it is."""
    world, _, bob, link = pair()
    path = link.paths.best
    assert path is not None
    bodies: list[bytes | memoryview] = []
    bob.endpoint.frame_reader = lambda link, path, head, body, now, _: bodies.append(body)
    sealed = link.sealed_parts(b"\x01", [b"first", memoryview(bytes(100_000)), b"last"])
    assert sealed is not None
    buffer, now = bytearray(sealed[2:]), world.now
    bob.endpoint.received_sealed(path, memoryview(buffer), now)
    buffer[:] = bytes(len(buffer))
    [body] = bodies
    assert bytes(body) == b"first" + bytes(100_000) + b"last"
    bob.endpoint.received_sealed(path, memoryview(sealed)[2:], now)
    bob.endpoint.received_sealed(path, memoryview(buffer), now)
    assert bob.endpoint.dropped == {"AuthenticationError": 1, "ProtocolError": 1}


def test_nothing_is_sent_before_the_link_is_up() -> None:
    world = World(seed=5)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    link = alice.link(bob)
    link.send_frame(b"\x01", b"")
    assert link.sealed_frame(b"\x01", b"") is None
    alice.settle()
    assert alice.sent == 1  # the handshake


def test_links_are_made_over_streams_where_streams_come_first() -> None:
    """M10: TCP is the master; no handshake goes out or is taken over UDP."""
    world, _, bob, link = pair(("udp4", "tcp4"), streams_first=True)
    assert {state.path.kind for state in link.paths} == {"tcp4"}
    back = bob.endpoint.links[bob_peer(bob)]
    assert {state.path.kind for state in back.paths} == {"tcp4"}
    world.run(100)
    assert {state.path.kind for state in link.paths} == {"tcp4"}


def test_a_handshake_by_datagram_is_refused_where_streams_come_first() -> None:
    """M10."""
    world = World(seed=5)
    alice, bob = (world.node(f"10.0.0.{n}", kinds=("udp4",)) for n in (1, 2))
    bob.endpoint.streams_first = bob.accepts_strangers = True
    link = alice.link(bob)
    world.run(10)
    assert link.state is LinkState.DOWN
    assert bob.endpoint.dropped["ProtocolError"] > 0


def test_a_monitored_path_sees_no_handshake_and_carries_only_once_proven() -> None:
    world, alice, bob, link = pair(("udp4", "tcp4"), streams_first=True)
    udp = NetPath("udp4", "10.0.0.2", 42424)
    seen: list[Frame] = []
    bob.endpoint.frame_reader = reader(seen)
    link.monitor(udp, world.now)
    link.send_frame(b"\x01", b"small")
    link.prove(udp, 0.0001)
    link.send_frame(b"\x01", b"small")
    link.send_frame(b"\x01", bytes(5000))
    link.distrust(udp)
    link.send_frame(b"\x01", b"small")
    alice.settle()
    over_udp: list[NetPath] = []
    world.overhear(lambda source, target, data: over_udp.append(target))
    world.run(100)
    assert [kind for _, kind, _, _ in seen] == ["tcp4", "udp4", "tcp4", "tcp4"]
    assert over_udp
    assert all(target.kind == "tcp4" for target in over_udp)
    assert any(state.path == udp for state in link.paths)
    link.unmonitor(udp)
    assert all(state.path != udp for state in link.paths)


def test_a_monitored_path_does_not_outlive_the_last_stream() -> None:
    """M10: when TCP is gone, so is the link, at once and not a round later."""
    world, _, _, link = pair(("udp4", "tcp4"), streams_first=True)
    udp, tcp = NetPath("udp4", "10.0.0.2", 42424), link.paths.best
    assert tcp is not None
    link.monitor(udp, world.now)
    link.prove(udp, 0.0001)
    link.path_lost(NetPath("tcp4", "10.0.0.2", 9), world.now)  # one that never was there
    assert is_up(link)
    link.path_lost(tcp, world.now)
    assert not is_up(link)
    assert link.last_error == "the last path is gone"


def test_a_distrusted_path_stays_so_until_its_monitor_proves_it() -> None:
    world, _, _, link = pair()
    path = link.paths.best
    assert path is not None
    link.distrust(path)
    world.run(60)
    assert link.paths.best is None
    link.prove(path, 0.01)
    assert link.paths.best == path


def test_a_frame_may_be_sent_over_one_very_path() -> None:
    world, alice, bob, link = pair(("udp4", "tcp4"))
    seen: list[Frame] = []
    bob.endpoint.frame_reader = reader(seen)
    for state in list(link.paths):
        link.send_frame(b"\x01", b"", state.path)
    alice.settle()
    world.run(1)
    assert sorted(kind for _, kind, _, _ in seen) == ["tcp4", "udp4"]


def test_a_proven_path_is_reported_with_the_side_that_dialled_it() -> None:
    _, alice, bob, link = pair(("tcp4",))
    (back,) = bob.endpoint.links.values()
    there = link.paths.state(bob.paths[0])
    assert there is not None
    assert there.dialled
    assert alice.notices.count(PathFound(link, there.path)) == 1
    here = [state for state in back.paths if not state.dialled]
    assert here
    assert PathFound(back, here[0].path) in bob.notices


def test_a_lost_connection_is_reported() -> None:
    world, alice, _, link = pair(("tcp4",))
    path = link.paths.best
    assert path is not None
    alice.endpoint.lost(path, world.now)
    alice.settle()
    assert PathLost(link, path) in alice.notices


def bob_peer(bob: SimulatedEndpoint) -> str:
    (hashname,) = bob.endpoint.links
    return hashname


def test_a_frame_comes_with_how_its_packet_came() -> None:
    """The owner that delivers a packet from afar gets its arrival back with the frame in it."""
    world, _, bob, link = pair()
    path = link.paths.best
    assert path is not None
    arrivals: list[Arrival | None] = []
    bob.endpoint.frame_reader = lambda link, path, head, body, now, arrival: arrivals.append(
        arrival
    )
    arrival = Arrival((b"a", b"b"), (b"b", b"a"), is_marked=True)
    for each in (arrival, None):
        sealed = link.sealed_parts(b"\x01", [b"frame"])
        assert sealed is not None
        bob.endpoint.received_sealed(path, sealed[2:], world.now, each)
    assert arrivals == [arrival, None]
    assert arrivals[0] is arrival
