"""TLS as a disguise around a stream: E3X inside it authenticates, so certificates need not.

The layer is sans-IO, between the bytes of the socket and the framing. asyncio's own TLS would keep
a connection from us until its handshake is over: not counted, not timed, not closed with the gate.
"""

import ssl
from pathlib import Path as FilePath

from rookery.errors import DecodeError, UsageError

_READ_SIZE = 1 << 16


def server_context(certificate: FilePath, key: FilePath) -> ssl.SSLContext:
    """For `TcpGate.listen`, from PEM files; UsageError when they do not fit."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:  # also every ssl.SSLError
        reason = error.strerror if not isinstance(error, ssl.SSLError) else error.reason
        raise UsageError(f"cannot use {certificate} with {key} for TLS: {reason}") from error
    return context


def _no_password() -> str:
    raise UsageError("an encrypted TLS key is not supported: store it without a password")


def client_context() -> ssl.SSLContext:
    """Accepts any certificate; pass a context of your own where the disguise should be proved."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class TlsLayer:
    """One connection's TLS state; make it with `accepting` or `dialling`."""

    def __init__(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, tls: ssl.SSLObject
    ) -> None:
        self._incoming, self._outgoing, self._tls = incoming, outgoing, tls
        self.ready = False  # the handshake is over
        self.finished = False  # the peer said goodbye

    @classmethod
    def accepting(cls, context: ssl.SSLContext) -> "TlsLayer":
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        return cls(incoming, outgoing, context.wrap_bio(incoming, outgoing, server_side=True))

    @classmethod
    def dialling(cls, context: ssl.SSLContext, host: str) -> "TlsLayer":
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        layer = cls(incoming, outgoing, context.wrap_bio(incoming, outgoing, server_hostname=host))
        layer.feed(b"")  # makes the first flight
        return layer

    def feed(self, data: bytes) -> bytes:
        """The plain bytes inside `data`; DecodeError when TLS has failed."""
        self._incoming.write(data)
        parts: list[bytes] = []
        try:
            if not self.ready:
                self._tls.do_handshake()
                self.ready = True
            while part := self._tls.read(_READ_SIZE):
                parts.append(part)
            self.finished = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.finished = True
        except ssl.SSLError as error:
            raise DecodeError(f"TLS failed: {error.reason}") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seal(self, data: bytes) -> bytes:
        """What to write to the socket for `data`, and whatever the layer itself has to say."""
        try:
            if data:
                self._tls.write(data)
        except ssl.SSLError as error:
            raise DecodeError(f"TLS failed: {error.reason}") from error
        return self._outgoing.read()
