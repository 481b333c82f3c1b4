"""Who may have a seat, and until when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.fleet.rendezvous import seat_authority as authorities
from rookery.fleet.rendezvous.seat_authority import (
    CredentialBearer,
    DeviceOwner,
    SeatAuthority,
    decode,
    encode,
    objection,
)

ANN, BOB = 1, 2
OWNERS, OPERATORS = SeatAuthority(b"credential", 12.5), SeatAuthority(b"credential", None)


def test_an_owner_may_as_long_as_the_device_is_theirs() -> None:
    ann = CredentialBearer(ANN, "user")
    assert objection(OWNERS, ann, DeviceOwner(ANN, 12.5), is_bound=True) == ""
    assert objection(OWNERS, ann, None, is_bound=True) == authorities.NOT_OWNED
    assert objection(OWNERS, ann, DeviceOwner(BOB, 12.5), is_bound=True) == authorities.NOT_OWNED


def test_a_device_that_was_released_and_claimed_again_is_asked_for_anew() -> None:
    ann = CredentialBearer(ANN, "user")
    assert objection(OWNERS, ann, DeviceOwner(ANN, 13.0), is_bound=True) == authorities.NOT_OWNED


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_operators_may_while_a_device_has_no_owner(role: str) -> None:
    operator = CredentialBearer(BOB, role)
    assert objection(OPERATORS, operator, None, is_bound=True) == ""
    assert (
        objection(OPERATORS, operator, DeviceOwner(ANN, 1.0), is_bound=True) == authorities.CLAIMED
    )
    assert (
        objection(OPERATORS, operator, DeviceOwner(BOB, 1.0), is_bound=True) == authorities.CLAIMED
    )


def test_an_operator_who_is_none_any_more_may_not() -> None:
    assert objection(OPERATORS, CredentialBearer(BOB, "user"), None, is_bound=True) == (
        authorities.NOT_OPERATOR
    )


@pytest.mark.parametrize("authority", [OWNERS, OPERATORS])
def test_without_its_session_or_token_nobody_may(authority: SeatAuthority) -> None:
    assert (
        objection(authority, None, DeviceOwner(ANN, 12.5), is_bound=True) == authorities.SIGNED_OUT
    )


@pytest.mark.parametrize("authority", [OWNERS, OPERATORS])
def test_a_device_that_was_forgotten_or_has_another_key_is_left(authority: SeatAuthority) -> None:
    bearer = CredentialBearer(ANN, "admin")
    assert (
        objection(authority, bearer, DeviceOwner(ANN, 12.5), is_bound=False)
        == authorities.FORGOTTEN
    )


@pytest.mark.parametrize("authority", [OWNERS, OPERATORS])
def test_an_authority_comes_back_as_it_went(authority: SeatAuthority) -> None:
    assert decode(encode(authority)) == authority
    assert "credential" not in repr(authority)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_decode_or_raise_decode_error(data: bytes) -> None:
    try:
        authority = decode(data)
    except DecodeError:
        return
    assert decode(encode(authority)) == authority or authority.claimed_at != authority.claimed_at


def test_what_is_no_authority_is_refused() -> None:
    with pytest.raises(DecodeError, match="not an authority"):
        decode(b"by what")
