"""An endpoint among strangers, peers and enemies."""

import gc
import tracemalloc
from collections.abc import Callable
from random import Random

import pytest

from rookery.errors import CongestionError, DecodeError
from rookery.identity.identity import Identity
from rookery.link import endpoint as endpoint_module
from rookery.link.admission import AdmissionLimits
from rookery.link.discovery.announcement import announcements
from rookery.link.endpoint import Endpoint
from rookery.link.events import Discovered, LinkDown, LinkForgotten, Transmit
from rookery.link.link import LinkState
from rookery.link.paths import PATHS_MAX
from rookery.link.session.handshake import Handshake, Stranger
from rookery.link.token_bucket import BUCKETS_MAX
from rookery.sim.network.network import Conditions
from rookery.sim.world import EPOCH_UNIX_S, World
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, RoutePath
from tests.link.worlds import Collector, Pair, Writer, is_up, notices

RANDOM = Random(7)
SOURCE = NetPath("udp4", "10.0.0.1", 42424)


def alone(csids: tuple[int, ...] = (0x40,)) -> Endpoint:
    identity = Identity.generate(csids, RANDOM.randbytes)
    return Endpoint(identity, random=RANDOM.randbytes, unix_s=1.8e9, now=0.0)


def handshake_for(target: Endpoint, sender: Identity, csid: int = 0x40, age: int = 0) -> Packet:
    """One that is news to the target, the more so the higher its `age`."""
    is_odd = sender.keys[csid] > target.identity.keys[csid]
    at = 1_900_000_000 + 2 * age + is_odd
    cipher = sender.local[csid].exchange(target.identity.keys[csid], RANDOM.randbytes)
    inner = Handshake(csid, sender.keys[csid], sender.intermediates(csid), at).inner()
    return Packet(bytes([csid]), cipher.seal(inner))


def held_by(action: Callable[[int], None], times: range) -> int:
    """Bytes that stay allocated after so many calls."""
    gc.collect()
    tracemalloc.start()
    for number in times:
        action(number)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held


def transmissions(endpoint: Endpoint, now: float) -> list[Transmit]:
    endpoint.flush(now)
    return [event for event in endpoint.take() if isinstance(event, Transmit)]


# --- strangers ---


def test_a_strangers_handshake_is_reported_and_not_answered() -> None:
    """T2, T6: nothing is ever sent to an unknown sender."""
    target = alone()
    stranger = Identity.generate((0x40,), RANDOM.randbytes)
    target.received(SOURCE, handshake_for(target, stranger), 1.0)
    target.flush(1.0)
    (event,) = target.take()
    assert isinstance(event, Discovered)
    assert event.stranger.hashname == stranger.hashname
    assert event.stranger.is_proven
    assert target.deadline is None


def test_an_accepted_stranger_is_answered() -> None:
    """T2."""
    target = alone()
    packet = handshake_for(target, Identity.generate((0x40,), RANDOM.randbytes))
    target.received(SOURCE, packet, 1.0)
    (event,) = target.take()
    assert isinstance(event, Discovered)
    link = target.accept(event.stranger, 1.1)
    assert is_up(link)
    assert {sent.path for sent in transmissions(target, 1.1)} == {SOURCE}


@pytest.mark.parametrize("number", range(2))
def test_announcements_are_always_reported_and_never_answered(number: int) -> None:
    """T6."""
    target = alone()
    stranger = Identity.generate((0x40,), RANDOM.randbytes)
    target.received(SOURCE, Packet.parse(announcements(stranger)[number]), 1.0)
    target.flush(1.0)
    (event,) = target.take()
    assert isinstance(event, Discovered)
    assert not event.stranger.is_proven


def test_our_own_announcement_is_ignored() -> None:
    target = alone()
    for data in announcements(target.identity):
        target.received(SOURCE, Packet.parse(data), 1.0)
    assert target.take() == []


