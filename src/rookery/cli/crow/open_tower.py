"""The tower of a verb, with the gates that its options name.

A gate talks with this machine only, unless --allow names more. A verb that sends to a host may
talk with that host.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rookery.cli.crow.options import CrowListenOptions, CrowSendOptions
from rookery.cli.terminal.exit_codes import BIND_ADVICE, advice
from rookery.errors import UsageError
from rookery.runtime.crow.gates import serial_gate, tcp_gate, udp_gate
from rookery.runtime.crow.gates.gate import LOOPBACK, CrowGate
from rookery.runtime.crow.gates.serial_gate import CrowSerialGate
from rookery.runtime.crow.gates.serial_line import BAUDRATE
from rookery.runtime.crow.gates.tcp_gate import CrowTcpGate
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower

_GATES = ("udp", "tcp")
_SERIAL_FORM = "give --serial PATH[:BAUD[:v0|v1[:g0|g1]]]"
_IP_SIZE = 4


@dataclass(frozen=True, kw_only=True)
class OpenTower:
    """A tower and what it listens on, by the words of the options."""

    tower: CrowTower
    gates: dict[str, CrowUdpGate | CrowTcpGate | CrowSerialGate]

    @property
    def addresses(self) -> dict[str, bytes]:
        """The hops that lead here."""
        return {name: gate.address for name, gate in self.gates.items() if gate.address}

    def counts(self) -> dict[str, object]:
        """What went through, and what was dropped, by reason."""
        return {
            "gates": {
                name: {
                    "in": gate.counters.packets_in,
                    "out": gate.counters.packets_out,
                    "dropped": dict(gate.counters.dropped),
                }
                for name, gate in self.gates.items()
            },
            "dropped": dict(self.tower.dropped),
        }


async def listen(tower: CrowTower, options: CrowListenOptions) -> OpenTower:
    """Open the gates for others to come in; UDP on a free port when none is named."""
    udp, site = options.udp, OpenTower(tower=tower, gates={})
    if udp is None and options.tcp is None and options.serial is None:
        udp = 0
    if udp is not None:
        await _add_udp(site, options.bind, udp, _allowed(options, "udp"))
    if options.tcp is not None:
        gate = CrowTcpGate(tower, allow=_allowed(options, "tcp"))
        _add(site, "tcp", gate)
        with advice(BIND_ADVICE):
            await gate.listen(options.bind, options.tcp)
    if options.serial is not None:
        _add(site, "serial", _serial_gate(tower, options.serial))
    return site


@asynccontextmanager
async def tower_for_route(route: bytes, options: CrowSendOptions) -> AsyncIterator[OpenTower]:
    """A tower that a packet with this route can leave; UsageError when no gate leads there."""
    if not route:
        raise UsageError(
            "an empty address is this very tower; name a hop, as in .12.127.0.0.1:7001"
        )
    async with CrowTower() as tower:
        site = OpenTower(tower=tower, gates={})
        if route[0] == udp_gate.ID:
            _check_bind(options, route)
            await _add_udp(site, options.bind, options.udp, _first_hop_host(route))
        elif route[0] == tcp_gate.ID:
            _add(site, "tcp", CrowTcpGate(tower, allow=_first_hop_host(route)))
        elif route[0] == serial_gate.ID and options.serial is not None:
            _add(site, "serial", _serial_gate(tower, options.serial))
        else:
            raise UsageError(
                f"no gate {route[0]} here; begin with .12 (UDP), .13 (TCP), or .42 with --serial"
            )
        yield site


async def _add_udp(site: OpenTower, host: str, port: int, allow: tuple[str, ...]) -> None:
    with advice(BIND_ADVICE):
        _add(site, "udp", await CrowUdpGate.bind(site.tower, host, port, allow=allow))


def _add(site: OpenTower, name: str, gate: CrowUdpGate | CrowTcpGate | CrowSerialGate) -> None:
    added: CrowGate = gate
    site.tower.add_gate(added)
    site.gates[name] = gate


def _serial_gate(tower: CrowTower, text: str) -> CrowSerialGate:
    path, baudrate, header_version, symbols_version = parse_serial(text)
    return CrowSerialGate(
        tower,
        path,
        baudrate=baudrate,
        header_version=header_version,
        symbols_version=symbols_version,
    )


def parse_serial(text: str) -> tuple[str, int, int, int]:
    """Path, speed, version of the header, version of the framing; UsageError for all else."""
    path, *fields = text.split(":")
    speed, header, framing = (*fields, "", "", "")[:3]
    if not path or len(fields) > 3 or not (speed or str(BAUDRATE)).isdecimal():
        raise UsageError(f"{text!r} is no serial line; {_SERIAL_FORM}")
    if header not in ("", "v0", "v1") or framing not in ("", "g0", "g1"):
        raise UsageError(f"{text!r} is no serial line; {_SERIAL_FORM}")
    return path, int(speed or BAUDRATE), int(header != "v0"), int(framing != "g0")


def _allowed(options: CrowListenOptions, gate: str) -> tuple[str, ...]:
    """The networks that a gate talks with: this machine, unless others are named."""
    networks = []
    for text in options.allow:
        first, _, network = text.rpartition("=")
        if first and first not in _GATES:
            raise UsageError(f"--allow {text}: there is no gate {first!r}; give udp= or tcp=")
        if first in ("", gate):
            networks.append(network)
    return tuple(networks) or LOOPBACK


def _first_hop_host(route: bytes) -> tuple[str, ...]:
    """The host of a first hop over UDP or TCP, with which we have to talk."""
    ip = route[1 : 1 + _IP_SIZE]
    if len(ip) != _IP_SIZE:
        raise UsageError(
            "the first hop is too short; it has an IP and a port, as in .127.0.0.1:7001"
        )
    return (".".join(map(str, ip)),)


def _check_bind(options: CrowSendOptions, route: bytes) -> None:
    (ip,) = _first_hop_host(route)
    if _is_loopback(options.bind) and not _is_loopback(ip):
        raise UsageError(f"{options.bind} leads to this machine only; give --bind IP, or 0.0.0.0")


def _is_loopback(ip: str) -> bool:
    return ip == "localhost" or ip.startswith("127.")
