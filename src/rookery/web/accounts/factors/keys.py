"""Keys for second factors, each derived from the master secret that all hubs of a database share.

Secrets of authenticator apps are sealed, recovery codes are hashed, challenges and the handles of
accounts are authenticated: each under a key of its own.
"""

import os
from hmac import compare_digest, digest

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rookery.identity.hkdf import expand, extract

NONCE_SIZE = 12
TAG_SIZE = 16


class FactorKeys:
    """All of them."""

    def __init__(self, master: bytes) -> None:
        extracted = extract(master)
        self._seal = AESGCM(expand(extracted, b"rookery totp secret"))
        self._recovery = expand(extracted, b"rookery recovery code")
        self._challenge = expand(extracted, b"rookery webauthn challenge")
        self._handle = expand(extracted, b"rookery webauthn user handle")

    def sealed(self, account: int, secret: bytes) -> bytes:
        """For the database; opens for this account only."""
        nonce = os.urandom(NONCE_SIZE)
        return nonce + self._seal.encrypt(nonce, secret, _name(account))

    def opened(self, account: int, sealed: bytes) -> bytes | None:
        """None if the database was tampered with, or restored with another master secret."""
        if len(sealed) < NONCE_SIZE + TAG_SIZE:
            return None
        nonce, rest = sealed[:NONCE_SIZE], sealed[NONCE_SIZE:]
        try:
            return self._seal.decrypt(nonce, rest, _name(account))
        except InvalidTag:
            return None

    def recovery_hash(self, account: int, code: str) -> bytes:
        return digest(self._recovery, _name(account) + code.encode(), "sha256")

    def challenge_tag(self, text: bytes) -> bytes:
        return digest(self._challenge, text, "sha256")

    def user_handle(self, account: int) -> bytes:
        """An opaque id of the account for authenticators."""
        return digest(self._handle, _name(account), "sha256")

    def is_handle_of(self, account: int, handle: bytes) -> bool:
        return compare_digest(self.user_handle(account), handle)


def _name(account: int) -> bytes:
    return account.to_bytes(8, "big")
