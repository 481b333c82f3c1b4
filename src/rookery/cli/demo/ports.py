"""Ports of this machine: those that everybody knows, or others when somebody has them."""

import socket
from collections.abc import Callable, Iterable

from rookery.errors import UsageError

HOST = "127.0.0.1"

_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_TRIES = 16


def wanted(port: int, kinds: Iterable[str], name: str, say: Callable[[str], None]) -> int:
    """This one if it is free for all kinds, else another; `say` tells of it."""
    kinds = tuple(kinds)
    if is_free(port, kinds):
        return port
    other = free(kinds)
    say(f"port {port} ({name}) is taken; using {other} instead")
    return other


def free(kinds: Iterable[str]) -> int:
    """One that nobody has right now."""
    kinds = tuple(kinds)
    for _ in range(_TRIES):
        with socket.socket(socket.AF_INET, _KINDS[kinds[0]]) as probe:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
        if is_free(port, kinds):
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
