"""Secrets of senders, and what is proved with them; BLAKE2s throughout.

    master ── sender, hashname, generation ──▶ secret ── tag, value ──▶ proof
                                                        └────────────▶ claim code
    code ──▶ code key ── hello ──▶ code proof
         (first 8 bytes: code id)

Secrets are derived, so the hub keeps none of them: docs/protocol/fleet.md, *Secrets*.
"""

from hashlib import blake2s
from hmac import compare_digest
from struct import Struct
from typing import Final

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.wire import base32

MASTER_SIZE: Final = 32
PROOF_SIZE: Final = 16
CODE_ID_SIZE: Final = 8

_SECRET_PERSON: Final = b"rkSecret"
_PROOF_PERSON: Final = b"rkProof"
_CODE_PERSON: Final = b"rkCode"
_CODE_SIZE: Final = 10
_CODE_CHARACTERS: Final = 16
_CLAIM_CHARACTERS: Final = 10
_GENERATION: Final = Struct(">I")
_SEPARATORS: Final = str.maketrans("", "", "- \t")
# 48-bit ids of one vendor differ in their last bits only; the product spreads them evenly.
_SPREAD: Final = 0x9E3779B97F4A7C15
_SPREAD_BITS: Final = 64


def derive(master: bytes, sender: bytes, raw_hashname: bytes, generation: int) -> bytes:
    """The secret of one sender's generation."""
    message = sender + raw_hashname + _GENERATION.pack(generation)
    return blake2s(message, key=master, person=_SECRET_PERSON).digest()


def generation(sender: bytes, now: float, renewal_s: int) -> int:
    """The newest generation at that wall time: the second from which it is given out.

    Being a time, it only grows when the renewal is set to something else. Each sender has its
    own phase, so that a fleet is not renewed all at once.
    """
    product = int.from_bytes(sender, "big") * _SPREAD & ((1 << _SPREAD_BITS) - 1)
    phase = product * renewal_s >> _SPREAD_BITS
    second = min(max(0, int(now)), 0xFFFF_FFFF)
    return max(0, second - (second - phase) % renewal_s)


def prove(secret: bytes, proved: bytes) -> bytes:
    """The proof over a tag and its value, the latter without the proof."""
    return blake2s(proved, digest_size=PROOF_SIZE, key=secret, person=_PROOF_PERSON).digest()


def prover(secret: bytes) -> blake2s:
    """A keyed hash that makes the secret's proofs; reusing it saves a third of the cost."""
    return blake2s(digest_size=PROOF_SIZE, key=secret, person=_PROOF_PERSON)


def prove_by(prover: blake2s, proved: bytes) -> bytes:
    """The same as `prove`."""
    hashed = prover.copy()
    hashed.update(proved)
    return hashed.digest()


def is_proved(secret: bytes, proved: bytes, proof: bytes) -> bool:
    """Whether the holder of `secret` made the proof."""
    return compare_digest(prove(secret, proved), proof)


def new_code(random: RandomBytes) -> str:
    """A code to enrol with, as people see it: `ABCD-EFGH-IJKL-MNOP`."""
    text = base32.encode(random(_CODE_SIZE)).upper()
    return "-".join(text[at : at + 4] for at in range(0, _CODE_CHARACTERS, 4))


def code_key(code: str) -> bytes:
    """What a database may keep of a code; UsageError for what cannot be one."""
    text = code.translate(_SEPARATORS).lower()
    try:
        raw = base32.decode(text)
    except DecodeError as error:
        raise UsageError(f"this is no code: {error}") from error
    if len(raw) != _CODE_SIZE:
        raise UsageError(f"a code has {_CODE_CHARACTERS} letters and digits, not {len(text)}")
    return blake2s(raw, person=_CODE_PERSON).digest()


def code_id(key: bytes) -> bytes:
    """The id by which the hub finds the code of a hello."""
    return key[:CODE_ID_SIZE]


def prove_code(key: bytes, hello: bytes) -> bytes:
    """The code proof of a hello; `hello` is what comes before it."""
    return blake2s(hello, digest_size=PROOF_SIZE, key=key, person=_CODE_PERSON).digest()


def is_code_proved(key: bytes, hello: bytes, proof: bytes) -> bool:
    return compare_digest(prove_code(key, hello), proof)


def claim_code(secret: bytes) -> str:
    """What the agent shows and its owner types into the hub's page."""
    text = base32.encode(blake2s(b"claim", key=secret).digest())
    return text[:_CLAIM_CHARACTERS].upper()


def is_claim_code(secret: bytes, typed: str) -> bool:
    """True if `typed` is the claim code of the secret; case does not matter."""
    text = typed.translate(_SEPARATORS).upper()
    return compare_digest(claim_code(secret).encode(), text.encode())
