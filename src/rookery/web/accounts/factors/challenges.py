"""Stateless WebAuthn challenges: nothing is stored until one was answered correctly.

    | nonce 16 | expires 8 | tag 16 |  tag = HMAC(purpose, binding, nonce, expires)

So unauthenticated requests fill no table, and every hub of a database accepts the others'
challenges. The binding is the session, or a cookie of a browser that has none yet. The hash of an
answered challenge is stored until it expires, so that it is accepted once.
"""

import struct
from hashlib import sha256
from hmac import compare_digest
from typing import Literal

from rookery.errors import AuthenticationError
from rookery.web.accounts.factors.keys import FactorKeys

GOOD_S = 300
SIZE = 40

Purpose = Literal["register", "sign in", "prove"]

_HEAD = struct.Struct(">16sQ")


def issue(keys: FactorKeys, purpose: Purpose, binding: bytes, nonce: bytes, now: float) -> bytes:
    """One more."""
    head = _HEAD.pack(nonce, int(now) + GOOD_S)
    return head + _tag(keys, purpose, binding, head)


def check(
    keys: FactorKeys, challenge: bytes, purpose: Purpose, binding: bytes, now: float
) -> float:
    """Until when it is good; AuthenticationError if it was not issued for this, or has expired."""
    head, tag = challenge[: _HEAD.size], challenge[_HEAD.size :]
    is_ours = len(challenge) == SIZE and compare_digest(tag, _tag(keys, purpose, binding, head))
    if not is_ours:
        raise AuthenticationError("this answers no challenge of ours, or one for another session")
    _, expires = _HEAD.unpack(head)
    if not now < expires <= now + GOOD_S + 1:
        raise AuthenticationError("this answers a challenge that has expired; try again")
    return float(expires)


def used_hash(challenge: bytes) -> bytes:
    """What is kept of one that was answered."""
    return sha256(challenge).digest()


def _tag(keys: FactorKeys, purpose: Purpose, binding: bytes, head: bytes) -> bytes:
    named = purpose.encode().ljust(16) + sha256(binding).digest()
    return keys.challenge_tag(named + head)[:16]