def test_an_announcement_of_a_peer_is_a_path_to_try() -> None:
    """T6."""
    pair = Pair()
    pair.world.network.change(Conditions(blocked=True))
    pair.world.run(40)
    assert pair.link.state is LinkState.DOWN
    pair.world.network.change(Conditions())
    pair.world.move(pair.bob, "10.4.4.4")
    (data, _) = announcements(pair.bob.endpoint.identity)
    pair.alice.deliver(NetPath("udp4", "10.4.4.4", 42424), data)
    pair.world.run_until(lambda: is_up(pair.link), 1)
    assert notices(pair.alice, Discovered) == []


def test_an_accepted_handshake_that_is_none_is_counted() -> None:
    target, stranger = alone(), Identity.generate((0x40,), RANDOM.randbytes)
    bad = Stranger(stranger.hashname, stranger.keys, (SOURCE,), Packet(b"\x40", bytes(99)))
    target.accept(bad, 1.0)
    assert sum(target.dropped.values()) == 1


def test_announced_keys_are_looked_at() -> None:
    """T1."""
    target = alone()
    packet = Packet.of({"type": "hn", "hn": {"40": "aaaa"}})
    target.received(SOURCE, packet, 1.0)
    assert target.dropped == {"DecodeError": 1}
    with pytest.raises(DecodeError):
        target.link("n" * 52, {0x40: b"short"}, [], 1.0)


def test_unknown_senders_cannot_fill_the_table_of_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """T2."""
    monkeypatch.setattr(endpoint_module, "LINKS_MAX", 2)
    target = alone()
    people = [Identity.generate((0x40,), RANDOM.randbytes) for _ in range(3)]
    strangers = [Stranger(one.hashname, one.keys, (SOURCE,)) for one in people]
    for stranger in (strangers[0], strangers[1], strangers[0]):
        target.accept(stranger, 1.0)
    with pytest.raises(CongestionError):
        target.accept(strangers[2], 1.0)
    target.link(strangers[2].hashname, strangers[2].keys, [], 1.0)
    assert len(target.links) == 3


# --- enemies ---


def test_a_lesser_cipher_set_is_refused() -> None:
    """T2: no downgrade."""
    target = alone((0x3A, 0x40))
    stranger = Identity.generate((0x3A, 0x40), RANDOM.randbytes)
    target.received(SOURCE, handshake_for(target, stranger, 0x3A), 1.0)
    assert target.take() == []
    assert target.dropped == {"ProtocolError": 1}


def test_our_own_handshake_is_refused() -> None:
    target = alone()
    target.received(SOURCE, handshake_for(target, target.identity), 1.0)
    assert target.take() == []
    assert target.dropped == {"ProtocolError": 1}


def test_a_forged_handshake_is_refused() -> None:
    """T1: the hashname is another's, the proof is not."""
    target, victim = alone(), Identity.generate((0x40,), RANDOM.randbytes)
    forger = Identity.generate((0x40,), RANDOM.randbytes)
    cipher = forger.local[0x40].exchange(target.identity.keys[0x40], RANDOM.randbytes)
    inner = Handshake(0x40, victim.keys[0x40], {}, 5).inner()
    target.received(SOURCE, Packet(b"\x40", cipher.seal(inner)), 1.0)
    assert target.take() == []
    assert target.dropped == {"AuthenticationError": 1}


def mutations(packets: list[bytes], count: int, random: Random) -> list[bytes]:
    """Random packets, and true ones with a few bytes changed, cut or doubled."""
    made = []
    for number in range(count):
        data = bytearray(random.choice(packets))
        match number % 5:
            case 0:
                data = bytearray(random.randbytes(random.randrange(2, 300)))
            case 1:
                data = bytearray(b"\x00\x00" + random.randbytes(random.randrange(0, 120)))
            case 2:
                del data[random.randrange(len(data)) :]
            case 3:
                data += data[random.randrange(len(data)) :]
            case _:
                for _ in range(random.randrange(1, 6)):
                    data[random.randrange(len(data))] = random.randrange(256)
        made.append(bytes(data))
    return made


