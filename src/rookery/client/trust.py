"""Which certificates a client accepts from a hub: the system's authorities, or a pinned one."""

import ssl
import time
import urllib.request
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

import msgspec

from rookery.errors import DecodeError, DeniedError, UsageError
from rookery.runtime.tls.authority import SERVER_MARK, fingerprint, read_authority

_SIZE_MAX = 1 << 16

# As OpenSSL numbers what is wrong with a certificate.
_NOT_YET_VALID, _EXPIRED = 9, 10
_UNKNOWN_AUTHORITY = (2, 7, 18, 19, 20, 21, 27)
_WRONG_NAME = (62, 64)


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """As the user gave it, or as an earlier sign-in stored it."""

    authority: str = ""  # certificates as PEM, the only ones accepted; empty: the system's
    may_be_plain: bool = False  # http beyond this machine

    def context(self) -> ssl.SSLContext:
        """For TLS to the hub; the name in its certificate is checked in any case."""
        try:
            context = ssl.create_default_context(cadata=self.authority or None)
        except (ssl.SSLError, ValueError) as error:
            raise UsageError("the hub's authority is no certificate; sign in with --ca") from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context


SYSTEM = Trust()


class UntrustedError(DeniedError):
    """The hub's certificate does not hold."""


class UnknownAuthorityError(UntrustedError):
    """It is signed by an authority that this machine does not know."""


class ServerCertificateError(ssl.SSLError):
    """The certificate is good, but a server's: no server may speak as the hub."""


class HubHttpsHandler(urllib.request.HTTPSHandler):
    """https as urllib opens it, but not to what proves to be a server of the fleet."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._chosen = context

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_HubHttpsConnection, req, context=self._chosen)


class _HubHttpsConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        assert isinstance(self.sock, ssl.SSLSocket)
        names = (self.sock.getpeercert() or {}).get("subjectAltName", ())
        assert isinstance(names, tuple)
        if any(kind == "URI" and str(name).startswith(SERVER_MARK) for kind, name in names):
            self.close()
            raise ServerCertificateError("the certificate is a server's")


def read_authorities(file: Path) -> str:
    """The certificates in a PEM file; UsageError when there are none."""
    try:
        with file.open(encoding="ascii") as stream:
            text = stream.read(_SIZE_MAX)
        ssl.create_default_context(cadata=text)
    except ssl.SSLError as error:
        raise UsageError(f"{file} holds no certificate in PEM") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read certificates from {file}: {error}") from error
    return text


def certificate_error(url: str, error: ssl.SSLError, trust: Trust) -> UntrustedError:
    """What is wrong with a certificate, and what to do."""
    if isinstance(error, ServerCertificateError):
        return UntrustedError(
            f"{url} shows the certificate of a server, not of the hub; give the hub's URL. If this "
            "is the hub's, another machine may be in between"
        )
    if not isinstance(error, ssl.SSLCertVerificationError):
        why = error.reason or str(error)
        return UntrustedError(
            f"{url} speaks no TLS of version 1.2 or later ({why}); is it https, and this port?"
        )
    code, why = error.verify_code, error.verify_message
    if code in _UNKNOWN_AUTHORITY:
        return UnknownAuthorityError(_unknown(url, trust))
    match code:
        case c if c in _WRONG_NAME:
            said = (
                "is for another name or address; use the name or address that its certificate is "
                "for, or have this one added there (--tls-name)"
            )
        case c if c == _EXPIRED:
            said = f"has expired; have it renewed there, unless the clock here is wrong: {_clock()}"
        case c if c == _NOT_YET_VALID:
            said = f"is not valid yet; set the clock right, here or there. Here it is {_clock()}"
        case _:
            said = f"does not hold ({why}); have it replaced there"
    return UntrustedError(f"the certificate of {url} {said}")


def _unknown(url: str, trust: Trust) -> str:
    if not trust.authority:
        return (
            f"the certificate of {url} is signed by an authority that is unknown here; get that "
            "authority's certificate from the hub's operator, and give it as --ca FILE"
        )
    return (
        f"THE AUTHORITY OF {url} HAS CHANGED: its certificate is not signed by the one that was "
        f"pinned{_pinned(trust)}. Another machine may be in between. If the hub has a new one on "
        f"purpose, sign in with the fingerprint that it prints when it starts: "
        f"rookery login {url} --fingerprint SHA256:…, or with --ca FILE"
    )


def _pinned(trust: Trust) -> str:
    try:
        return f", {fingerprint(read_authority(trust.authority.encode()))}"
    except DecodeError:  # several, or no authority's own: --ca takes such files, too
        return ""


def _clock() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
