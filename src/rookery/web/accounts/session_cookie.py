"""The cookie that holds a session's key: 256 random bits, of which the database has the hash."""

import secrets
from hashlib import sha256

from litestar.datastructures import Cookie

from rookery.web.http.request import Connection

NAME = "rookery_session"
SECURE_NAME = "__Host-rookery_session"  # browsers take such a name only with Secure and Path=/
_KEY_BYTES = 32
_KEY_CHARACTERS = 43


def new_key() -> str:
    """An unguessable key for a session or an API token."""
    return secrets.token_urlsafe(_KEY_BYTES)


def key_hash(key: str) -> bytes:
    """What is kept of a key. It is random, so a plain hash cannot be reversed by guessing."""
    return sha256(key.encode(errors="replace")).digest()


def session_cookie(key: str, seconds: int, *, is_https: bool) -> Cookie:
    """The cookie to set; an empty key with 0 seconds removes it."""
    return Cookie(
        key=SECURE_NAME if is_https else NAME,
        value=key,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_https,
        max_age=seconds,
    )


def session_key(connection: Connection, *, is_https: bool) -> str | None:
    """The key that the browser sent, if it can be one."""
    key = connection.cookies.get(SECURE_NAME if is_https else NAME)
    return key if key is not None and len(key) == _KEY_CHARACTERS else None