@pytest.mark.slow
def test_hostile_packets_cost_nothing_and_get_nothing() -> None:
    """T2, T6: tens of thousands, random and mutated, from everywhere."""
    pair = Pair(9, csids=(0x3A, 0x40))
    packets = list[bytes]()
    pair.world.overhear(lambda source, target, data: packets.append(data))
    collector = Collector(pair.bob)
    pair.world.run(1)
    Writer(pair.alice, pair.link, bytes(20_000))
    pair.world.run(1)
    target = pair.bob.endpoint
    packets += announcements(Identity.generate((0x40,), RANDOM.randbytes))
    now = pair.world.now
    hostile = [data for data in mutations(packets, 20_000, Random(3)) if len(data) >= 2]
    links_before = len(target.links)
    sent_to = set[object]()
    gc.collect()
    tracemalloc.start()
    held_before = tracemalloc.get_traced_memory()[0]
    for number, data in enumerate(hostile):
        try:
            packet = Packet.parse(data)
        except DecodeError:
            continue
        address = NetPath("udp4", f"10.9.{number >> 8 & 255}.{number & 255}", number % 60000 + 1)
        target.received(address, packet, now + number / 5000)
        target.flush(now + number / 5000)
        sent_to |= {event.path for event in target.take() if isinstance(event, Transmit)}
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - held_before
    tracemalloc.stop()
    assert len(target.links) == links_before
    assert not any(isinstance(path, NetPath) and path.ip.startswith("10.9.") for path in sent_to)
    assert sum(target.dropped.values()) > 3_000
    assert held < 3 * BUCKETS_MAX * 1000
    pair.world.run(10)
    assert is_up(pair.link)
    Writer(pair.alice, pair.link, b"still here")
    pair.world.run(1)
    assert collector.data.endswith(b"still here")


def test_a_hostile_peer_raises_nothing_either() -> None:
    """T2: whatever it seals for us."""
    pair = Pair().up()
    pair.bob.endpoint.types.add("stream")
    collector = Collector(pair.bob)
    random = Random(5)
    values = [None, True, -1, 0, 1, 2, 3, 1 << 40, 1.5, "x", [], [1, 2], {}, {"a": 1}]
    keys = ["c", "type", "seq", "ack", "miss", "end", "err", "paths", "path", "peer"]
    types = ["stream", "path", "peer", "connect", "nonsense"]
    assert pair.link.exchange is not None
    for _ in range(8_000):
        head = {key: random.choice(values) for key in random.sample(keys, random.randrange(5))}
        if random.random() < 0.8:
            head["c"] = random.randrange(1, 200)
        if random.random() < 0.5:
            head["type"] = random.choice(types)
        inner = Packet.of(head, random.randbytes(random.randrange(40))).serialize()
        pair.bob.deliver(pair.alice.paths[0], pair.link.exchange.seal(inner))
    pair.bob.deliver(pair.alice.paths[0], pair.link.exchange.seal(b"\x00\x09" + b"\xff" * 9))
    pair.bob.deliver(pair.alice.paths[0], pair.link.exchange.seal(b"\x7f\xff{}"))
    assert collector.channels
    pair.world.run(60)
    assert pair.back is not None
    assert len(pair.back.paths) <= PATHS_MAX


