"""Invitations: what an inviter remembers of those it gave out, and who may redeem one.

An invitation is good for one endpoint, until it expires or is withdrawn. Only a digest of its
secret is kept. Whoever redeemed it may ask again with the same keys: the answer may have been lost.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from hmac import compare_digest

import msgspec

from rookery.errors import CongestionError, ProtocolError, UsageError
from rookery.link.token_bucket import TokenBucket

INVITATIONS_MAX = 256
REFUSALS_MAX = 8
ID_SIZE = 4

_LABEL = b"rookery invitation"

UNKNOWN = "this invitation is not known here"
EXPIRED = "this invitation has expired"
USED = "this invitation has been used"
WITHDRAWN = "this invitation was withdrawn"
REVOKED = "this membership was revoked after the invitation was made"
TOO_MANY = "too many attempts, try again later"


class InvitationRedemption(msgspec.Struct, frozen=True):
    """The endpoint that redeemed an invitation, and the certificate it got."""

    hashname: str
    at_s: int
    certificate: bytes


class RejectedRedemption(msgspec.Struct, frozen=True):
    """An attempt with a valid secret that came too late: a thief's, or a thief came first."""

    hashname: str
    at_s: int
    reason: str


class IssuedInvitation(msgspec.Struct, frozen=True):
    """One issued invitation."""

    digest: bytes  # of the secret
    roles: frozenset[str]
    name: str  # of the member to be; empty: as it likes
    made_s: int
    expires_s: int
    member_s: int  # how long the membership lasts
    spent: InvitationRedemption | None = None
    withdrawn_s: int | None = None
    refused: tuple[RejectedRedemption, ...] = ()  # the last ones

    @property
    def id(self) -> str:
        """A short name for people; it reveals nothing of the secret."""
        return self.digest[:ID_SIZE].hex()

    def state(self, unix_s: float) -> str:
        if self.spent is not None:
            return "used"
        if self.withdrawn_s is not None:
            return "withdrawn"
        return "open" if unix_s < self.expires_s else "expired"


class IssuedInvitations:
    """The invitations that one inviter issued and still remembers, oldest first."""

    def __init__(self, invited: Iterable[IssuedInvitation] = ()) -> None:
        self._invited = {one.digest: one for one in invited}

    def __iter__(self) -> Iterator[IssuedInvitation]:
        return iter(self._invited.values())

    def is_any_open(self, unix_s: float) -> bool:
        return any(one.state(unix_s) == "open" for one in self)

    def add(self, invited: IssuedInvitation, unix_s: float) -> None:
        """Remember an invitation; closed ones make room, open ones never do."""
        if len(self._invited) >= INVITATIONS_MAX:
            over = next((one for one in self if one.state(unix_s) != "open"), None)
            if over is None:
                raise CongestionError(f"{INVITATIONS_MAX} invitations are open; withdraw some")
            del self._invited[over.digest]
        self._invited[invited.digest] = invited

    def find(
        self, secret: bytes, hashname: str, unix_s: float, revoked_s: int | None = None
    ) -> IssuedInvitation:
        """The invitation `hashname` may redeem by this secret; ProtocolError says why not.

        `revoked_s`: when a membership of `hashname` was revoked last. Refusing one that was given
        out is noted: its owner will want to know.
        """
        digest = secret_digest(secret)
        found = None
        for one in self:
            # Each is looked at, so that time tells nothing of which, or whether any, it was.
            if compare_digest(one.digest, digest):
                found = one
        if found is None:
            raise ProtocolError(UNKNOWN)
        if reason := _objection(found, hashname, unix_s, revoked_s):
            refusals = (*found.refused, RejectedRedemption(hashname, int(unix_s), reason))[
                -REFUSALS_MAX:
            ]
            self._invited[digest] = msgspec.structs.replace(found, refused=refusals)
            raise ProtocolError(reason)
        return found

    def spend(self, invited: IssuedInvitation, spent: InvitationRedemption) -> None:
        self._invited[invited.digest] = msgspec.structs.replace(invited, spent=spent)

    def withdraw(self, id_: str, unix_s: float) -> IssuedInvitation:
        """Withdraw it, so that it cannot be redeemed; UsageError unless it is open."""
        matching = [one for one in self if one.id == id_]
        if len(matching) != 1:
            raise UsageError(f"there is no invitation {id_!r}")
        (one,) = matching
        if one.state(unix_s) != "open":
            raise UsageError(f"invitation {id_} is {one.state(unix_s)}")
        withdrawn = msgspec.structs.replace(one, withdrawn_s=int(unix_s))
        self._invited[one.digest] = withdrawn
        return withdrawn


class RedemptionAttempts:
    """How often one endpoint, and all of them, may try to redeem."""

    OWN_RATE, OWN_BURST = 1 / 60, 5.0
    ALL_RATE, ALL_BURST = 20.0, 100.0
    REMEMBERED_MAX = 1024

    def __init__(self, now: float) -> None:
        self._all = TokenBucket(self.ALL_RATE, self.ALL_BURST, now)
        self._own: OrderedDict[str, TokenBucket] = OrderedDict()

    def begin(self, hashname: str, now: float) -> None:
        """ProtocolError above the rate limit."""
        own = self._own.get(hashname)
        if own is None:
            own = self._own[hashname] = TokenBucket(self.OWN_RATE, self.OWN_BURST, now)
        self._own.move_to_end(hashname)
        if len(self._own) > self.REMEMBERED_MAX:
            self._own.popitem(last=False)
        if not own.take(1, now) or not self._all.take(1, now):
            raise ProtocolError(TOO_MANY)


def _objection(
    invited: IssuedInvitation, hashname: str, unix_s: float, revoked_s: int | None
) -> str | None:
    if invited.spent is not None and invited.spent.hashname != hashname:
        return USED
    if invited.withdrawn_s is not None:
        return WITHDRAWN
    if revoked_s is not None and invited.made_s <= revoked_s:
        return REVOKED
    return EXPIRED if unix_s >= invited.expires_s else None


def secret_digest(secret: bytes) -> bytes:
    return sha256(_LABEL + secret).digest()
