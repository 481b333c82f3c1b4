"""Asks the mesh node that runs beside the agent, if one does, how its links are."""

import logging
from pathlib import Path

from rookery.errors import RookeryError
from rookery.wire.telemetry import LinkSample

TIMEOUT_S = 2.0

_BITS = 8
_log = logging.getLogger(__name__)


class NodeLinks:
    """The control socket of one node; one that is away has no links to tell of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_away = False

    async def sample(self) -> tuple[LinkSample, ...]:
        """What it measured, the links in use first."""
        # Loaded here, as few agents have a node beside them, and it takes megabytes.
        from rookery.runtime.control import FILE_NAME
        from rookery.runtime.control_client import connected
        from rookery.runtime.control_lines import Do, Request
        from rookery.runtime.snapshot import Peer

        try:
            async with connected(self._folder / FILE_NAME, TIMEOUT_S) as node:
                peers = await node.all(Request(do=Do.PEERS), Peer)
        except RookeryError as error:
            if not self._is_away:
                _log.warning("no links of a node: %s", error)
            self._is_away = True
            return ()
        self._is_away = False
        return tuple(
            LinkSample(
                peer=peer.node.hashname,
                path=peer.used.transport if peer.used is not None else "",
                rtt_ms=round(peer.rtt_ms, 3),
                loss=round(max(peer.loss_in or 0.0, peer.loss_out or 0.0), 4),
                rate_kbps=round((peer.rate_bytes_s or 0) * _BITS / 1000, 1),
            )
            for peer in sorted(peers, key=lambda peer: peer.used is None)
            if peer.rtt_ms is not None
        )
