"""What a certificate is for: IP addresses and host names, each in one normal form."""

import platform
import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

NAMES_MAX = 64  # of one certificate

# What reading a certificate or request may raise; they have no root of their own.
MALFORMED = (
    ValueError,
    TypeError,
    InvalidSignature,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)

_LABEL = re.compile(r"(?!-)[0-9a-z-]{1,63}(?<!-)")
_HOST_SIZE_MAX = 253


def normal_name(host: str) -> str | None:
    """The host of a URL or address as certificates have it; None where that cannot be."""
    bare = host.removeprefix("[").removesuffix("]").lower().removesuffix(".")
    try:
        address = ip_address(bare)
    except ValueError:
        labels = bare.split(".")
        is_host = len(bare) <= _HOST_SIZE_MAX and all(map(_LABEL.fullmatch, labels))
        # A host whose last label is a number would be read as an IPv4 address by some.
        return bare if is_host and not labels[-1].isdecimal() else None
    # A zone has a meaning on one machine only, and a wildcard address leads nowhere.
    return None if "%" in bare or address.is_unspecified else str(address)


def alternatives(names: Iterable[str], *others: x509.GeneralName) -> x509.SubjectAlternativeName:
    """The extension that says these names, which are in normal form."""
    return x509.SubjectAlternativeName([*map(_general, sorted(names)), *others])


def names_in(extensions: x509.Extensions) -> frozenset[str]:
    """The addresses and host names that a certificate or a request is for."""
    try:
        found = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return frozenset([*found.get_values_for_type(x509.DNSName), *addresses])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - recognised, not bound
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def listener_names(host: str, configured: Iterable[str]) -> frozenset[str]:
    """The names of a listener on `host`; those that are configured come first."""
    found = [*configured, *_LOOPBACK, platform.node()]
    found += _addresses() if host in _WILDCARDS else [host]
    named = dict.fromkeys(name for each in found if (name := normal_name(each)) is not None)
    return frozenset(list(named)[:NAMES_MAX])


def _addresses() -> list[str]:
    """Of all interfaces."""
    import psutil  # only where somebody asks: an idle node has no use for its memory

    return sorted(str(each.address) for listed in psutil.net_if_addrs().values() for each in listed)


def announced_names(tcp: str, ws: str) -> frozenset[str]:
    """Hosts of `ip:port` and of a WebSocket's URL, as far as certificates can be for them."""
    try:
        web = urlsplit(ws).hostname or ""
    except ValueError:
        web = ""
    hosts = (tcp.rpartition(":")[0], web)
    return frozenset(name for host in hosts if (name := normal_name(host)) is not None)
