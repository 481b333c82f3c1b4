"""Which modules are compiled."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"

# What profiles show, by package.
MODULES = {
    "wire.link": (
        "cloak",
        "framing",
    ),
    "wire.crow": (
        "message",
        "node",
        "packet",
    ),
    "wire.outbox": (
        "reader",
        "request",
    ),
    "wire": ("octets",),
    "wire.mesh": (
        "tunnel_data",
        "tunnel_packet",
        "tunnel_reader",
    ),
    "identity": (
        "cs40",
        "cs40_session",
        "replay",
    ),
    "link": (
        "endpoint",
        "link",
        "paths",
        "timers",
        "traffic",
    ),
    "link.session": (
        "exchange",
        "handshake_schedule",
    ),
    "crow.pubsub": (
        "broker",
        "broker_node",
        "client_node",
        "clients",
        "orders",
        "subscriber",
        "subscriptions",
        "themes",
    ),
    "crow.nodes": (
        "nodes",
        "reassembly",
    ),
    "crow.tower": (
        "address_validation",
        "delivery",
        "duplicates",
        "recent_packets",
        "sequence_ids",
        "tower",
    ),
    "crow": (
        "packet_events",
        "timer_queues",
    ),
    "mesh.routing": (
        "data_plane",
        "forwarding",
    ),
    "mesh.membership": ("neighbour",),
    "mesh": ("node",),
    "mesh.quality": (
        "path_monitor",
        "standing_queue",
    ),
    "mesh.tunnel": (
        "node_tunnels",
        "tunnel",
        "tunnels",
    ),
    "mesh.tunnel.paths": (
        "congestion",
        "delivery_rate",
        "inbound_path",
        "outbound_path",
        "path_set",
        "round_trip",
        "scheduler",
    ),
    "mesh.tunnel.streams": (
        "flow_control",
        "ranges",
        "receive_half",
        "send_half",
        "stream",
        "stream_input",
        "stream_output",
        "stream_table",
    ),
    "mesh.tunnel.packets": (
        "control_frames",
        "packet_builder",
        "packet_receiver",
        "packet_sender",
        "reinjection",
        "sent_packet",
    ),
    "outbox": (
        "intake",
        "lists",
        "peer",
        "pool",
        "request",
        "send_queue",
        "session",
    ),
    "fleet.reports": (
        "replay_window",
        "report_fast_path",
    ),
    "fleet.enrolment": (
        "secret_cache",
        "secrets",
    ),
    "hub.reports": (
        "datagram_socket",
        "recent_telemetry",
        "report_batch",
    ),
    "runtime.endpoint": (
        "endpoint",
        "pump",
    ),
    "runtime.node": ("driver",),
    "runtime.tunnels": (
        "stream",
        "tunnels",
    ),
    "runtime.crow": (
        "client",
        "inbox",
        "pending_outcomes",
        "pump",
        "tower",
    ),
    "runtime.crow.gates": (
        "codec",
        "udp_gate",
    ),
    "runtime.outbox": (
        "connection",
        "handling",
    ),
    "runtime.endpoint.gates": (
        "burst_socket",
        "connection",
        "framing",
        "segmentation",
        "stream_gate",
        "tcp_gate",
        "unix_gate",
    ),
    "runtime.proxy": (
        "direct_copy",
        "idle_timeout",
        "tcp_stream",
    ),
}


def sources() -> list[Path]:
    """The modules to compile."""
    return [
        SOURCES.joinpath("rookery", *package.split("."), f"{name}.py")
        for package, names in MODULES.items()
        for name in names
    ]


def used() -> set[Path]:
    """The modules to compile, and what they import: types and constants of it are compiled in."""
    found: set[Path] = set()
    ahead = set(sources())
    while ahead:
        path = ahead.pop()
        found.add(path)
        ahead |= {each for name in _imported(path) for each in _files(name)} - found
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(module: str) -> Iterator[Path]:
    path = SOURCES.joinpath(*module.split("."))
    yield from (each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file())
