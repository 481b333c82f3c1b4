"""The `at` table of an exchange, row by row."""

from random import Random

import pytest

from rookery.errors import AuthenticationError, ProtocolError
from rookery.identity.cipher_set import OpenedMessage, routing_token
from rookery.identity.identity import Identity
from rookery.link.session.exchange import Exchange, HandshakeVerdict
from rookery.link.session.handshake import Handshake
from rookery.wire.link.lob import Packet

RANDOM = Random(1).randbytes
CSID = 0x40
TWO = sorted((Identity.generate((CSID,), RANDOM) for _ in range(2)), key=lambda one: one.keys[CSID])
EVEN, ODD = TWO  # the larger key is odd
STRANGER = Identity.generate((CSID,), RANDOM)


def exchange(own: Identity, peer: Identity, at: int, confirmed: int = 0) -> Exchange:
    return Exchange(
        own.local[CSID],
        own.intermediates(CSID),
        peer.keys[CSID],
        at=at,
        random=RANDOM,
        confirmed=confirmed,
    )


def opened(data: bytes, by: Identity) -> tuple[OpenedMessage, Handshake]:
    message = by.local[CSID].open(Packet.parse(data).body)
    return message, Handshake.parse_inner(CSID, message.inner)


def deliver(source: Exchange, target: Exchange, to: Identity) -> HandshakeVerdict:
    return target.receive(*opened(source.handshake(), to))


def channel_body(data: bytes) -> bytes:
    assert data[:2] == b"\x00\x00"
    return data[2:]


def agreed(at: int = 100) -> tuple[Exchange, Exchange]:
    """Both sides after a first round that the odd one began."""
    odd, even = exchange(ODD, EVEN, at), exchange(EVEN, ODD, at - 50)
    assert deliver(odd, even, EVEN) is HandshakeVerdict.NEWER
    assert deliver(even, odd, ODD) is HandshakeVerdict.IN_SYNC
    return odd, even


def test_each_side_originates_its_own_parity() -> None:
    for at in (10, 11):
        assert exchange(ODD, EVEN, at).at & 1 == 1
        assert exchange(EVEN, ODD, at).at & 1 == 0


def test_a_handshake_sealed_anew_says_the_same_in_other_bytes() -> None:
    """A JavaScript router drops what it has relayed before."""
    odd = exchange(ODD, EVEN, 100)
    first = odd.handshake()
    assert odd.handshake() == first
    odd.seal_anew()
    assert odd.handshake() != first
    (before, said), (after, repeated) = opened(first, EVEN), opened(odd.handshake(), EVEN)
    assert (said, routing_token(before.body)) == (repeated, routing_token(after.body))


def test_at_only_grows() -> None:
    odd = exchange(ODD, EVEN, 100)
    seen = [odd.at]
    for at in (50, 101, 7, 500, 500):
        odd.originate(at)
        seen.append(odd.at)
    assert seen == sorted(set(seen))
    assert seen[-2] >= 500


def test_a_handshake_is_the_same_bytes_until_at_moves() -> None:
    odd = exchange(ODD, EVEN, 100)
    assert odd.handshake() == odd.handshake()
    before = odd.handshake()
    odd.originate(200)
    assert odd.handshake() != before


def test_a_newer_at_is_adopted_and_echoed() -> None:
    """T2."""
    odd, even = agreed()
    assert odd.at == even.at == 101
    assert odd.is_synchronised
    assert even.is_synchronised


def test_both_sides_then_share_keys() -> None:
    """T2."""
    odd, even = agreed()
    assert even.open(channel_body(odd.seal(b"hello"))) == b"hello"
    assert odd.open(channel_body(even.seal(b"hi"))) == b"hi"
    assert odd.token == even.peer_token
    assert even.token == odd.peer_token


def test_the_same_at_again_is_in_sync() -> None:
    odd, even = agreed()
    session = odd.session
    assert deliver(even, odd, ODD) is HandshakeVerdict.IN_SYNC
    assert odd.session is session


