"""M4: a peer that breaks the rules is bounded, and closed with a reason."""

import tracemalloc

import pytest

from rookery.errors import DecodeError
from rookery.mesh.tunnel.events import CloseCode, StreamOpened, TunnelClosed
from rookery.mesh.tunnel.limits import STREAMS_START, WINDOW_START, TunnelLimits
from rookery.mesh.tunnel.paths.path import TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelRole, TunnelState
from rookery.wire.mesh.stream_opening import StreamOpening
from rookery.wire.mesh.tunnel_data import TunnelAck, TunnelData
from rookery.wire.mesh.tunnel_frames import (
    Frame,
    TunnelClose,
    TunnelCredit,
    TunnelDatagram,
    TunnelOpens,
    TunnelProbe,
    TunnelReset,
    TunnelStop,
)
from rookery.wire.mesh.tunnel_packet import TunnelPacket
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern

OPENING = StreamOpening("test", {}, 3).serialize()
MIB = 1 << 20


class Attacker:
    """Says what it likes to one end of a tunnel."""

    def __init__(self, limits: TunnelLimits | None = None) -> None:
        self.victim = Tunnel(
            TunnelRole.ACCEPTOR,
            random=lambda size: bytes(size),
            now=0.0,
            number=7,
            limits=limits or TunnelLimits(),
        )
        self.victim.path_up(
            TunnelPath(id=1, kind=TunnelPathKind.STREAM, mtu=61440, rtt_s=0.01), 0.0
        )
        self.number = 0
        self.newest = 0  # that the victim sent
        self.heard: list[Frame] = []

    def say(self, *frames: Frame) -> None:
        self.number += 1
        packet = TunnelPacket(7, 1, self.number, list(frames))
        self.victim.received(1, *packet.serialize(), 0.0)

    def listen(self) -> None:
        for _, head, parts, _ in self.victim.flush(0.0):
            packet = TunnelPacket.parse(head, b"".join(parts))
            self.heard += packet.frames
            if packet.number:
                self.newest = packet.number

    @property
    def reason(self) -> str | None:
        """Why the victim closed the tunnel; it tells the attacker, too."""
        self.listen()  # what is said of its packets it looks at when it sends
        ends = [event for event in self.victim.take() if isinstance(event, TunnelClosed)]
        if not ends:
            return None
        assert ends[0].code == CloseCode.PROTOCOL
        assert self.victim.state is TunnelState.RESET
        assert TunnelClose(CloseCode.PROTOCOL, ends[0].reason) in self.heard
        self.say(TunnelData(1, 0, b"too late"))
        assert self.victim.take() == []
        return ends[0].reason


@pytest.mark.slow
def test_a_hundred_thousand_streams_are_refused() -> None:
    """M4: those granted open, the next closes the tunnel."""
    attacker = Attacker()
    opened = 0
    for place in range(100_000):
        attacker.say(TunnelData(2 * place + 1, 0, OPENING))
        opened += place < STREAMS_START
    assert attacker.victim.streams == opened == STREAMS_START
    events = attacker.victim.take()
    assert sum(isinstance(event, StreamOpened) for event in events) == STREAMS_START
    assert events[-1] == TunnelClosed(CloseCode.PROTOCOL, "more streams than were granted", False)


@pytest.mark.slow
def test_streams_that_end_at_once_are_granted_again_but_never_more_at_a_time() -> None:
    attacker = Attacker()
    granted = STREAMS_START
    for place in range(3 * STREAMS_START):
        stream = 2 * place + 1
        if place >= granted:
            break
        attacker.say(TunnelData(stream, 0, OPENING, True))
        attacker.victim.reset(stream, 1)
        attacker.listen()
        attacker.say(TunnelAck(1, ((attacker.newest, attacker.newest),)))
        granted = max(
            [
                granted,
                *(frame.maximum for frame in attacker.heard if isinstance(frame, TunnelOpens)),
            ]
        )
        attacker.heard.clear()
    assert granted > STREAMS_START
    assert attacker.victim.streams <= STREAMS_START


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([TunnelData(1, WINDOW_START, b"x")], "more of a stream than was granted"),
        ([TunnelData(1, 2**62, b"x")], "more of a stream than was granted"),
        ([TunnelReset(1, 1, WINDOW_START + 1)], "more of a stream than was granted"),
        (
            [TunnelData(1, WINDOW_START - 1, b"x"), TunnelData(3, 0, b"x")],
            "more of all streams than was granted",
        ),
        ([TunnelData(2, 0, b"x")], "a stream that was never opened"),
        ([TunnelCredit(2, 5)], "a stream that was never opened"),
        ([TunnelStop(2, 5)], "a stream that was never opened"),
        ([TunnelData(1, 0, OPENING, True), TunnelData(1, 50, b"x")], "a stream with two ends"),
        ([TunnelData(1, 0, OPENING), TunnelReset(1, 0, 3)], "a stream ends before what came of it"),
        ([TunnelData(1, 0, b"\x09\x00\x00\x00")], "an opening beyond its bounds"),
        ([TunnelData(1, 0, b"\x03\x00\x00\x02[]")], "an opening that says nothing"),
        ([TunnelData(1, 0, b"\x03\x00", True)], "a stream without an opening"),
        ([TunnelAck(1, ((1, 999),))], "a packet acknowledged that was never sent"),
    ],
)
def test_lies_close_the_tunnel_with_a_reason(frames: list[Frame], reason: str) -> None:
    attacker = Attacker()
    attacker.say(*frames)
    assert attacker.reason == reason


