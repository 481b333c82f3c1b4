"""The names that a server announces: the hosts of its address for the hub, and for browsers."""

from urllib.parse import urlsplit

from rookery.runtime.tls.names import normal_name


def announced_names(tcp: str, ws: str) -> frozenset[str]:
    """Hosts of `ip:port` and of a WebSocket's URL, as far as certificates can be for them."""
    try:
        web = urlsplit(ws).hostname or ""
    except ValueError:
        web = ""
    hosts = (tcp.rpartition(":")[0], web)
    return frozenset(name for host in hosts if (name := normal_name(host)) is not None)
