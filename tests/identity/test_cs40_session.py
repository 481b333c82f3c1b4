"""Renewed keys of cipher set 40: by its vectors, and by what may happen on the way."""

import random

import pytest

from rookery.errors import AuthenticationError, CongestionError, DecodeError, ProtocolError
from rookery.identity.cipher_set import KeyRenewal
from rookery.identity.cs40 import NO_AES, RENEWS
from rookery.identity.cs40_session import EARLIER_MAX, NUMBER_BITS, Session40
from rookery.wire.link.renewal import RenewalStep
from tests.identity.test_cs40 import VECTORS, Party, drawing, exchange

CHANCE = random.Random(41).randbytes
TOKEN = bytes(16)
NAMES = ("alice", "bob")
FLAGS = {"aes-256-gcm": RENEWS, "chacha20-poly1305": RENEWS | NO_AES}


def party(name: str) -> Party:
    return VECTORS.parties(name)[0]


def sessions(alice_flags: int = RENEWS, bob_flags: int = RENEWS) -> dict[str, Session40]:
    """Those of both ends, with the ephemerals of the vectors."""
    flags, found = {"alice": alice_flags, "bob": bob_flags}, {}
    for name in NAMES:
        own, peer = VECTORS.parties(name)
        other = "bob" if name == "alice" else "alice"
        opened = own.local().open(VECTORS.message(other, flags[other]))
        session = exchange(own, peer, flags[name]).session(opened)
        assert isinstance(session, Session40)
        found[name] = session
    return found


def keys(session: Session40) -> KeyRenewal:
    assert session.renewal is not None
    return session.renewal


def renew(ends: dict[str, Session40], initiator: str = "alice") -> None:
    """All four steps, of which the last two are packets that were opened."""
    first = ends[initiator]
    second = ends["bob" if initiator == "alice" else "alice"]
    keys(first).adopt(keys(second).answer(keys(first).offer(CHANCE), CHANCE))
    second.open(TOKEN, first.seal(TOKEN, b"confirm"))
    keys(second).confirm()
    first.open(TOKEN, second.seal(TOKEN, b"done"))


@pytest.mark.parametrize("aead", FLAGS)
def test_keys_are_renewed_as_the_vectors_say(aead: str) -> None:
    ends = sessions(FLAGS[aead], FLAGS[aead])
    for case in (each for each in VECTORS.renewals if each.aead == aead):
        first = ends[case.initiator]
        second = ends["bob" if case.initiator == "alice" else "alice"]
        offer, answer, confirm, done = (frame.parse() for frame in case.frames)
        assert [frame.step for frame in (offer, answer, confirm, done)] == list(RenewalStep)
        assert {frame.phase for frame in (offer, answer, confirm, done)} == {case.phase}
        assert keys(first).offer(drawing(case.offer_secret)) == offer.ephemeral
        answered = keys(second).answer(offer.ephemeral, drawing(case.answer_secret))
        assert answered == answer.ephemeral
        keys(first).adopt(answered)
        for name, sender, receiver in (("", first, second), ("confirmed", second, first)):
            if name:
                keys(second).confirm()
            sealed = case.sealed["alice" if sender is ends["alice"] else "bob"]
            token = bytes.fromhex(party("bob" if sender is ends["alice"] else "alice").token)
            for packet in sealed.packets:
                part = sender.seal(token, bytes.fromhex(packet.inner))
                assert part.hex() == packet.part
                assert receiver.open(token, part).hex() == packet.inner
        assert keys(first).phase == keys(second).phase == case.phase
        assert keys(first).is_met
        assert keys(second).is_met


@pytest.mark.parametrize("flags", [(0, 0), (RENEWS, 0), (0, RENEWS)])
def test_both_ends_must_say_that_they_renew_keys(flags: tuple[int, int]) -> None:
    """T1: the first keys are the same, whatever the flags say of renewal."""
    ends = sessions(*flags)
    assert ends["alice"].renewal is None
    assert ends["bob"].renewal is None
    assert ends["bob"].open(TOKEN, ends["alice"].seal(TOKEN, b"inner")) == b"inner"


def test_what_was_sealed_under_old_keys_is_opened_after_new_ones_are_in_use() -> None:
    ends = sessions()
    late = [ends[name].seal(TOKEN, b"late") for name in NAMES]
    renew(ends)
    newer = [ends[name].seal(TOKEN, b"newer") for name in NAMES]
    renew(ends, "bob")
    for other, parts in zip(("bob", "alice"), zip(late, newer, strict=True), strict=True):
        for part, inner in zip(parts, (b"late", b"newer"), strict=True):
            assert ends[other].open(TOKEN, part) == inner
            with pytest.raises(AuthenticationError):  # and just once
                ends[other].open(TOKEN, part)


def test_retired_keys_open_nothing() -> None:
    ends = sessions()
    late = ends["alice"].seal(TOKEN, b"late")
    renew(ends)
    keys(ends["bob"]).retire(0)
    with pytest.raises(AuthenticationError):
        ends["bob"].open(TOKEN, late)


