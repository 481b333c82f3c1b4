import random
from collections.abc import Iterator

import pytest

from rookery.errors import CongestionError, DecodeError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.cs1a import CipherSet1a, Session1a

CHANCE = random.Random(0x1A).randbytes
# No y belongs to these x; the last is out of the field as well.
OFF_THE_CURVE = ["02" + "00" * 19 + "07", "02" + "ff" * 20]


@pytest.mark.parametrize("key", [*OFF_THE_CURVE, "04" + "00" * 20, "00" * 21])
def test_a_point_off_the_curve_is_refused_as_key_and_as_ephemeral(key: str) -> None:
    point = bytes.fromhex(key)
    local = CipherSet1a().load(CipherSet1a().generate(CHANCE))
    opened = local.open(local.exchange(local.key, CHANCE).seal(b""))
    with pytest.raises(DecodeError):
        CipherSet1a().check_key(point)
    with pytest.raises(DecodeError):
        local.exchange(point, CHANCE)
    with pytest.raises(DecodeError):
        local.verify(opened, point)
    with pytest.raises(DecodeError):
        local.open(point + opened.body[21:])


def test_a_zero_scalar_is_drawn_again_and_never_loaded() -> None:
    draws = iter([bytes(20), b"s" * 20])
    pair = CipherSet1a().generate(lambda size: next(draws))
    assert pair.secret == b"s" * 20
    with pytest.raises(DecodeError):
        CipherSet1a().load(KeyPair(pair.key, bytes(20)))


def test_ivs_count_up_little_endian_from_a_random_one_and_wrap() -> None:
    local = CipherSet1a().load(CipherSet1a().generate(CHANCE))
    draws = iter([b"s" * 20, b"\xff\xff\xff\xff"])
    ours = local.exchange(local.key, lambda size: next(draws))
    ivs = [ours.seal(b"")[21:25] for _ in range(3)]
    assert ivs == [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\1\0\0\0"]


def test_a_session_that_used_every_iv_stops() -> None:
    ivs: Iterator[bytes] = iter([b"only"])
    session = Session1a(bytes(16), bytes(16), ivs)
    assert session.open(b"", session.seal(b"", b"inner")) == b"inner"
    with pytest.raises(CongestionError):
        session.seal(b"", b"inner")
