"""Ports for programs that are told theirs: free for TCP and UDP, and given to no connection."""

from rookery.cli.demo.ports import free


def free_port() -> int:
    """Not one that the system hands out: a connection might have it before it is used."""
    return free(("tcp", "udp"))


def free_ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)
