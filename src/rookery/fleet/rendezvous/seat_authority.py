"""Seat authority: the credential and ownership that a seat relies on, and whether they hold.

    | credential                  | ownership                                          |
    | session or token of a login | the owner's claim; or none, for operators only     |

The hub makes it when a client asks for a device, and gives it to the server with the reservation.
While the seat is held the server shows it to whichever hub it reaches, and that hub looks anew
whether each part of it is still so. So no hub has to remember seats.
"""

import msgspec

from rookery.errors import DecodeError

OPERATORS = frozenset({"operator", "admin"})

SIGNED_OUT = "the session or token that it was opened with has ended"
NOT_OWNED = "the device is no longer this account's"
NOT_OPERATOR = "the account is no longer an operator's"
CLAIMED = "the device has been claimed by its owner"
FORGOTTEN = "the device is not known any more, or by another key"


class SeatAuthority(msgspec.Struct, frozen=True, array_like=True):
    """New fields are added behind the others."""

    credential: bytes  # hash of the session's key, or of the API token
    claimed_at: float | None  # of the ownership it relies on; None: the device had no owner

    def __repr__(self) -> str:
        return f"SeatAuthority(claimed_at={self.claimed_at})"


class CredentialBearer(msgspec.Struct, frozen=True):
    """The account that a credential stands for now."""

    account: int
    role: str


class DeviceOwner(msgspec.Struct, frozen=True):
    """A device's owner now."""

    account: int
    claimed_at: float


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(SeatAuthority)


def encode(authority: SeatAuthority) -> bytes:
    return _encode(authority)


def decode(data: bytes) -> SeatAuthority:
    """Read what `encode` wrote, or raise DecodeError."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DecodeError(f"not an authority: {error}") from error


def objection(
    authority: SeatAuthority,
    bearer: CredentialBearer | None,
    owned: DeviceOwner | None,
    *,
    is_bound: bool,
) -> str:
    """Why the seat is not allowed any more; empty while it is.

    `is_bound`: the device is still known by the key that it was reserved for.
    """
    if bearer is None:
        return SIGNED_OUT
    if not is_bound:
        return FORGOTTEN
    if authority.claimed_at is None:
        if owned is not None:
            return CLAIMED
        return "" if bearer.role in OPERATORS else NOT_OPERATOR
    is_own = owned == DeviceOwner(bearer.account, authority.claimed_at)
    return "" if is_own else NOT_OWNED
