"""Whom a client believes that it speaks with the hub: the system's authorities, or a pinned one."""

import ssl
from pathlib import Path

import msgspec

from rookery.errors import DeniedError, UsageError

_SIZE_MAX = 1 << 16


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """As the user said it, or an earlier sign-in left it."""

    authority: str = ""  # certificates as PEM, nobody else's word counts; empty: the system's
    may_be_plain: bool = False  # http beyond this machine

    def context(self) -> ssl.SSLContext:
        """For TLS to the hub; the name in its certificate is checked in any case."""
        try:
            return ssl.create_default_context(cadata=self.authority or None)
        except (ssl.SSLError, ValueError) as error:
            raise UsageError("the hub's authority is no certificate; sign in with --ca") from error


SYSTEM = Trust()


class UntrustedError(DeniedError):
    """The hub's certificate does not hold."""


def read_authority(file: Path) -> str:
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


def refusal(url: str, error: ssl.SSLError, trust: Trust) -> UntrustedError:
    """What is wrong with a certificate, and what to do."""
    why = getattr(error, "verify_message", "") or error.reason or str(error)
    if not isinstance(error, ssl.SSLCertVerificationError):
        return UntrustedError(f"{url} speaks no TLS that we understand ({why}); is it https?")
    if "mismatch" in why.lower() or "not valid for" in why.lower():
        advice = "use the name or address that its certificate is for"
    elif "expired" in why or "not yet valid" in why:
        advice = "set the clock here right, or have the certificate renewed there"
    elif trust.authority:
        advice = (
            "its authority is not the one you signed in with: somebody may be in between. If the "
            "hub has a new one, ask whoever runs it, and sign in anew with --ca FILE"
        )
    else:
        advice = "get its authority's certificate from whoever runs it, and give it as --ca FILE"
    return UntrustedError(f"the certificate of {url} does not hold ({why}); {advice}")
