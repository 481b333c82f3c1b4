"""Codes of authenticator apps (RFC 6238): six digits of HMAC-SHA-1 over half minutes, counted.

A code is valid for its own half minute and its two neighbours, as clocks differ, and for one use:
`matching_step` refuses a step at or before the last accepted one.
"""

import hmac
from base64 import b32encode
from urllib.parse import quote, urlencode

STEP_S = 30
DIGITS = 6
SECRET_SIZE = 20  # that of SHA-1's digest, as RFC 4226 recommends
STEPS_ASIDE = 1


def step_of(now: float) -> int:
    """The half minute that a moment is in."""
    return int(now // STEP_S)


def code_at(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """The code of a half minute (RFC 4226, 5.3)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**digits:0{digits}d}"


def matching_step(secret: bytes, code: str, now: float, last: int) -> int | None:
    """The half minute that the code is of; None if it is of none that may be used now."""
    typed, found, present = code.encode(errors="replace"), None, step_of(now)
    for step in range(max(0, present - STEPS_ASIDE), present + STEPS_ASIDE + 1):
        is_same = hmac.compare_digest(code_at(secret, step).encode(), typed)
        if is_same and step > last:
            found = step
    return found


def is_code(text: str) -> bool:
    """Whether it has the form of one."""
    return len(text) == DIGITS and text.isascii() and text.isdigit()


def secret_text(secret: bytes) -> str:
    """As people type it into an app that cannot see the QR code."""
    return b32encode(secret).decode().rstrip("=")


def otpauth_uri(secret: bytes, issuer: str, login: str) -> str:
    """What the QR code holds; every app reads this form."""
    label = quote(f"{issuer}:{login}", safe="")
    fields = {"secret": secret_text(secret), "issuer": issuer}
    return f"otpauth://totp/{label}?{urlencode(fields, quote_via=quote)}"  # no app reads + as space
