"""Which addresses count as one source where work is limited by source."""

from ipaddress import IPv6Address, ip_address

_NETWORK_BITS = 64  # an IPv6 user has a whole /64 to choose addresses from


def source_network(ip: str) -> str:
    """The IPv4 address, or the /64 of an IPv6 one; what is no address stays as it is."""
    try:
        address = ip_address(ip)
    except ValueError:
        return ip
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS)}/{_NETWORK_BITS}"
