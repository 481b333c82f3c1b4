"""A listener's TLS whose certificate can be replaced while it listens.

Each handshake is moved to the context that is the newest then: a renewed certificate counts from
the next connection on, those that are open go on, and a file that cannot be used replaces nothing.
"""

import ssl
from pathlib import Path

from rookery.errors import UsageError

_NONE_YET = ssl.ALERT_DESCRIPTION_INTERNAL_ERROR


class LiveContext:
    """`context` is for the listener; without a certificate handshakes fail."""

    def __init__(self) -> None:
        self.context = _context()
        self.context.sni_callback = self._choose
        self._newest: ssl.SSLContext | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate to show."""
        return self._newest is not None

    def load(self, chain: Path, key: Path | None = None) -> None:
        """From now on show this one; UsageError, and the one before stays, when it is no good."""
        newest = _context()
        try:
            newest.load_cert_chain(chain, key, password=_no_password)
        except ssl.SSLError as error:
            why = error.reason or str(error)
            files = chain if key is None else f"{chain} and {key}"
            raise UsageError(f"{files} are no certificate with its key ({why})") from error
        except (OSError, ValueError) as error:
            files = chain if key is None else f"{chain} or {key}"
            raise UsageError(f"cannot read a certificate from {files}: {error}") from error
        self._newest = newest

    def _choose(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._newest is None:
            return _NONE_YET
        connection.context = self._newest
        return None


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_password() -> str:
    """OpenSSL would ask at the terminal."""
    raise ValueError("the key is encrypted; give it without a password")