def test_a_packet_from_outside_cannot_claim_to_come_over_a_route() -> None:
    """Answers would go to whoever is named there, who never asked for any."""
    pair = Pair().up()
    bob, link = pair.bob.endpoint, pair.back
    assert link is not None
    pair.link.say("path", {"paths": []})
    pair.alice.endpoint.flush(pair.world.now)
    (said,) = [e.data for e in pair.alice.endpoint.take() if isinstance(e, Transmit)]
    victim = RoutePath(alone().hashname)
    before = [state.path for state in link.paths]
    bob.received(victim, Packet.parse(said), pair.world.now)
    bob.received(victim, handshake_for(bob, pair.alice.endpoint.identity), pair.world.now)
    stranger = Identity.generate((0x40,), RANDOM.randbytes)
    bob.received(victim, handshake_for(bob, stranger), pair.world.now)
    for announcement in announcements(stranger):
        bob.received(victim, Packet.parse(announcement), pair.world.now)
    assert [state.path for state in link.paths] == before
    assert [event for event in bob.take() if isinstance(event, Transmit | Discovered)] == []
    assert bob.dropped["ProtocolError"] == 5
    bob.received(RoutePath(pair.alice.hashname), Packet.parse(said), pair.world.now)
    assert RoutePath(pair.alice.hashname) in link.paths


def test_a_flood_of_handshakes_is_bounded_in_work() -> None:
    """T6: opening one is dear, an RSA operation for some."""
    limits = AdmissionLimits(stranger_burst_s=0.004, stranger_share=0.0)
    identity = Identity.generate((0x40,), RANDOM.randbytes)
    target = Endpoint(identity, random=RANDOM.randbytes, unix_s=1.8e9, now=0.0, limits=limits)
    for number in range(500):
        target.received(NetPath("udp4", "10.1.1.1", number + 1), Packet(b"\x40", bytes(99)), 1.0)
    assert 5 < sum(target.dropped.values()) <= 10


# --- what links leave behind ---


def strangers_only() -> Callable[[int], None]:
    """What the bounded memory for agreements takes when two unknown handshakes are opened."""
    target, one = alone(), Identity.generate((0x40,), RANDOM.randbytes)

    def knock(number: int) -> None:
        for age in (2 * number, 2 * number + 1):
            target.received(SOURCE, handshake_for(target, one, age=age), float(number))
        target.take()

    return knock


VISITS = range(50, 350)
BYTES_PER_VISIT_MAX = 80  # a token or path that is left behind takes more


@pytest.mark.slow
def test_links_that_come_and_go_leave_nothing() -> None:
    """T2: however they end, and whatever paths they had."""
    target = alone()
    people = [Identity.generate((0x40,), RANDOM.randbytes) for _ in range(10)]

    def visit(number: int) -> None:
        now, one = float(number), people[number % len(people)]
        path, other = (NetPath("udp4", ip, number + 1) for ip in ("10.2.2.2", "10.3.3.3"))
        packet = handshake_for(target, one, age=2 * number)
        link = target.accept(Stranger(one.hashname, one.keys, (path,), packet), now)
        assert is_up(link)
        link.add_path(other, now, configured=False)
        target.received(other, handshake_for(target, one, age=2 * number + 1), now)
        target.flush(now)
        if number % 2:
            target.forget(link, now)
        else:
            target.lost(path, now)
            target.lost(other, now)
        assert len(target.links) == 0
        target.take()

    for number in range(VISITS.start):
        visit(number)
    held = held_by(visit, VISITS) - held_by(strangers_only(), VISITS)
    assert held < len(VISITS) * BYTES_PER_VISIT_MAX


def test_a_peer_that_restarts_for_ever_leaves_nothing() -> None:
    """T2."""
    target, one = alone(), Identity.generate((0x40,), RANDOM.randbytes)
    link = target.link(one.hashname, one.keys, [SOURCE], 0.0)

    def restart(number: int) -> None:
        for age in (2 * number, 2 * number + 1):
            target.received(SOURCE, handshake_for(target, one, age=age), float(number))
            assert is_up(link)
        target.flush(float(number))
        target.take()

    for number in range(VISITS.start):
        restart(number)
    held = held_by(restart, VISITS) - held_by(strangers_only(), VISITS)
    assert held < len(VISITS) * BYTES_PER_VISIT_MAX


