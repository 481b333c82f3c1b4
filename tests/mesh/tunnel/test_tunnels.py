"""M4: all tunnels of a node."""

from random import Random

import pytest

from rookery.errors import CongestionError, DecodeError
from rookery.mesh.tunnel.events import (
    CloseCode,
    Event,
    StreamOpened,
    StreamReadable,
    TunnelClosed,
    TunnelStalled,
)
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.paths.path import TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelRole, TunnelState
from rookery.mesh.tunnel.tunnels import PEERS_MAX, Tunnels
from rookery.wire.mesh.tunnel_data import TunnelAck
from rookery.wire.mesh.tunnel_frames import TunnelClose, TunnelCredit, TunnelProbe
from rookery.wire.mesh.tunnel_packet import TunnelPacket

PATH = TunnelPath(id=1, kind=TunnelPathKind.STREAM, mtu=61440, rtt_s=0.01)


class Pair:
    """Two nodes, `a` and `z`, and a path between them that takes no time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.nodes = {"a": Tunnels(random=Random(1).randbytes), "z": self.fresh()}
        for name, other in (("a", "z"), ("z", "a")):
            self.nodes[name].path_up(other, PATH, 0.0)
        self.events: list[tuple[str, Event]] = []
        self.tunnels: dict[str, Tunnel] = {}

    def fresh(self) -> Tunnels:
        return Tunnels(random=Random(2).randbytes, limits=TunnelLimits(stall_s=5.0))

    def settle(self) -> None:
        for _ in range(50):
            moved = False
            for name, other in (("a", "z"), ("z", "a")):
                for packet in self.nodes[name].flush(self.now):
                    moved = True
                    assert packet.peer == other
                    self.nodes[other].received(
                        name, packet.path, packet.head, packet.body, self.now
                    )
                for event in self.nodes[name].take():
                    self.events.append((name, event.event))
                    self.tunnels[name] = event.tunnel
            if not moved:
                return

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for node in self.nodes.values():
            node.tick(self.now)
        self.settle()


def test_one_tunnel_with_each_peer_serves_both_sides() -> None:
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    stream = tunnel.open("echo", {"n": 1})
    tunnel.write(stream, b"hello", 0.0)
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    assert ("z", StreamOpened(stream, "echo", {"n": 1}, 3)) in pair.events
    assert ("z", StreamReadable(stream)) in pair.events
    accepted = pair.nodes["z"].to("a", 0.0)
    assert accepted.id == tunnel.id
    assert accepted.read(stream, 10) == b"hello"
    assert pair.nodes["a"].to("z", 0.0) is tunnel
    assert pair.nodes["a"].of("z") == [tunnel]
    assert pair.nodes["a"].of("nobody") == []


def test_all_streams_with_a_peer_use_the_paths_in_one_mode() -> None:
    """M6: also in tunnels that are yet to come; what the peer sends is its own decision."""
    pair = Pair()
    ours = pair.nodes["a"].to("z", 0.0)
    assert ours.explain().mode == "auto"
    pair.nodes["a"].set_mode("z", Mode.REDUNDANT)
    assert ours.explain().mode == "redundant"
    theirs = pair.nodes["z"].to("a", 0.0)
    theirs.open("test")
    pair.nodes["z"].touched("a", theirs)
    pair.settle()
    assert [tunnel.mode for tunnel in pair.nodes["a"].of("z")] == [Mode.REDUNDANT] * 2
    assert theirs.mode is Mode.AUTO


def test_both_may_open_one_at_once() -> None:
    pair = Pair()
    ends = [pair.nodes["a"].to("z", 0.0), pair.nodes["z"].to("a", 0.0)]
    for name, other, tunnel in (("a", "z", ends[0]), ("z", "a", ends[1])):
        tunnel.open("test")
        pair.nodes[name].touched(other, tunnel)
    pair.settle()
    assert ends[0].id != ends[1].id
    assert sum(isinstance(event, StreamOpened) for _, event in pair.events) == 2
    assert len(pair.nodes["a"].of("z")) == len(pair.nodes["z"].of("a")) == 2


def test_a_node_that_forgot_everything_says_so_and_a_new_tunnel_begins() -> None:
    """M4: the other side restarted."""
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    stream = tunnel.open("test")
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    pair.nodes["z"] = pair.fresh()
    pair.nodes["z"].path_up("a", PATH, 0.0)
    tunnel.write(stream, b"anybody?", 0.0)
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    reason = "nobody here knows this tunnel"
    assert ("a", TunnelClosed(CloseCode.UNKNOWN, reason, is_remote=True)) in pair.events
    again = pair.nodes["a"].to("z", 0.0)
    assert again is not tunnel
    again.open("test")
    pair.nodes["a"].touched("z", again)
    pair.settle()
    assert again.state is TunnelState.OPEN


def test_a_peer_that_opens_a_new_tunnel_has_lost_the_old_one() -> None:
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    tunnel.open("test")
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    pair.nodes["a"] = Tunnels(random=Random(5).randbytes)
    pair.nodes["a"].path_up("z", PATH, 0.0)
    again = pair.nodes["a"].to("z", 0.0)
    again.open("test")
    pair.nodes["a"].touched("z", again)
    pair.settle()
    reason = "there is a newer one"
    assert ("z", TunnelClosed(CloseCode.REPLACED, reason, is_remote=False)) in pair.events
    assert [tunnel.id for tunnel in pair.nodes["z"].of("a")] == [again.id]


def test_refusals_are_rare_and_never_about_refusals() -> None:
    node = Pair().nodes["z"]
    stale = TunnelPacket(77, 1, 5, [TunnelProbe()]).serialize()
    for _ in range(100):
        node.received("a", 1, *stale, 0.5)
    assert len(node.flush(0.5)) == 1
    node.received("a", 1, *TunnelPacket(77, 1, 0, [TunnelClose(3)]).serialize(), 9.0)
    assert node.flush(9.0) == []
    node.received("a", 1, *stale, 9.0)
    assert len(node.flush(9.0)) == 1


def test_a_late_first_packet_does_not_bring_back_what_is_over() -> None:
    node = Pair().nodes["z"]
    first = TunnelPacket(77, 1, 1, [TunnelProbe()], True).serialize()
    node.received("a", 1, *first, 0.0)
    (tunnel,) = node.of("a")
    assert tunnel.role is TunnelRole.ACCEPTOR
    tunnel.abort(CloseCode.SHUTDOWN, "")
    node.touched("a", tunnel)
    node.flush(0.0)
    assert node.of("a") == []
    node.received("a", 1, *first, 0.1)
    assert node.of("a") == []


def test_time_passes_for_all_tunnels() -> None:
    """M4: stalled, then over, and forgotten."""
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    tunnel.open("test")
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    pair.nodes["z"].path_down("a", 1, 0.0)
    pair.nodes["z"].path_down("nobody", 1, 0.0)
    pair.settle()
    assert ("z", TunnelStalled()) in pair.events
    assert pair.nodes["z"].deadline == 5.0
    pair.now = 5.0
    pair.nodes["z"].tick(5.0)
    pair.nodes["z"].flush(5.0)
    assert pair.nodes["z"].of("a") == []
    assert pair.nodes["z"].deadline is None


def test_a_graceful_end_waits_for_the_streams() -> None:
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    stream = tunnel.open("test")
    tunnel.write(stream, b"last words", 0.0)
    tunnel.finish(stream)
    tunnel.close()
    pair.nodes["a"].touched("z", tunnel)
    pair.settle()
    assert tunnel.state is TunnelState.HALF_CLOSED
    accepted = pair.nodes["z"].to("a", 0.0)
    assert accepted.read(stream, 100) == b"last words"
    accepted.finish(stream)
    pair.nodes["z"].touched("a", accepted)
    pair.wait(0.1)
    pair.wait(0.1)
    ends = [(name, event) for name, event in pair.events if isinstance(event, TunnelClosed)]
    assert sorted(ends, key=str) == [
        ("a", TunnelClosed(CloseCode.DONE, "", is_remote=False)),
        ("z", TunnelClosed(CloseCode.DONE, "", is_remote=True)),
    ]
    assert pair.nodes["a"].of("z") == pair.nodes["z"].of("a") == []


def test_peers_and_paths_are_bounded() -> None:
    node = Tunnels(random=Random(1).randbytes, limits=TunnelLimits(paths_max=2))
    for number in (1, 2):
        node.path_up("a", TunnelPath(id=number, kind=TunnelPathKind.DATAGRAM), 0.0)
    with pytest.raises(CongestionError):
        node.path_up("a", TunnelPath(id=3, kind=TunnelPathKind.DATAGRAM), 0.0)
    for number in range(PEERS_MAX - 1):
        node.path_up(f"peer {number}", PATH, 0.0)
    with pytest.raises(CongestionError):
        node.to("one more", 0.0)
    node.path_down("peer 5", 1, 0.0)
    node.to("one more", 0.0)


def test_nonsense_is_refused() -> None:
    node = Pair().nodes["z"]
    with pytest.raises(DecodeError):
        node.received("a", 1, b"\x0b\x00\x00\x00\x00\x01", b"short", 0.0)


def test_what_has_come_is_told_before_anything_is_sent_for_it() -> None:
    """So that what its reader grants leaves with the acknowledgement."""
    pair = Pair()
    tunnel = pair.nodes["a"].to("z", 0.0)
    stream = tunnel.open("echo")
    pair.settle()
    pair.events.clear()
    tunnel.write(stream, bytes(1 << 19), 0.0)
    pair.nodes["a"].touched("z", tunnel)
    far, sent = pair.nodes["z"], list[TunnelPacket]()
    for _ in range(40):
        for sent_packet in pair.nodes["a"].flush(0.0):
            far.received("a", sent_packet.path, sent_packet.head, sent_packet.body, 0.0)
        for told in far.take():
            assert isinstance(told.event, StreamReadable)
            while told.tunnel.read(stream, 1 << 18):
                pass
        for sent_packet in far.flush(0.0):
            sent.append(TunnelPacket.parse(sent_packet.head, sent_packet.body))
            pair.nodes["a"].received("z", sent_packet.path, sent_packet.head, sent_packet.body, 0.0)
        assert far.take() == []
    grants = [packet for packet in sent if any(isinstance(f, TunnelCredit) for f in packet.frames)]
    assert grants
    assert all(any(isinstance(f, TunnelAck) for f in packet.frames) for packet in grants)