def test_what_must_arrive_needs_a_number() -> None:
    attacker = Attacker()
    packet = TunnelPacket(7, 1, 0, [TunnelData(1, 0, OPENING)])
    attacker.victim.received(1, *packet.serialize(), 0.0)
    assert attacker.reason == "something that must arrive, without a number"


def test_who_acknowledges_what_it_cannot_have_is_found_out() -> None:
    """M4: some numbers are never used; to make the sender faster a liar would name them."""
    attacker = Attacker()
    stream = attacker.victim.open("test")
    for _ in range(400):
        if attacker.victim.state is TunnelState.RESET:
            break
        attacker.victim.write(stream, bytes(5), 0.0)
        attacker.listen()
        highest = attacker.victim.explain().paths[0].sent_packets
        attacker.say(TunnelAck(1, ((1, highest),)))
    assert attacker.reason == "a packet acknowledged that was never sent"


def test_acknowledgements_of_unknown_paths_and_old_packets_are_harmless() -> None:
    attacker = Attacker()
    attacker.listen()
    attacker.say(TunnelAck(99, ((1, 5),)))
    attacker.say(TunnelAck(1, ((1, 1),)))
    attacker.say(TunnelAck(1, ((1, 1),)))
    assert attacker.reason is None


def test_credit_without_end_does_not_fill_the_senders_memory() -> None:
    """M4: what may wait is this side's own decision."""
    attacker = Attacker()
    stream = attacker.victim.open("test")
    attacker.say(
        TunnelCredit(0, 2**64 - 1), TunnelCredit(stream, 2**64 - 1), TunnelOpens(2**32 - 1)
    )
    taken = 0
    for _ in range(2000):
        taken += attacker.victim.write(stream, bytes(65536), 0.0)
        attacker.listen()
        attacker.heard.clear()
    assert taken < 20 * MIB
    for _ in range(STREAMS_START + 10):
        attacker.victim.open("more")


def test_who_never_reads_costs_what_it_was_granted() -> None:
    """M4: 10 MB offered, 1 MB taken per stream, and other streams go on."""
    world = TunnelWorld([Road(1, Lane(0.005), kind=TunnelPathKind.STREAM, mtu=61440)])
    world.far.reads = False
    stuck = [world.near.send(pattern(5 * MIB)) for _ in range(2)]
    world.run(limit_s=2.0)
    for stream in stuck:
        assert len(world.near.pending[stream][0]) > 3 * MIB
    small = world.near.send(b"still alive")
    world.run(lambda: small in world.far.finished)
    assert world.far.tunnel.read(small, 100) == b"still alive"


def test_overlapping_ranges_are_harmless() -> None:
    attacker = Attacker()
    attacker.say(TunnelData(1, 0, OPENING))
    for index in range(1000):
        attacker.say(TunnelData(1, len(OPENING) + index % 50, bytes(100)))
    assert attacker.reason is None
    assert attacker.victim.read(1, 1 << 20) == bytes(149)


def test_a_stream_in_crumbs_is_bounded_in_memory() -> None:
    """M4: one byte in two; packets beyond the bound are not acknowledged, and nothing is lost."""
    attacker = Attacker(TunnelLimits(pieces_max=1000))
    attacker.say(TunnelData(1, 0, OPENING))
    tracemalloc.start()
    for index in range(5000):
        attacker.say(TunnelData(1, 1000 + 2 * index, b"x"))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < MIB
    assert attacker.victim.explain().counts["packets left for later"] == 4000
    attacker.say(TunnelData(1, len(OPENING), bytes(1000 - len(OPENING))))
    assert attacker.reason is None
    assert len(attacker.victim.read(1, 1 << 20)) == 1001 - len(OPENING)


def test_datagrams_that_nobody_takes_are_dropped() -> None:
    attacker = Attacker(TunnelLimits(datagrams_max=10))
    for index in range(50):
        attacker.say(TunnelDatagram(b"%d" % index))
    assert len(attacker.victim.take()) == 10
    assert attacker.victim.explain().counts["datagrams dropped: nobody took them"] == 40
    attacker.say(TunnelDatagram(b"again"))
    assert len(attacker.victim.take()) == 1


@pytest.mark.slow
def test_packets_of_countless_paths_are_bounded() -> None:
    attacker = Attacker()
    tracemalloc.start()
    for path in range(20_000):
        packet = TunnelPacket(7, path, 1, [TunnelProbe()])
        attacker.victim.received(1, *packet.serialize(), 0.0)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < MIB
    assert len(attacker.victim.flush(0.0)) < 50


def test_a_packet_of_another_tunnel_is_ignored_and_nonsense_refused() -> None:
    attacker = Attacker()
    attacker.victim.received(1, *TunnelPacket(8, 1, 1, [TunnelData(2, 0, b"x")]).serialize(), 0.0)
    assert attacker.reason is None
    with pytest.raises(DecodeError):
        attacker.victim.received(1, b"\x0b\x00\x00\x00\x00\x01", b"short", 0.0)


def test_a_repeated_packet_is_taken_in_once() -> None:
    attacker = Attacker()
    for _ in range(5):
        packet = TunnelPacket(7, 1, 9, [TunnelDatagram(b"once")])
        attacker.victim.received(1, *packet.serialize(), 0.0)
    assert len(attacker.victim.take()) == 1
    assert attacker.victim.explain().counts["repeated packets"] == 4
