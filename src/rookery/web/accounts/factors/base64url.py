"""base64url without padding (RFC 4648, 5), as WebAuthn has it in JSON."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from rookery.errors import DecodeError

_TEXT = re.compile(r"[A-Za-z0-9_-]*")


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """DecodeError for what is none, or is not written as `encode` writes it."""
    if _TEXT.fullmatch(text) is None or len(text) % 4 == 1:
        raise DecodeError("this is no base64url")
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encode(data) != text:
        raise DecodeError("this is no base64url in its one form")
    return data