def test_a_link_is_forgotten_once() -> None:
    pair = Pair().up()
    assert pair.back is not None
    old = pair.back
    pair.bob.endpoint.forget(old, pair.world.now)
    new = pair.bob.link(pair.alice)
    pair.bob.endpoint.forget(old, pair.world.now)
    pair.bob.settle()
    assert [event.link for event in notices(pair.bob, LinkForgotten)] == [old]
    assert pair.back is new
    pair.world.run_until(lambda: is_up(new))


# --- time ---


def test_no_deadline_is_missed() -> None:
    """Whenever a link is due, the endpoint is due no later."""
    pair = Pair(2, Conditions(delay_s=0.02, jitter_s=0.03, loss=0.1))
    Collector(pair.bob)
    pair.up()
    Writer(pair.alice, pair.link, bytes(60_000))
    for _ in range(300):
        pair.world.run(0.07)
        for node in (pair.alice, pair.bob):
            for link in node.endpoint.links.values():
                if link.deadline is not None:
                    assert node.endpoint.deadline is not None
                    assert node.endpoint.deadline <= link.deadline
                    assert link.deadline > pair.world.now - 0.001


@pytest.mark.parametrize(("loss", "seconds"), [(0.0, 3.0), (0.01, 3.0), (0.1, 12.0)])
@pytest.mark.parametrize("csid", [0x40, 0x3A])
def test_a_megabyte_arrives_in_seconds(loss: float, seconds: float, csid: int) -> None:
    """T3: over a path of 40 to 80 ms that also reorders; a lax peer may take longer."""
    conditions = Conditions(delay_s=0.02, jitter_s=0.02, loss=loss, duplication=loss / 2)
    pair = Pair(4, conditions, csids=(csid,)).up()
    collector = Collector(pair.bob)
    data = Random(1).randbytes(1 << 20)
    start = pair.world.now
    writer = Writer(pair.alice, pair.link, data)
    pair.world.run_until(lambda: writer.channel.is_closed, 600)
    assert writer.channel.failure is None
    assert collector.data == data
    assert pair.world.now - start < seconds * (1 if csid == 0x40 else 8)


def test_a_reader_that_sleeps_for_minutes_loses_nothing() -> None:
    """T3: the window closes, nothing times out, and it reopens at once."""
    pair = Pair(4, Conditions(delay_s=0.02), csids=(0x40,)).up()
    collector = Collector(pair.bob)
    collector.is_reading = False
    data = Random(1).randbytes(5 << 20)
    writer = Writer(pair.alice, pair.link, data)
    pair.world.run(300)
    assert not writer.channel.is_closed
    collector.is_reading = True
    collector.read(collector.channels[0])
    start = pair.world.now
    pair.world.run_until(lambda: writer.channel.is_closed, 60)
    assert collector.data == data
    assert pair.world.now - start < 8


def test_the_world_is_the_same_every_time() -> None:
    """Any failure replays from its seed."""

    def story() -> tuple[float, int, int]:
        pair = Pair(77, Conditions(delay_s=0.02, jitter_s=0.02, loss=0.2)).up()
        Collector(pair.bob)
        Writer(pair.alice, pair.link, bytes(50_000))
        pair.world.run(100)
        return pair.world.now, pair.world.deliveries, pair.alice.sent

    assert story() == story()


def test_the_wall_clock_may_be_set_while_links_are_up() -> None:
    """A device without a clock of its own learns the time after it started."""
    world = World(seed=3)
    alice, bob = world.node("10.0.0.1", clock_error_s=-1e9), world.node("10.0.0.2")
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)
    alice.endpoint.set_clock(EPOCH_UNIX_S + world.now, world.now)
    assert alice.endpoint.wall(world.now) == int(EPOCH_UNIX_S + world.now)
    world.run(120)
    alice.endpoint.set_clock(5.0, world.now)
    world.run(120)
    assert link.state is LinkState.UP
    assert [event for event in alice.notices if isinstance(event, LinkDown)] == []
