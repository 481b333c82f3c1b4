"""F4: secrets, proofs, codes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import UsageError
from rookery.fleet.enrolment import secrets

MAC = bytes.fromhex("02fc00000001")
DAY = 86_400


@given(
    st.binary(min_size=6, max_size=6),
    st.integers(0, 2**32 - 1),
    st.integers(1, 10_000_000),
)
def test_the_generation_is_the_last_renewal_f4(sender: bytes, now: int, renewal_s: int) -> None:
    newest = secrets.generation(sender, now, renewal_s)
    assert newest == 0 or now - renewal_s < newest <= now
    later = min(newest + renewal_s, 2**32 - 1)
    assert secrets.generation(sender, later, renewal_s) >= newest
    assert secrets.generation(sender, newest, renewal_s) == newest


def test_a_longer_renewal_never_takes_a_generation_back_by_more_than_itself_f4() -> None:
    """Numbers that counted renewals would fall far below those already proved."""
    now = 1_800_000_000
    assert secrets.generation(MAC, now, 60) > now - 60
    assert secrets.generation(MAC, now + 2 * DAY, DAY) > now


def test_a_fleet_is_not_renewed_all_at_once_f4() -> None:
    macs = [b"\x02\xfc\x00" + number.to_bytes(3, "big") for number in range(1000)]
    hours = [secrets.generation(mac, 1_800_000_000, DAY) // 3600 for mac in macs]
    assert max(hours.count(hour) for hour in set(hours)) < 100


@pytest.mark.parametrize("now", [-5.0, 0.0, 2.0**40])
def test_a_clock_beyond_reason_still_has_a_generation(now: float) -> None:
    assert 0 <= secrets.generation(MAC, now, 60) < 2**32


def test_everything_in_a_secret_matters_f4() -> None:
    other = b"\x01" * 32
    made = {
        secrets.derive(bytes(32), MAC, bytes(32), 1),
        secrets.derive(bytes(32), MAC, bytes(32), 2),
        secrets.derive(bytes(32), MAC, other, 1),
        secrets.derive(bytes(32), other[:6], bytes(32), 1),
        secrets.derive(other, MAC, bytes(32), 1),
    }
    assert len(made) == 5


def test_a_proof_holds_for_one_secret_and_one_message_f4() -> None:
    proof = secrets.prove(bytes(32), b"message")
    assert secrets.is_proved(bytes(32), b"message", proof)
    assert not secrets.is_proved(bytes(32), b"massage", proof)
    assert not secrets.is_proved(b"\x01" * 32, b"message", proof)
    assert not secrets.is_proved(bytes(32), b"message", proof[:-1])


def test_a_new_code_can_be_typed_in_many_ways_f4() -> None:
    code = secrets.new_code(random.Random(1).randbytes)
    assert len(code) == 19
    assert code.count("-") == 3
    key = secrets.code_key(code)
    assert secrets.code_key(f" {code.lower().replace('-', ' ')} ") == key
    assert secrets.code_id(key) == key[:8]
    proof = secrets.prove_code(key, b"hello")
    assert secrets.is_code_proved(key, b"hello", proof)
    assert not secrets.is_code_proved(key, b"hallo", proof)


@pytest.mark.parametrize("code", ["", "ABCD", "ABCD-EFGH-IJKL-MNO0", "ABCD-EFGH-IJKL-MNOP-QRST"])
def test_what_cannot_be_a_code_is_the_users_mistake(code: str) -> None:
    with pytest.raises(UsageError):
        secrets.code_key(code)


def test_a_claim_code_is_recognised_however_it_was_typed_f4() -> None:
    code = secrets.claim_code(bytes(32))
    assert len(code) == 10
    assert secrets.is_claim_code(bytes(32), f" {code[:5].lower()}-{code[5:]} ")
    assert not secrets.is_claim_code(b"\x01" * 32, code)
    assert not secrets.is_claim_code(bytes(32), "ärger")
