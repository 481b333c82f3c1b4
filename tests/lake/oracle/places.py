"""Who is where, in plain Python."""

from ipaddress import IPv4Address, ip_address, ip_network


def site(address: str) -> str | None:
    """The network of an address as hubs write them: 192.0.2.7:4711 or [2001:db8::7]:4711."""
    host, _, port = address.rpartition(":")
    text = host if port.isdigit() and (host.endswith("]") or host.count(":") == 0) else address
    try:
        ip = ip_address(text.strip("[]"))
    except ValueError:
        return None
    size = 24 if isinstance(ip, IPv4Address) else 48
    return str(ip_network((ip, size), strict=False))
