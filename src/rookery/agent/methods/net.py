"""`net.*`: the device's network as it sees it: interfaces, routes, names and pings."""

import asyncio
import socket
import sys
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import msgspec
import psutil
from msgspec import Meta

from rookery.agent.methods.ping import IpAddress, round_trips
from rookery.errors import UnreachableError, UsageError

PINGS_MAX = 20
TIMEOUT_S_MAX = 10.0
INTERFACES_MAX = 64
ROUTES_MAX = 256
ADDRESSES_MAX = 16

Host = Annotated[str, Meta(min_length=1, max_length=253)]
Pings = Annotated[int, Meta(ge=1, le=PINGS_MAX)]
Timeout = Annotated[float, Meta(gt=0, le=TIMEOUT_S_MAX)]

_ROUTES4 = Path("/proc/net/route")
_ROUTES6 = Path("/proc/net/ipv6_route")
_UP = 1


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """One network interface, and what went through it since it came up."""

    name: str
    is_up: bool
    mac: str
    addresses: tuple[str, ...]  # with prefix length
    mtu: int
    speed_mbit_s: int  # 0 where it is not known
    in_bytes: int
    out_bytes: int
    in_packets: int
    out_packets: int
    in_errors: int
    out_errors: int
    in_dropped: int
    out_dropped: int


class PingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of some pings."""

    host: str
    address: str
    by: str  # "icmp", "raw icmp", or the program "ping"
    times_ms: tuple[float | None, ...]  # None is a lost one
    lost: float  # share, 0 to 1


class RouteRow(msgspec.Struct, frozen=True, kw_only=True):
    """Where packets to a network go."""

    to: str
    via: str  # empty: straight on the interface
    interface: str
    metric: int


async def interfaces() -> list[Interface]:
    """The network interfaces with their addresses and counters."""
    addresses, states = psutil.net_if_addrs(), psutil.net_if_stats()
    counters = psutil.net_io_counters(pernic=True)
    found = []
    for name in sorted(addresses)[:INTERFACES_MAX]:
        state, counted = states.get(name), counters.get(name)
        found.append(
            Interface(
                name=name,
                is_up=state is not None and state.isup,
                mac=next((a.address for a in addresses[name] if a.family == psutil.AF_LINK), ""),
                addresses=tuple(
                    _with_prefix(a.address, a.netmask)
                    for a in addresses[name]
                    if a.family in (socket.AF_INET, socket.AF_INET6)
                ),
                mtu=state.mtu if state else 0,
                speed_mbit_s=state.speed if state else 0,
                in_bytes=counted.bytes_recv if counted else 0,
                out_bytes=counted.bytes_sent if counted else 0,
                in_packets=counted.packets_recv if counted else 0,
                out_packets=counted.packets_sent if counted else 0,
                in_errors=counted.errin if counted else 0,
                out_errors=counted.errout if counted else 0,
                in_dropped=counted.dropin if counted else 0,
                out_dropped=counted.dropout if counted else 0,
            )
        )
    return found


async def resolve(name: Host) -> list[str]:
    """The addresses that the device finds for a name."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TIMEOUT_S_MAX):
            found = await loop.getaddrinfo(_checked(name), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise UnreachableError(f"no address of {name} is known") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))[:ADDRESSES_MAX]


async def ping(host: Host, count: Pings = 3, timeout_s: Timeout = 2.0) -> PingResult:
    """Ping a name or address from the device."""
    address = _address(host) or _address((await resolve(host))[0])
    assert address is not None
    if address.is_multicast:
        raise UsageError(f"{address} is a multicast address; ping one host")
    times, means = await round_trips(address, count, timeout_s)
    return PingResult(
        host=host,
        address=str(address),
        by=means,
        times_ms=tuple(times),
        lost=round(times.count(None) / count, 3),
    )


async def routes() -> list[RouteRow]:
    """Where the device sends packets, by network; Linux only."""
    found: list[RouteRow | None] = []
    for file, parse in ((_ROUTES4, _route4), (_ROUTES6, _route6)):
        with suppress(OSError):  # no such family here
            found += [parse(line.split()) for line in file.read_text().splitlines()]
    return [row for row in found if row is not None][:ROUTES_MAX]


def _checked(name: str) -> str:
    """The name, which is one and no option or pattern; UsageError for what cannot be a host."""
    if _address(name) is not None:
        return name
    labels = name.removesuffix(".").split(".")
    if not all(_is_label(label) for label in labels):
        raise UsageError(f"{name!r} is neither a host name nor an address")
    return name


def _is_label(label: str) -> bool:
    inside = label.replace("-", "").replace("_", "")
    return 0 < len(label) <= 63 and inside.isalnum() and not label.startswith("-")


def _address(text: str) -> IpAddress | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _with_prefix(address: str, mask: str | None) -> str:
    bare = address.partition("%")[0]
    try:
        return f"{bare}/{int(ip_address(mask or '')).bit_count()}"
    except ValueError:
        return bare


def _route4(fields: list[str]) -> RouteRow | None:
    """`eth0 0000000A 0100000A 0003 0 0 100 000000FF …`, addresses in the host's byte order."""
    if len(fields) < 8 or fields[0] == "Iface" or not int(fields[3], 16) & _UP:
        return None
    to, gateway, mask = (_native4(fields[at]) for at in (1, 2, 7))
    prefix = int(ip_address(mask)).bit_count()
    via = "" if gateway == "0.0.0.0" else gateway  # noqa: S104 (no listener: a table's "none")
    return RouteRow(to=f"{to}/{prefix}", via=via, interface=fields[0], metric=int(fields[6]))


def _route6(fields: list[str]) -> RouteRow | None:
    """`to prefix from prefix gateway metric references use flags interface`, all in hex."""
    if len(fields) < 10 or not int(fields[8], 16) & _UP or fields[9] == "lo":
        return None
    to = ip_address(bytes.fromhex(fields[0]))
    gateway = ip_address(bytes.fromhex(fields[4]))
    return RouteRow(
        to=f"{to}/{int(fields[1], 16)}",
        via="" if gateway.is_unspecified else str(gateway),
        interface=fields[9],
        metric=int(fields[5], 16),
    )


def _native4(text: str) -> str:
    return str(ip_address(int(text, 16).to_bytes(4, sys.byteorder)))
