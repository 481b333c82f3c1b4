"""Which modules are compiled."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"

# What profiles show, by package.
MODULES = {
    "wire": (
        "cloak",
        "crow_message",
        "crow_node",
        "crow_packet",
        "frame",
        "outbox_reader",
        "outbox_request",
        "tail",
        "tunnel",
        "tunnel_data",
        "tunnel_reader",
    ),
    "identity": ("cs40", "cs40_session", "replay"),
    "link": ("endpoint", "exchange", "link", "paths", "rounds", "timers", "traffic"),
    "crow": (
        "broker",
        "broker_node",
        "chunks",
        "clients",
        "delivery",
        "duplicates",
        "lanes",
        "node",
        "notices",
        "proofs",
        "pubsub",
        "pubsub_node",
        "recent",
        "seqids",
        "subscriber",
        "subscriptions",
        "themes",
        "tower",
    ),
    "mesh": ("forwarding", "neighbour", "node", "standing_queue", "transit", "tunnelling", "watch"),
    "mesh.tunnel": (
        "congestion",
        "credit",
        "delivery",
        "dispatch",
        "engine",
        "inbound",
        "inflow",
        "intake",
        "notes",
        "outbound",
        "outflow",
        "packer",
        "ranges",
        "receiving",
        "reinjection",
        "round_trip",
        "scheduler",
        "send_buffer",
        "sending",
        "sent_packet",
        "stream",
        "stream_calls",
        "streams",
        "tunnel",
        "tunnels",
        "turns",
        "ways",
    ),
    "outbox": ("expiry", "intake", "peer", "pool", "request", "sending", "session", "working_list"),
    "fleet": ("lineage", "report_lane", "secret_cache", "secrets"),
    "hub": ("arrival", "datagram_port", "recent", "report_batch", "report_group"),
    "runtime": ("mesh", "pump", "residence", "tunnel_stream", "tunnels"),
    "runtime.crow": ("client", "inbox", "outcomes", "pump", "threshold", "tower", "udp_gate"),
    "runtime.outbox": ("conversation", "handling"),
    "runtime.gates": ("burst_socket", "connection", "framing", "segmentation", "tcp_gate"),
    "runtime.proxy": ("idle", "sluice", "socket_stream"),
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