def test_few_old_keys_are_kept_however_fast_new_ones_come() -> None:
    ends = sessions()
    late = []
    for _ in range(EARLIER_MAX + 2):
        late.append(ends["alice"].seal(TOKEN, b"late"))
        renew(ends)
    for part in late[:2]:
        with pytest.raises(AuthenticationError):
            ends["bob"].open(TOKEN, part)
    for part in late[2:]:
        assert ends["bob"].open(TOKEN, part) == b"late"


def test_packets_of_a_phase_that_was_not_agreed_on_are_refused() -> None:
    ends = sessions()
    part = ends["alice"].seal(TOKEN, b"inner")
    forged = (1 << NUMBER_BITS).to_bytes(8, "big") + part[8:]
    with pytest.raises(AuthenticationError):
        ends["bob"].open(TOKEN, forged)
    keys(ends["bob"]).answer(keys(ends["alice"]).offer(CHANCE), CHANCE)
    with pytest.raises(AuthenticationError):
        ends["bob"].open(TOKEN, forged)
    assert ends["bob"].open(TOKEN, part) == b"inner"


def test_a_peer_without_renewal_may_count_beyond_a_phase() -> None:
    ends = sessions(0, 0)
    for _ in range(100):
        ends["alice"].leap(CHANCE)
    part = ends["alice"].seal(TOKEN, b"inner")
    assert int.from_bytes(part[:8], "big") > 1 << NUMBER_BITS
    assert ends["bob"].open(TOKEN, part) == b"inner"


def test_an_answer_of_small_order_or_with_our_own_ephemeral_changes_nothing() -> None:
    ends = sessions()
    offered = keys(ends["alice"]).offer(CHANCE)
    with pytest.raises(DecodeError):
        keys(ends["alice"]).adopt(bytes(32))
    with pytest.raises(ProtocolError):
        keys(ends["alice"]).adopt(offered)
    with pytest.raises(DecodeError):
        keys(ends["bob"]).answer(bytes(32), CHANCE)
    renew(ends)
    assert keys(ends["alice"]).is_met


def test_keys_are_not_confirmed_by_words_alone() -> None:
    """The responder would seal what nobody opens."""
    ends = sessions()
    keys(ends["bob"]).answer(keys(ends["alice"]).offer(CHANCE), CHANCE)
    with pytest.raises(ProtocolError):
        keys(ends["bob"]).confirm()
    assert keys(ends["bob"]).phase == 0


def test_the_keys_of_phase_0_cannot_be_made_again_after_a_renewal() -> None:
    """T1: who takes the memory of a process later reads nothing that was sent before."""
    own, peer = VECTORS.parties("alice")
    opened = own.local().open(VECTORS.message("bob", RENEWS))
    cipher = exchange(own, peer, RENEWS)
    alice, bob = cipher.session(opened), sessions()["bob"]
    assert isinstance(alice, Session40)
    renew({"alice": alice, "bob": bob})
    other = own.local().open(peer.local(RENEWS).exchange(bytes.fromhex(own.key), CHANCE).seal(b""))
    with pytest.raises(ProtocolError):
        cipher.session(other)


def test_a_copy_that_leaps_uses_no_counter_of_the_one_it_was_copied_from() -> None:
    """T1: both seal under the same key; the same nonce twice would tell both texts."""
    original, copy = (sessions()["alice"] for _ in range(2))
    copy.leap(CHANCE)
    used = {original.seal(TOKEN, b"one")[:8] for _ in range(1000)}
    again = {copy.seal(TOKEN, b"another")[:8] for _ in range(1000)}
    assert len(used | again) == 2000
    assert max(used) < min(again)


def test_a_copy_made_amid_a_renewal_leaps_under_the_next_keys_too() -> None:
    bob = sessions()["bob"]
    parts: list[tuple[bytes, bytes, bytes]] = []
    for is_copy in (False, True):
        alice = sessions()["alice"]
        offered = keys(alice).offer(random.Random(7).randbytes)  # the same in both
        if is_copy:
            alice.leap(CHANCE)
            answered = parts[0][0]
        else:
            answered = keys(bob).answer(offered, CHANCE)
        keys(alice).adopt(answered)
        parts.append((answered, alice.seal(TOKEN, b"inner"), alice.seal(TOKEN, b"inner")))
    counters = [part[:8] for each in parts for part in each[1:]]
    assert len(set(counters)) == 4
    assert [bob.open(TOKEN, part) for each in parts for part in each[1:]] == [b"inner"] * 4


def test_a_phase_has_room_for_a_few_leaps_only_and_says_so() -> None:
    session = sessions()["alice"]

    def leap_on() -> None:
        for _ in range(1 << 8):
            session.leap(CHANCE)

    with pytest.raises(CongestionError):
        leap_on()
    part = session.seal(TOKEN, b"inner")
    assert int.from_bytes(part[:8], "big") < 1 << NUMBER_BITS
    assert sessions()["bob"].open(TOKEN, part) == b"inner"
