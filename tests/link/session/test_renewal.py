"""Renewal of session keys: between links in a world of virtual time, and step by step."""

import random

import pytest

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import KeyRenewal
from rookery.identity.cs40 import CipherSet40
from rookery.identity.identity import Identity
from rookery.link.channel import Channel
from rookery.link.events import LinkDown
from rookery.link.link import Link
from rookery.link.session.renewal import (
    BUSY_BYTES,
    BUSY_S,
    DUE_BYTES,
    IDLE_S,
    LIMIT_BYTES,
    OVERLAP_S,
    REPEAT_S,
    SPACING_S,
    TRIES_MAX,
    YIELD_S,
    Renewal,
)
from rookery.sim.network.network import Conditions
from rookery.wire.link.frame_types import RENEWAL
from rookery.wire.link.path import NetPath
from rookery.wire.link.renewal import RenewalFrame, RenewalStep
from tests.link.worlds import Collector, Pair, Writer, is_up, notices

PIECE = random.Random(9).randbytes(BUSY_BYTES // 2)
RENEWAL_MAX_S = REPEAT_S * TRIES_MAX


def keys(link: Link | None) -> KeyRenewal:
    assert link is not None
    assert link.exchange is not None
    assert link.exchange.session is not None
    renewal = link.exchange.session.renewal
    assert renewal is not None
    return renewal


def without_renewal() -> Identity:
    """An older peer of ours."""
    pairs = Identity.generate((0x40,), random.Random(3).randbytes).pairs
    return Identity(pairs, lambda csid: CipherSet40(0))


class Talk:
    """A stream that is written to little by little for as long as the test lasts."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.sent = pair, b""
        self.collector = Collector(pair.bob)
        self.channel: Channel = pair.alice.open(pair.link, "stream")

    def say(self, data: bytes) -> None:
        for at in range(0, len(data), 1000):
            self.pair.world.run_until(lambda: self.channel.has_room)
            self.channel.send({}, data[at : at + 1000])
            self.pair.alice.used(self.pair.link, self.channel)
        self.sent += data

    def heard(self) -> None:
        self.pair.world.run_until(lambda: len(self.collector.data) == len(self.sent))
        assert self.collector.data == self.sent
        assert self.channel.failure is None


def be_busy(pair: Pair) -> None:
    """More than the first bytes, so that the keys are to be renewed within two minutes."""
    pair.bob.endpoint.frame_reader = lambda *_: None
    for _ in range(2):
        pair.link.send_frame(b"\x01", bytes(BUSY_BYTES // 2))
    pair.alice.settle()
    pair.world.run(0.1)


def flood(link: Link, size: int) -> None:
    """Frames of that many bytes, all at once; nothing of it leaves."""
    for _ in range(size // (1 << 20)):
        assert link.sealed_parts(b"\x01", [bytes(1 << 20)]) is not None


@pytest.mark.slow
def test_a_thousand_renewals_under_loss_and_reordering_lose_no_byte() -> None:
    """T2: 10 % loss each way, reordering and duplicates; one stream all the time."""
    rough = Conditions(delay_s=0.05, jitter_s=0.03, loss=0.1, reordering=0.1, duplication=0.02)
    pair = Pair(7, rough).up()
    talk = Talk(pair)
    while keys(pair.link).phase < 1000:
        talk.say(PIECE)
        pair.world.run(BUSY_S / 2)
    talk.heard()
    assert pair.world.now < 1000 * (BUSY_S + YIELD_S + RENEWAL_MAX_S + OVERLAP_S)
    assert len(notices(pair.alice, LinkDown)) == len(notices(pair.bob, LinkDown)) == 0


def test_a_busy_link_renews_its_keys_within_a_minute_and_drops_nothing() -> None:
    pair = Pair().up()
    talk = Talk(pair)
    for _ in range(40):
        talk.say(PIECE)
        pair.world.run(BUSY_S / 10)
    talk.heard()
    assert keys(pair.link).phase == keys(pair.back).phase >= 3
    assert not notices(pair.alice, LinkDown)


def test_an_idle_link_renews_its_keys_every_hour() -> None:
    pair = Pair().up()
    pair.world.run(IDLE_S - 60)
    assert keys(pair.link).phase == 0
    pair.world.run(120)
    assert keys(pair.link).phase == keys(pair.back).phase == 1
    pair.world.run(3600)
    assert keys(pair.link).phase == keys(pair.back).phase == 2


@pytest.mark.parametrize("kinds", [("udp4",), ("tcp4",), ("udp4", "tcp4")])
def test_half_a_gigabyte_renews_keys_at_once(kinds: tuple[str, ...]) -> None:
    pair = Pair(kinds=kinds).up()
    flood(pair.link, DUE_BYTES + (1 << 20))
    assert keys(pair.link).phase == 0
    pair.alice.settle()
    pair.world.run(2 * SPACING_S + 0.1)
    assert keys(pair.link).phase == keys(pair.back).phase == 1
    assert is_up(pair.link)


def test_no_key_seals_a_gigabyte() -> None:
    pair = Pair().up()
    pair.world.network.block()
    flood(pair.link, LIMIT_BYTES)
    pair.alice.settle()
    pair.world.run(0.1)
    assert pair.link.last_error == "the keys could not be renewed"
    pair.world.network.unblock()
    pair.world.run_until(lambda: is_up(pair.link))
    assert keys(pair.link).phase == 0


def test_a_link_whose_keys_cannot_be_renewed_is_made_anew() -> None:
    """A peer that takes part in all but this: nothing is sealed under keys that are too old."""
    pair = Pair().up()
    pair.world.run(1)
    be_busy(pair)
    receive = pair.bob.receive

    def hear_handshakes(source: NetPath, data: bytes) -> None:
        if data[1] == 1:
            receive(source, data)

    pair.bob.receive = hear_handshakes  # type: ignore[method-assign]
    began = pair.world.now
    pair.world.run_until(lambda: bool(notices(pair.alice, LinkDown)))
    assert pair.world.now - began < BUSY_S + RENEWAL_MAX_S + YIELD_S
    assert notices(pair.alice, LinkDown)[0].reason == "the keys could not be renewed"


def test_both_may_begin_at_once() -> None:
    pair = Pair(conditions=Conditions(delay_s=0.2)).up()
    pair.world.run(1)
    assert pair.back is not None
    for link in (pair.link, pair.back):
        flood(link, DUE_BYTES)
    for node in (pair.alice, pair.bob):
        node.settle()
    pair.world.run(5)
    assert keys(pair.link).phase == keys(pair.back).phase == 1
    pair.world.run(RENEWAL_MAX_S)
    assert not notices(pair.alice, LinkDown)
    assert not notices(pair.bob, LinkDown)


def test_the_middle_of_a_renewal_survives_a_restart_of_one_side() -> None:
    """T2: whatever step was under way, the link comes back and renews again."""
    for after_s in (0.05, 0.15, 0.25, 0.35, 0.45):
        pair = Pair(conditions=Conditions(delay_s=0.1)).up()
        pair.world.run(1)
        be_busy(pair)
        pair.world.run_until(lambda: pair.world.now >= BUSY_S)  # noqa: B023
        pair.world.run(after_s)
        pair.bob = pair.world.restart(pair.bob)
        pair.bob.accepts_strangers = True
        pair.world.run(60)
        assert is_up(pair.link)
        assert is_up(pair.back)
        talk = Talk(pair)
        talk.say(PIECE * 3)
        talk.heard()
        pair.world.run(BUSY_S + YIELD_S + 5)
        assert keys(pair.link).phase == keys(pair.back).phase == 1


def test_a_peer_that_restarts_after_a_renewal_is_linked_again() -> None:
    """T2: the ephemeral that stayed up is new as well, as its secret is forgotten."""
    pair = Pair().up()
    pair.world.run(1)
    be_busy(pair)
    pair.world.run(BUSY_S + YIELD_S + 5)
    assert keys(pair.link).phase == 1
    exchange = pair.link.exchange
    assert exchange is not None
    before = exchange.token
    pair.alice, alice = pair.world.restart(pair.alice), pair.alice
    pair.link = pair.alice.link(pair.bob)
    pair.world.run(40)
    assert alice is not pair.alice
    assert is_up(pair.link)
    assert is_up(pair.back)
    assert keys(pair.back).phase == 0
    assert pair.link.exchange is not None
    assert pair.link.exchange.token != before
    writer, collector = Writer, Collector(pair.bob)
    writer(pair.alice, pair.link, PIECE)
    pair.world.run_until(lambda: collector.data == PIECE)


def test_a_peer_without_renewal_is_talked_to_as_before() -> None:
    pair = Pair()
    old = pair.world.node("10.0.0.3", identity=without_renewal())
    old.accepts_strangers = True
    pair.bob, pair.link = old, pair.alice.link(old)
    pair.up()
    talk = Talk(pair)
    for _ in range(5):
        talk.say(PIECE)
        pair.world.run(BUSY_S)
    pair.world.run(2 * IDLE_S)
    talk.say(PIECE)
    talk.heard()
    assert pair.link.exchange is not None
    assert pair.link.exchange.session is not None
    assert pair.link.exchange.session.renewal is None
    assert old.endpoint.dropped.total() == 0
    assert not notices(pair.alice, LinkDown)


def test_renewals_that_were_not_agreed_on_are_refused() -> None:
    pair = Pair()
    old = pair.world.node("10.0.0.3", identity=without_renewal())
    old.accepts_strangers = True
    pair.bob, pair.link = old, pair.alice.link(old)
    pair.up()
    assert pair.back is not None
    pair.back.send_frame(
        bytes((RENEWAL, RenewalStep.OFFER)), bytes((0, 0, 0, 1)) + bytes(range(32))
    )
    old.settle()
    pair.world.run(1)
    assert pair.alice.endpoint.dropped["ProtocolError"] == 1


@pytest.mark.parametrize(
    ("head", "body", "error"),
    [
        (b"\x0c", b"", "DecodeError"),
        (b"\x0c\x09", bytes(4), "DecodeError"),
        (b"\x0c\x01", b"\0\0\0\1", "DecodeError"),
        (b"\x0c\x01", b"\0\0\0\1" + bytes(32), "DecodeError"),
        (b"\x0c\x01", b"\0\0\0\7" + bytes(range(32)), None),
        (b"\x0c\x02", b"\0\0\0\1" + bytes(range(32)), None),
        (b"\x0c\x03", b"\0\0\0\1", None),
        (b"\x0c\x04", b"\0\0\0\1", None),
    ],
)
def test_frames_that_mean_nothing_here_change_nothing(
    head: bytes, body: bytes, error: str | None
) -> None:
    pair = Pair().up()
    pair.world.run(1)
    pair.link.send_frame(head, body)
    pair.alice.settle()
    pair.world.run(1)
    assert dict(pair.bob.endpoint.dropped) == ({error: 1} if error else {})
    be_busy(pair)
    pair.world.run(BUSY_S + YIELD_S + 5)
    assert keys(pair.link).phase == keys(pair.back).phase == 1


def test_a_copy_leaps_and_renews_and_no_channel_notices() -> None:
    pair = Pair().up()
    talk = Talk(pair)
    talk.say(PIECE)
    pair.alice.endpoint.leap(pair.world.now)
    talk.say(PIECE)
    pair.world.run(7)
    assert keys(pair.link).phase == keys(pair.back).phase == 1
    talk.say(PIECE)
    talk.heard()


def test_a_copy_leaps_towards_an_older_peer_too() -> None:
    pair = Pair()
    old = pair.world.node("10.0.0.3", identity=without_renewal())
    old.accepts_strangers = True
    pair.bob, pair.link = old, pair.alice.link(old)
    pair.up()
    talk = Talk(pair)
    for _ in range(10):
        talk.say(PIECE)
        pair.alice.endpoint.leap(pair.world.now)
    talk.say(PIECE)
    talk.heard()


# --- step by step ---


class Keys:
    """Two ends' keys without cryptography: what matters here is who does what when."""

    def __init__(self) -> None:
        self.phase = self.next_phase = 0
        self.is_met = True
        self.made = 0

    def offer(self, random: object) -> bytes:
        self.made += 1
        return bytes((self.made,)) * 32

    def withdraw(self) -> None:
        pass

    def answer(self, offered: bytes, random: object) -> bytes:
        self.next_phase = self.phase + 1
        return self.offer(random)

    def adopt(self, answered: bytes) -> None:
        self.phase += 1

    def confirm(self) -> None:
        self.phase = self.next_phase

    def retire(self, phase: int) -> None:
        pass


def renewal(*, yields: bool = False) -> tuple[Renewal, Keys]:
    made = Keys()
    return Renewal(made, random.Random(1).randbytes, 0.0, yields=yields), made


OFFER = RenewalFrame(RenewalStep.OFFER, 1, bytes(range(32)))


def test_a_peer_that_renews_too_often_is_refused_until_a_moment_has_passed() -> None:
    responder, made = renewal()
    now = SPACING_S
    renewed = 0
    for step in range(100):
        try:
            phase = made.phase + 1
            if responder.received(RenewalFrame(RenewalStep.OFFER, phase, OFFER.ephemeral), now):
                responder.received(RenewalFrame(RenewalStep.CONFIRM, phase), now)
                renewed += 1
        except ProtocolError:
            pass
        now += SPACING_S / 10 if step else 0.0
    assert 9 <= renewed <= 11


def test_an_offer_is_answered_the_same_again_and_another_one_is_refused() -> None:
    responder, made = renewal()
    first = responder.received(OFFER, 1.0)
    assert first is not None
    assert first.step is RenewalStep.ANSWER
    assert responder.received(OFFER, 2.0) == first
    assert made.made == 1
    with pytest.raises(ProtocolError):
        responder.received(RenewalFrame(RenewalStep.OFFER, 1, bytes(32)), 3.0)


def test_the_offer_with_the_smaller_key_is_dropped() -> None:
    for yields in (False, True):
        side, _ = renewal(yields=yields)
        assert side.tick(IDLE_S + YIELD_S) is not None
        answer = side.received(OFFER, IDLE_S + YIELD_S)
        assert (answer is not None) is yields


def test_an_offer_is_repeated_and_given_up_in_the_end() -> None:
    side, _ = renewal()
    now, said = IDLE_S, 0
    while not side.has_failed:
        said += side.tick(now) is not None
        now += REPEAT_S
    assert said == TRIES_MAX
    assert now <= IDLE_S + RENEWAL_MAX_S + REPEAT_S


def test_a_responder_that_is_not_confirmed_gives_up_as_well() -> None:
    side, _ = renewal()
    now = 1.0
    assert side.received(OFFER, now) is not None
    while not side.has_failed:
        assert side.tick(now) is None
        now += REPEAT_S
    assert now <= 1.0 + RENEWAL_MAX_S + 2 * REPEAT_S


def test_no_key_is_kept_for_two_minutes_on_a_busy_link() -> None:
    assert BUSY_S + YIELD_S + RENEWAL_MAX_S + OVERLAP_S <= 120
    assert IDLE_S + YIELD_S + RENEWAL_MAX_S + OVERLAP_S <= 3600
    assert LIMIT_BYTES < 1 << 30
