"""Advice for a running node: from a file, or from a member that has it.

file ──every 2 s──────────────┐
                              ├──▶ the core's advice ───▶ costs of our links
member ──every three minutes──┘         └──▶ members that request it, where it is served

The switch is a file, too: while it exists, no advice is followed. Advice of a member replaces only
older advice; while the member is unreachable, what was learned stays until it expires.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from rookery.errors import CongestionError, DecodeError, RookeryError
from rookery.identity.artifact import open_advice
from rookery.mesh.quality.advice_answer import ANSWER_SIZE_MAX, AdviceAnswer, answer, parse_answer
from rookery.mesh.services import ADVICE
from rookery.runtime.artifact_file import LOOK_S, ArtifactFile, ArtifactState
from rookery.runtime.node.node import MeshNode
from rookery.runtime.tunnels.stream import TunnelStream

SWITCH = "advice.off"  # in the realm's folder
FETCH_S = 180.0
RETRY_S = 10.0
ANSWER_S = 30.0
ASKERS_MAX = 16

_log = logging.getLogger(__name__)


class AdviceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where advice comes from and whose is believed; nobody's is by default."""

    switch: Path  # no advice while this is there
    advisors: frozenset[str] = frozenset()  # hashnames
    file: Path | None = None  # else members are asked,
    members: tuple[str, ...] = ()  # these, or else the advisors
    is_served: bool = False
    look_s: float = LOOK_S
    fetch_s: float = FETCH_S


class AdviceFollower:
    """Keeps a node's cost advice as the file or the members have it; made by `follow_advice`."""

    def __init__(self, node: MeshNode, settings: AdviceSettings) -> None:
        self.problem = ""
        self._node = node
        self._cost_advice = node.core.cost_advice
        self._cost_advice.advisors = settings.advisors
        self._settings = settings
        self._file = None if settings.file is None else ArtifactFile(settings.file, self._heed)
        self._artifact: bytes | None = None
        self._is_off = False
        self._refetch = asyncio.Event()  # there is a reason to ask before it is time
        self._askers = 0
        self._logged: object = None
        if settings.is_served:
            node.serve(ADVICE, self._handle)

    @property
    def state(self) -> ArtifactState:
        if self._is_off:
            return ArtifactState.OFF
        if self._cost_advice.learned is None:
            return ArtifactState.MISSING if self._file is None else self._file.state
        is_current = self._cost_advice.is_current(time.time())
        return ArtifactState.FOLLOWED if is_current else ArtifactState.STALE

    async def watch(self) -> None:
        """Look at the switch and the file."""
        while True:
            self._look()
            self._log_changes()
            await asyncio.sleep(self._settings.look_s)

    async def fetch(self) -> None:
        """Ask members, where there is no file."""
        while True:
            wait_s = RETRY_S
            if self._is_off or await self._ask_all():
                wait_s = self._settings.fetch_s
            self._refetch.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._refetch.wait()
            except TimeoutError:
                continue

    @property
    def is_fetched(self) -> bool:
        return self._file is None

    # --- the switch and the file ---

    def _look(self) -> None:
        was_off, self._is_off = self._is_off, os.path.exists(self._settings.switch)
        self._cost_advice.advisors = frozenset() if self._is_off else self._settings.advisors
        if self._is_off:
            if not was_off:
                self._heed(None)
        elif self._file is not None:
            if was_off:
                self._file.forget()
            self._file.look()
            self.problem = self._file.problem
        elif was_off:
            self._refetch.set()

    def _heed(self, artifact: bytes | None) -> None:
        self._artifact = None
        self._cost_advice.heed(artifact)
        self._artifact = artifact

    def _log_changes(self) -> None:
        learned = self._cost_advice.learned
        status = (self.state, self.problem, None if learned is None else learned.issued_ms)
        if status == self._logged:
            return
        self._logged = status
        if learned is not None and self.state is ArtifactState.FOLLOWED:
            _log.info("following an advice by %s", learned.issuer)
        else:
            _log.warning("no advice is followed: %s", self.problem or self.state.value)

    # --- members ---

    async def _ask_all(self) -> bool:
        """Whether one of them answered."""
        for hashname in self._sources():
            try:
                async with asyncio.timeout(ANSWER_S):
                    data = await self._ask(hashname)
                self._take(data)
            except (RookeryError, TimeoutError) as error:
                self.problem = f"{hashname[:8]}: {error or 'no answer'}"
                continue
            self.problem = ""
            return True
        return False

    def _sources(self) -> Iterable[str]:
        wanted = self._settings.members or sorted(self._settings.advisors)
        known = self._node.core.membership
        others = [name for name in wanted if name != self._node.hashname]
        return [name for name in others if known.by_hashname(name) is not None]

    async def _ask(self, hashname: str) -> bytes:
        learned = self._cost_advice.learned
        meta = {} if learned is None else {"issued_ms": learned.issued_ms}
        stream = await self._node.open(hashname, ADVICE, meta)
        try:
            await stream.finish()
            data = b""
            while piece := await stream.read():
                data += piece
                if len(data) > ANSWER_SIZE_MAX:
                    raise DecodeError("more than any advice has")
        except BaseException:
            stream.abort()
            raise
        return data

    def _take(self, data: bytes) -> None:
        """RemoteError for what nobody trusted has signed; then all stays as it is."""
        answered, artifact = parse_answer(data)
        if self._is_off or answered is AdviceAnswer.SAME:
            return
        if answered is AdviceAnswer.NONE:
            self._heed(None)
            return
        learned, known = open_advice(artifact, self._settings.advisors), self._cost_advice.learned
        if known is None or learned.issued_ms > known.issued_ms:
            self._heed(artifact)

    async def _handle(self, stream: TunnelStream) -> None:
        if self._askers >= ASKERS_MAX:
            raise CongestionError("too many ask for advice at once")
        self._askers += 1
        try:
            learned = self._cost_advice.learned
            is_current = learned is not None and self._cost_advice.is_current(time.time())
            issued_ms = 0 if learned is None else learned.issued_ms
            said = answer(stream.meta, issued_ms, self._artifact if is_current else None)
            async with asyncio.timeout(ANSWER_S):
                await stream.write(said)
        except TimeoutError as error:
            raise CongestionError("nobody reads the advice") from error
        finally:
            self._askers -= 1


@asynccontextmanager
async def follow_advice(node: MeshNode, settings: AdviceSettings) -> AsyncIterator[AdviceFollower]:
    """While it lasts, the node's costs are as advised; afterwards as measured."""
    keeper, loop = AdviceFollower(node, settings), asyncio.get_running_loop()
    chores = [loop.create_task(keeper.watch())]
    if keeper.is_fetched:
        chores.append(loop.create_task(keeper.fetch()))
    try:
        yield keeper
    finally:
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        node.core.cost_advice.heed(None)
