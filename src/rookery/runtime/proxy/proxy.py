"""The proxy of one node, both ways: what it offers to members, and what it asks of them.

proxy = Proxy(node.open, exits, rules=ProxyRules.parse(["tcp *:443"]))
node.serve(PROXY, proxy.handle)
endpoint.serve("sock", proxy.sock.handle)                Telehash peers, by the same rules
connection = await proxy.connector.tcp_connect("192.0.2.1", 80, proxy="auto")
async with await socks_listener(proxy.connector): …
"""

from collections.abc import Callable

from rookery.mesh.node import Node
from rookery.mesh.proxy.exit_memory import known_exits
from rookery.mesh.proxy.race import RaceSettings
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint.channels.sock import Sock
from rookery.runtime.endpoint.channels.sock_server import Resolve, SockLimits, resolve
from rookery.runtime.proxy.connector import Connector, Exits, no_exits
from rookery.runtime.proxy.remote_listener import ExpectedConnections
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.service import ProxyLimits, ProxyService
from rookery.runtime.tunnels.member_stream import OpenTunnelled, TunnelledStream
from rookery.wire.mesh.node_id import NodeId


class Proxy:
    """Without rules it offers nothing, and still asks."""

    def __init__(
        self,
        open_stream: OpenTunnelled,
        exits: Exits = no_exits,
        *,
        rules: ProxyRules | None = None,
        devices: SerialDevices | None = None,
        limits: ProxyLimits | None = None,
        settings: RaceSettings | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        rules, devices, arrivals = (
            rules or ProxyRules(),
            devices or SerialDevices(),
            ExpectedConnections(),
        )
        limits = limits or ProxyLimits()
        self.service = ProxyService(
            rules,
            open_stream=open_stream,
            devices=devices,
            arrivals=arrivals,
            limits=limits,
            resolve=resolve,
        )
        self.connector = Connector(
            open_stream,
            exits,
            devices=devices,
            arrivals=arrivals,
            settings=settings,
            resolve=resolve,
        )
        sock_limits = SockLimits(
            link_sockets_max=limits.member_connections_max,
            sockets_max=limits.connections_max,
            dial_timeout_s=limits.dial_s,
            udp_idle_s=limits.idle.udp_s,
        )
        self.sock = Sock(rules.net, sock_limits, resolve)

    async def handle(self, stream: TunnelledStream) -> None:
        """Serve a stream of service `proxy`."""
        await self.service.handle(stream)

    def services(self) -> tuple[str, ...]:
        """For our record, as of now."""
        return self.service.services()


def exits_of(core: Node, now: Callable[[], float]) -> Exits:
    """The exits of a node's realm, by the routes it has at the time."""

    def cost_us(destination: NodeId) -> int | None:
        choice = core.table.to(destination, now())
        return None if choice is None else choice.route.cost_us

    return lambda: known_exits(core.membership.members, core.database.records, cost_us)
