"""What a hub of an unknown authority shows: its authority's certificate, to be compared and pinned.

Nothing that we send is secret until then. An impostor may show a certificate of its own: it
trust comes only from the person or program that compares the fingerprint.
"""

import ssl
import urllib.error
import urllib.request
from http.client import HTTPException

from rookery.client.http import NoRedirection
from rookery.client.trust import HubHttpsHandler, Trust, UntrustedError, certificate_error
from rookery.errors import DecodeError, UnreachableError
from rookery.runtime.tls.authority import fingerprint, read_authority
from rookery.runtime.tls.certificate import certificate_pem

TIMEOUT_S = 10.0

_AUTHORITY = "/authority.pem"
_ANY_PAGE = "/healthz"
_SIZE_MAX = 1 << 14


class PresentedAuthority:
    """An authority that a hub presents as its own, and that its certificate is signed by."""

    def __init__(self, pem: str, fingerprint: str) -> None:
        self.pem = pem
        self.fingerprint = fingerprint


def check_certificate(url: str, trust: Trust) -> None:
    """Do one TLS handshake; UntrustedError if the hub's certificate is not valid."""
    try:
        _read(url, _ANY_PAGE, trust.context())
    except ssl.SSLError as error:
        raise certificate_error(url, error, trust) from error


def presented_authority(url: str) -> PresentedAuthority | None:
    """None if the hub presents none; UntrustedError if its certificate is not signed by it."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    try:
        data = _read(url, _AUTHORITY, unchecked)
    except ssl.SSLError as error:
        raise certificate_error(url, error, Trust()) from error
    if data is None:
        return None
    try:
        authority = read_authority(data)
    except DecodeError as error:
        raise UntrustedError(f"{url} shows an authority that is none: {error}") from error
    pem = certificate_pem(authority).decode()
    check_certificate(url, Trust(authority=pem))
    return PresentedAuthority(pem, fingerprint(authority))


def _read(url: str, path: str, context: ssl.SSLContext) -> bytes | None:
    """What is there; None for a refusal. SSLError, or UnreachableError."""
    opener = urllib.request.build_opener(NoRedirection(), HubHttpsHandler(context))
    try:
        with opener.open(url + path, timeout=TIMEOUT_S) as answer:
            data: bytes = answer.read(_SIZE_MAX)
            return data
    except urllib.error.HTTPError as error:
        error.close()
        return None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLError):
            raise reason from error
        raise UnreachableError(f"{url} does not answer: {reason}") from error
