"""What an exit offers, in the few words that a record's `services` have room for.

    exit                anything, TCP and UDP
    exit:tcp  exit:udp  any port
    exit:tcp/443        exit:tcp/8000-8099
    serial:meter        this serial line is plugged in here
    serial:~mzxw6ytboi  …one whose name is too long, by the start of its SHA-256 in base32
    serial              more lines than fit: ask

A class is a hint for who searches, never a permission: the exit's rules decide.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

from rookery.link.channels.sock import SockProtocol
from rookery.link.channels.sock_rules import ANY_PORT, SockRule, SockVerb
from rookery.mesh.proxy.opening import NetTarget, SerialTarget, Target
from rookery.wire import base32
from rookery.wire.mesh.record import SERVICE_SIZE_MAX, SERVICES_MAX

ANY_EXIT = "exit"
ANY_SERIAL = "serial"

_PORTS = re.compile(r"exit:(tcp|udp)/([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)
_DIGEST_SIZE = 10


def offers(service: str, target: Target) -> bool:
    """True if this word of a record promises that target; unknown words promise nothing."""
    match target:
        case SerialTarget(name=name):
            return service in (ANY_SERIAL, serial_class(name))
        case NetTarget(protocol=protocol, port=port):
            if service in (ANY_EXIT, f"{ANY_EXIT}:{protocol}"):
                return True
            found = _PORTS.fullmatch(service)
            if found is None or found[1] != protocol:
                return False
            return int(found[2]) <= port <= int(found[3] or found[2])


def serial_class(name: str) -> str:
    """The word for one serial line."""
    word = f"{ANY_SERIAL}:{name}"
    if len(word) <= SERVICE_SIZE_MAX:
        return word
    return f"{ANY_SERIAL}:~{base32.encode(sha256(name.encode()).digest()[:_DIGEST_SIZE])}"


def classes(
    rules: Iterable[SockRule], names: Sequence[str] = (), room: int = SERVICES_MAX - 1
) -> tuple[str, ...]:
    """The words for what `rules` allow and the lines plugged in; coarser ones if short of room."""
    ports = _ports(rules)
    lines = sorted({serial_class(name) for name in names})
    for words in (
        [*_fine(ports), *lines],
        [*_coarse(ports), *lines],
        [*_coarse(ports), *([ANY_SERIAL] if lines else [])],
    ):
        if len(words) <= room:
            return tuple(words)
    return ()


def _ports(rules: Iterable[SockRule]) -> dict[SockProtocol, list[range]]:
    found: dict[SockProtocol, list[range]] = {}
    for rule in rules:
        if rule.verb is SockVerb.CONNECT:
            found.setdefault(rule.protocol, []).append(rule.ports)
    return found


def _fine(ports: dict[SockProtocol, list[range]]) -> list[str]:
    words = []
    for protocol, ranges in sorted(ports.items()):
        if ANY_PORT in ranges:
            words.append(f"{ANY_EXIT}:{protocol}")
        else:
            words += [f"{ANY_EXIT}:{protocol}/{text}" for text in _merged(ranges)]
    both = [f"{ANY_EXIT}:{protocol}" for protocol in sorted(SockProtocol)]
    return [ANY_EXIT] if words == both else words


def _merged(ranges: list[range]) -> list[str]:
    spans: list[tuple[int, int]] = []
    for ports in sorted(ranges, key=lambda ports: ports.start):
        if spans and ports[0] <= spans[-1][1] + 1:
            spans[-1] = spans[-1][0], max(spans[-1][1], ports[-1])
        else:
            spans.append((ports[0], ports[-1]))
    return [str(first) if first == last else f"{first}-{last}" for first, last in spans]


def _coarse(ports: dict[SockProtocol, list[range]]) -> list[str]:
    words = [f"{ANY_EXIT}:{protocol}" for protocol in sorted(ports)]
    return [ANY_EXIT] if len(words) == len(SockProtocol) else words
