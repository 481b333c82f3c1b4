"""Ports of the demo: the well-known ones, or free ones when those are in use."""

import secrets
import socket
from collections.abc import Callable, Iterable

from rookery.errors import UsageError

HOST = "127.0.0.1"

_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_TRIES = 64
_SCATTERED = range(20_000, 32_000)  # below those that systems give to connections


def wanted(port: int, kinds: Iterable[str], name: str, say: Callable[[str], None]) -> int:
    """This port if it is free for all kinds, else another; `say` is told which."""
    kinds = tuple(kinds)
    if is_free(port, kinds):
        return port
    other = free(kinds)
    say(f"port {port} ({name}) is taken; using {other} instead")
    return other


def free(kinds: Iterable[str]) -> int:
    """A free port, outside of the range that the kernel gives to outgoing connections."""
    kinds = tuple(kinds)
    for _ in range(_TRIES):
        if is_free(port := _SCATTERED[0] + secrets.randbelow(len(_SCATTERED)), kinds):
            return port
    raise UsageError(f"no port of {HOST} is free for {' and '.join(kinds)}")


def is_free(port: int, kinds: Iterable[str]) -> bool:
    for kind in kinds:
        with socket.socket(socket.AF_INET, _KINDS[kind]) as probe:
            if kind == "tcp":  # as servers do: what the last one left in TIME_WAIT is no obstacle
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                return False
    return True
