"""How `rookery login` trusts a hub: an authority that is given, pinned, or accepted by the user.

--ca FILE            that file's authorities
--fingerprint        the authority that the hub shows, if it is that one
pinned before        that one, and no other
known to the system  the system's
else                 asked once, at a terminal
"""

import sys
from pathlib import Path

from rookery.cli.terminal.screen import remark
from rookery.client import authority_probe, credentials
from rookery.client.authority_probe import PresentedAuthority
from rookery.client.known_hubs import KnownHubs
from rookery.client.trust import (
    SYSTEM,
    UnknownAuthorityError,
    UntrustedError,
    read_authorities,
)
from rookery.errors import UsageError
from rookery.runtime.tls.authority import normal_fingerprint

_YES = ("y", "yes")


def hub_authority(url: str, ca: Path | None, fingerprint: str | None, folder: Path) -> str:
    """The PEM to hold the hub to, empty for the system's; UntrustedError where there is none."""
    if ca is not None and fingerprint is not None:
        raise UsageError("--ca and --fingerprint say the same; give one of them")
    expected = None if fingerprint is None else _checked(fingerprint)
    if not url.startswith("https:"):
        if ca is not None or expected is not None:
            raise UsageError(f"{url} has no certificate; give a URL that begins with https://")
        return ""
    if ca is not None:
        return read_authorities(ca)
    if expected is not None:
        return _pinned(url, _with_fingerprint(url, expected), folder)
    if pinned := KnownHubs(folder).authority(url) or _authority_of_sign_in(url, folder):
        return pinned
    try:
        authority_probe.check_certificate(url, SYSTEM)
    except UnknownAuthorityError:
        shown = authority_probe.presented_authority(url)
        if shown is None:
            raise
        return _pinned(url, _accepted_by_user(url, shown), folder)
    return ""


def _checked(fingerprint: str) -> str:
    normal = normal_fingerprint(fingerprint)
    if normal is None:
        raise UsageError(
            "--fingerprint: give SHA256: and 64 hexadecimal digits, as the hub says it"
        )
    return normal


def _with_fingerprint(url: str, expected: str) -> str:
    shown = authority_probe.presented_authority(url)
    if shown is None:
        raise UntrustedError(f"{url} shows no authority of its own; give its file as --ca FILE")
    if shown.fingerprint != expected:
        raise UntrustedError(
            f"{url} shows the authority {shown.fingerprint}, not the one of --fingerprint. Another "
            "machine may be in between; compare with what the hub prints when it starts"
        )
    return shown.pem


def _accepted_by_user(url: str, shown: PresentedAuthority) -> str:
    """Ask at the terminal whether to trust the authority."""
    if not sys.stdin.isatty():
        raise UnknownAuthorityError(
            f"the authority of {url} is unknown here: {shown.fingerprint}. If the hub prints the "
            f"same when it starts, sign in with --fingerprint {shown.fingerprint}"
        )
    remark(f"The authority of {url} is unknown here. Its fingerprint is")
    remark(f"  {shown.fingerprint}")
    remark("Compare it with what the hub prints when it starts.")
    if input("Is it the same, and shall it be remembered (yes/no)? ").strip().lower() not in _YES:
        raise UnknownAuthorityError(f"the authority of {url} was not accepted")
    return shown.pem


def _pinned(url: str, authority: str, folder: Path) -> str:
    KnownHubs(folder).pin(url, authority)
    return authority


def _authority_of_sign_in(url: str, folder: Path) -> str:
    """The authority in a sign-in from before there was a file of known hubs."""
    try:
        kept = credentials.load(folder)
    except UsageError:
        return ""
    return kept.trust.authority if kept.url == url else ""