def test_a_newer_at_of_our_own_parity_is_refused() -> None:
    """T2: only we make those, so somebody plays with them."""
    even = exchange(EVEN, ODD, 100)
    forged = Handshake(CSID, ODD.keys[CSID], {}, 1002)
    cipher = ODD.local[CSID].exchange(EVEN.keys[CSID], RANDOM)
    message = EVEN.local[CSID].open(cipher.seal(forged.inner()))
    with pytest.raises(ProtocolError):
        even.receive(message, forged)
    assert even.session is None


def test_an_old_handshake_changes_nothing() -> None:
    """T2: a replay cannot bring an old ephemeral back."""
    odd, even = agreed()
    old = odd.handshake()
    restarted = exchange(ODD, EVEN, 1000)
    assert deliver(restarted, even, EVEN) is HandshakeVerdict.NEWER
    token, at = even.peer_token, even.at
    assert even.receive(*opened(old, EVEN)) is HandshakeVerdict.STALE
    assert (even.peer_token, even.at) == (token, at)


def test_a_replay_of_the_last_value_cannot_bring_its_old_ephemeral_back() -> None:
    """T2: not even when the peer restarted with the very same `at`."""
    _, even = agreed(101)
    twin = exchange(ODD, EVEN, 101)
    assert twin.at == even.at
    before = even.peer_token
    assert deliver(twin, even, EVEN) is HandshakeVerdict.STALE
    assert even.peer_token == before


def test_a_restarted_peer_gets_in_with_a_newer_at() -> None:
    """T2: new ephemeral, new keys."""
    _, even = agreed()
    session = even.session
    restarted = exchange(ODD, EVEN, 500)
    assert deliver(restarted, even, EVEN) is HandshakeVerdict.NEWER
    assert deliver(even, restarted, ODD) is HandshakeVerdict.IN_SYNC
    assert even.session is not session
    assert even.open(channel_body(restarted.seal(b"anew"))) == b"anew"


def test_a_peer_that_lost_its_clock_gets_in_by_echoing_a_fresh_value() -> None:
    """T2."""
    odd, _ = agreed(1000)
    restarted = exchange(EVEN, ODD, 3)
    assert deliver(restarted, odd, ODD) is HandshakeVerdict.STALE
    odd.originate(1001)  # what the link does for it
    assert deliver(odd, restarted, EVEN) is HandshakeVerdict.NEWER
    assert deliver(restarted, odd, ODD) is HandshakeVerdict.IN_SYNC
    assert odd.open(channel_body(restarted.seal(b"here again"))) == b"here again"


def test_a_renewed_exchange_remembers_what_was_confirmed() -> None:
    """T2: a replay must not get into the exchange after the next."""
    odd, even = agreed()
    old = odd.handshake()
    renewed = exchange(EVEN, ODD, even.at, confirmed=even.confirmed)
    renewed.at = even.at
    assert renewed.receive(*opened(old, EVEN)) is HandshakeVerdict.STALE
    assert renewed.session is None


def test_another_peers_handshake_proves_nothing() -> None:
    """T1, T2."""
    even = exchange(EVEN, ODD, 100)
    impostor = exchange(STRANGER, EVEN, 1001)
    with pytest.raises(AuthenticationError):
        even.receive(*opened(impostor.handshake(), EVEN))
    assert even.session is None


def test_an_ephemeral_of_small_order_is_refused() -> None:
    """T2: its secret would be known to all."""
    odd, even = exchange(ODD, EVEN, 101), exchange(EVEN, ODD, 10)
    message, handshake = opened(odd.handshake(), EVEN)
    poisoned = OpenedMessage(message.inner, message.body, bytes(32), message.proof)
    with pytest.raises(AuthenticationError):
        even.receive(poisoned, handshake)
    assert even.session is None
    assert even.at == 10


def test_no_channel_packet_is_opened_before_the_handshake() -> None:
    with pytest.raises(ProtocolError):
        exchange(ODD, EVEN, 1).open(bytes(60))


def test_a_channel_packet_counts_once() -> None:
    """T2."""
    odd, even = agreed()
    packet = channel_body(odd.seal(b"once"))
    even.open(packet)
    with pytest.raises(AuthenticationError):
        even.open(packet)
    damaged = bytearray(channel_body(odd.seal(b"whole")))
    damaged[-1] ^= 1
    with pytest.raises(AuthenticationError):
        even.open(bytes(damaged))
