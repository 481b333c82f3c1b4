"""The names of this machine: what a listener's certificate has to be for."""

import platform
from collections.abc import Iterable

from rookery.runtime.tls.names import NAMES_MAX, normal_name

_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - recognised, not bound
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def listener_names(host: str, told: Iterable[str]) -> frozenset[str]:
    """For one that listens on `host`, reached by the names `told` as well; those come first."""
    found = [*told, *_LOOPBACK, platform.node()]
    found += _addresses() if host in _WILDCARDS else [host]
    named = dict.fromkeys(name for each in found if (name := normal_name(each)) is not None)
    return frozenset(list(named)[:NAMES_MAX])


def _addresses() -> list[str]:
    """Of all interfaces."""
    import psutil  # only where somebody asks: an idle node has no use for its memory

    return sorted(str(each.address) for listed in psutil.net_if_addrs().values() for each in listed)
