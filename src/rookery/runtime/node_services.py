"""What a node does for members beside carrying their packets: proxy, files and bench.

All answer from the start, so that who asks in vain hears why. But the code of each is loaded when
it is first used: it takes memory, and most nodes only carry packets.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from rookery.mesh.bench import WayFigures
from rookery.mesh.node import Node
from rookery.mesh.services import BENCH, FILES, PROXY
from rookery.runtime.bench.ways import way_figures
from rookery.runtime.tunnel_stream import TunnelStream
from rookery.runtime.tunnels import Tunnels

if TYPE_CHECKING:
    from rookery.mesh.files.folder import FolderRules
    from rookery.mesh.proxy.rules import ProxyRules
    from rookery.runtime.bench.service import BenchService
    from rookery.runtime.files.service import FileService
    from rookery.runtime.proxy.devices import Devices
    from rookery.runtime.proxy.proxy import Proxy


class NodeServices:
    """The part of a `MeshNode` that members ask for something."""

    def __init__(
        self,
        core: Node,
        stir: Callable[[], None],
        now: Callable[[], float],
        *,
        rules: "ProxyRules | None",
        devices: "Devices | None",
        folders: "FolderRules | None",
        is_benched: bool,
    ) -> None:
        self.core = core
        self.tunnels = Tunnels(core, stir, now)
        self._now = now
        self._rules = rules
        self._devices = devices
        self._folders = folders
        self._is_benched = is_benched
        self.tunnels.serve(PROXY, self._handle_proxy)
        self.tunnels.serve(FILES, self._handle_files)
        self.tunnels.serve(BENCH, self._handle_bench)
        if folders is not None:
            _ = self.files  # asks how to make files, for which nobody else may be making any

    # --- proxy ---

    @cached_property
    def proxy(self) -> "Proxy":
        """Needed also without rules: listeners at exits answer through it."""
        from rookery.runtime.proxy.proxy import Proxy, exits_of

        exits = exits_of(self.core, self._now)
        return Proxy(self.tunnels.open, exits, rules=self._rules, devices=self._devices)

    def offered(self) -> tuple[str, ...]:
        """What our record should say of the proxy; serial lines come and go."""
        return () if self._rules is None else self.proxy.services()

    async def _handle_proxy(self, stream: TunnelStream) -> None:
        await self.proxy.handle(stream)

    # --- files ---

    @cached_property
    def files(self) -> "FileService":
        from rookery.runtime.files.service import FileService

        return FileService(self._folders)

    async def _handle_files(self, stream: TunnelStream) -> None:
        await self.files.handle(stream)

    # --- bench ---

    @cached_property
    def bench(self) -> "BenchService":
        from rookery.runtime.bench.service import BenchService

        return BenchService(self.way_figures, is_on=self._is_benched)

    def way_figures(self, hashname: str) -> tuple[WayFigures, ...]:
        """What went which way to a member since the tunnel with it began."""
        return way_figures(self.tunnels.explain(hashname))

    async def _handle_bench(self, stream: TunnelStream) -> None:
        await self.bench.handle(stream)
