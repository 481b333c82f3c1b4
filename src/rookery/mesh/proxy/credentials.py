"""Credentials: who may use a listener."""

import hmac

import msgspec


class ProxyCredentials(msgspec.Struct, frozen=True):
    """A user and a password, which no log gets to see."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"ProxyCredentials({self.user!r}, …)"

    def match(self, user: bytes, password: bytes) -> bool:
        # Both are compared, so that the time taken does not tell which one was wrong.
        same_user = hmac.compare_digest(user, self.user.encode())
        same_password = hmac.compare_digest(password, self.password.encode())
        return same_user and same_password
