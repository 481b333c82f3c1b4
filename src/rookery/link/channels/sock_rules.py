"""Rules about which peer may make us open which socket; the first match decides, default deny.

    [connect] tcp|udp TARGET:PORTS [from HASHNAME]
    bind      tcp|udp ADDRESS:PORTS [from HASHNAME]

    tcp 127.0.0.1:8080        udp 10.0.0.0/8:53         tcp *:443
    tcp *.example.org:80-90   tcp [2001:db8::]/32:*     bind tcp 127.0.0.1:8000-8099

Rules see the address a name resolved to, and that very address is dialled, so a name cannot
change its mind in between. An address that is not of the public network (loopback, private,
link-local, multicast, …), or is of a network that the machine itself is part of, passes only by a
rule whose network lies within that special block: neither `*` nor a host pattern nor `0.0.0.0/0`
opens access to the machine's own network.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

import msgspec

from rookery.errors import DeniedError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.sock import PORT_MAX, SockProtocol

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

ANY_PORT = range(PORT_MAX + 1)

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# The IPv6 blocks that carry an IPv4 address inside count as special as a whole.
_SPECIAL_IPV6 = (
    "::/96",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)
_SPECIAL_IPV4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
_SPECIAL = tuple(map(ip_network, _SPECIAL_IPV4 + _SPECIAL_IPV6))
_PATTERN = re.compile(r"(\*\.)?[0-9a-z_-]+(\.[0-9a-z_-]+)*", re.ASCII)


class SockVerb(StrEnum):
    CONNECT = "connect"
    BIND = "bind"


class SockRule(msgspec.Struct, frozen=True):
    """One permission. Without networks, `pattern` is matched with the requested name."""

    verb: SockVerb
    protocol: SockProtocol
    target: str
    networks: tuple[IpNetwork, ...]
    pattern: str | None  # "*" = any host
    ports: range
    peer: str | None

    @classmethod
    def parse(cls, line: str) -> "SockRule":
        """Read the text form, or raise UsageError with what is wrong."""
        words = line.split()
        verb = SockVerb(words.pop(0)) if words[:1] in (["connect"], ["bind"]) else SockVerb.CONNECT
        if len(words) not in (2, 4) or words[2:3] not in ([], ["from"]):
            raise UsageError(f"rule {line!r} is not of the form 'tcp HOST:PORT [from HASHNAME]'")
        if words[0] not in ("tcp", "udp"):
            raise UsageError(f"rule {line!r}: {words[0]!r} is neither tcp nor udp")
        if len(words) == 4 and not is_hashname(words[3]):
            raise UsageError(f"rule {line!r}: {words[3]!r} is not a hashname")
        target, colon, ports = words[1].rpartition(":")
        if not colon or not target:
            raise UsageError(f"rule {line!r} names no port (use HOST:PORT or HOST:*)")
        networks, pattern = _parse_target(line, target)
        if verb is SockVerb.BIND and not _is_single(networks, pattern):
            raise UsageError(f"rule {line!r}: bind needs one address or *")
        peer = words[3] if len(words) == 4 else None
        return cls(
            verb, SockProtocol(words[0]), target, networks, pattern, _parse_ports(line, ports), peer
        )

    def concerns(self, verb: SockVerb, protocol: SockProtocol, port: int, peer: str) -> bool:
        """Everything but the address fits."""
        return (
            self.verb is verb
            and self.protocol is protocol
            and (port in self.ports or (verb is SockVerb.BIND and port == 0))
            and self.peer in (None, peer)
        )

    def names(self, host: str) -> bool:
        """Whether the requested host matches this rule by name."""
        if self.pattern is None:
            return False
        host = host.lower().rstrip(".")
        if self.pattern.startswith("*."):
            return host.endswith(self.pattern[1:])
        return self.pattern in ("*", host)

    def covers(self, host: str, address: IpAddress, own: Sequence[IpNetwork] = ()) -> bool:
        blocks = [block for block in (*_SPECIAL, *own) if address in block]
        if self.pattern is not None:
            return not blocks and self.names(host)
        return any(
            address in network and (not blocks or any(_within(network, block) for block in blocks))
            for network in self.networks
        )

    def __str__(self) -> str:
        verb = "bind " if self.verb is SockVerb.BIND else ""
        peer = f" from {self.peer}" if self.peer else ""
        return f"{verb}{self.protocol} {self.target}:{_format_ports(self.ports)}{peer}"


class SockListener(msgspec.Struct, frozen=True):
    """Where a bind may listen: try `ports` in turn; a lone 0 lets the system choose."""

    ip: str
    ports: range


class Rules:
    """An ordered list of permissions; the empty one denies everything."""

    def __init__(self, rules: Sequence[SockRule] = ()) -> None:
        self._rules = tuple(rules)

    @classmethod
    def parse(cls, lines: Sequence[str]) -> "Rules":
        return cls([SockRule.parse(line) for line in lines])

    def __str__(self) -> str:
        return "\n".join(map(str, self._rules))

    def admits_question(self, protocol: SockProtocol, port: int, peer: str) -> bool:
        """Whether any address at all could pass; if not, its name is not even resolved."""
        return any(rule.concerns(SockVerb.CONNECT, protocol, port, peer) for rule in self._rules)

    def admits_name(self, protocol: SockProtocol, host: str, port: int, peer: str) -> bool:
        """Whether the asker may learn that this name does not resolve or answer."""
        return any(
            rule.concerns(SockVerb.CONNECT, protocol, port, peer) and rule.names(host)
            for rule in self._rules
        )

    def choose(
        self,
        protocol: SockProtocol,
        host: str,
        addresses: Sequence[str],
        port: int,
        peer: str,
        own: Sequence[IpNetwork] = (),
    ) -> str:
        """The first resolved address that may be dialled, or DeniedError.

        `own` are the networks of this machine, which is another one tomorrow.
        """
        rules = [
            rule for rule in self._rules if rule.concerns(SockVerb.CONNECT, protocol, port, peer)
        ]
        for text in addresses:
            address = plain_address(text)
            if address is not None and any(rule.covers(host, address, own) for rule in rules):
                return text
        raise DeniedError(f"no rule lets {peer[:8]} reach {protocol} {host}:{port}")

    def listener(self, protocol: SockProtocol, port: int, peer: str) -> SockListener:
        """Where to listen for a bind of `port` (0 = any), or DeniedError."""
        for rule in self._rules:
            if rule.concerns(SockVerb.BIND, protocol, port, peer):
                ip = str(rule.networks[0].network_address) if rule.networks else "0.0.0.0"  # noqa: S104
                if port:
                    return SockListener(ip, range(port, port + 1))
                return SockListener(ip, range(1) if rule.ports == ANY_PORT else rule.ports)
        raise DeniedError(f"no rule lets {peer[:8]} bind {protocol} port {port}")


def plain_address(text: str) -> IpAddress | None:
    """The address in its plainest form (an IPv4 address in IPv6 clothes is an IPv4 address)."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _parse_target(line: str, target: str) -> tuple[tuple[IpNetwork, ...], str | None]:
    if target == "*":
        return (), "*"
    if target.lower() == "localhost":
        return _LOOPBACK, None
    bare = re.sub(r"^\[([^\]]*)\]", r"\1", target)
    try:
        return (ip_network(bare),), None
    except ValueError as error:
        if "/" in bare or ":" in bare or re.fullmatch(r"[0-9.]+", bare):
            raise UsageError(f"rule {line!r}: {error}") from error
    pattern = target.lower().rstrip(".")
    if not _PATTERN.fullmatch(pattern):
        raise UsageError(f"rule {line!r}: {target!r} is neither an address nor a host pattern")
    return (), pattern


def _parse_ports(line: str, text: str) -> range:
    if text == "*":
        return ANY_PORT
    first, dash, last = text.partition("-")
    if not re.fullmatch(r"[0-9]{1,5}", first) or (dash and not re.fullmatch(r"[0-9]{1,5}", last)):
        raise UsageError(f"rule {line!r}: {text!r} is neither a port, FIRST-LAST nor *")
    ports = range(int(first), int(last if dash else first) + 1)
    if not ports or ports[0] < 1 or ports[-1] > PORT_MAX:
        raise UsageError(f"rule {line!r}: ports run from 1 to {PORT_MAX}, the lower one first")
    return ports


def _format_ports(ports: range) -> str:
    if ports == ANY_PORT:
        return "*"
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]}-{ports[-1]}"


def _is_single(networks: tuple[IpNetwork, ...], pattern: str | None) -> bool:
    if networks:
        return networks == _LOOPBACK or networks[0].num_addresses == 1
    return pattern == "*"


def _within(network: IpNetwork, block: IpNetwork) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(block, IPv4Network) and network.subnet_of(block)
    return isinstance(block, IPv6Network) and network.subnet_of(block)
