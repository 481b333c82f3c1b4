"""The demo's lake: lands the synthetic past, then runs on what is observed, and exports.

    demo past ──▶ lake run --every ──run is over──▶ lake export ──▶ hub and nodes follow it

All of it in processes of their own that give way to everything else. One that ends before it should
is started again, after a pause that grows as long as that does not help.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from rookery.cli.demo.child import NICE, child
from rookery.cli.demo.folder import DemoFolder
from rookery.errors import RookeryError

MEMORY = "1g"
AGAIN_S = 5.0
AGAIN_MAX_S = 60.0
SETTLED_S = 300.0  # who has lived that long begins with a short pause again

Say = Callable[[str], None]
Tell = Callable[[str, Mapping[str, object]], None]


class _ProgressLine(msgspec.Struct):
    """A line of `lake run --json`."""

    kind: str = msgspec.field(name="is", default="")
    table: str = ""
    outcome: str = ""
    ok: bool = False
    took_s: float = 0.0
    step: str | None = None
    error: str | None = None
    log: str | None = None


class DemoPipeline:
    """Runs until cancelled; calls `tell` for each run and `say` for other errors."""

    def __init__(
        self,
        folder: DemoFolder,
        spools: Sequence[Path],
        *,
        days: int,
        every: str,
        tell: Tell,
        say: Say,
    ) -> None:
        self._folder = folder
        self._spools = spools
        self._days = days
        self._every = every
        self._tell = tell
        self._say = say
        self._began_s = time.monotonic()
        self._runs = 0

    async def run(self, are_running: asyncio.Event) -> None:
        """Generate the past at once; start the runs when the devices report."""
        await self._tried(self._past)
        await are_running.wait()
        await self._tried(self._follow)

    async def _tried(self, work: Callable[[], Awaitable[None]]) -> None:
        """Repeat the work until it succeeds."""
        pause_s = AGAIN_S
        while True:
            began_s = time.monotonic()
            try:
                return await work()
            except (RookeryError, OSError) as error:
                if time.monotonic() - began_s > SETTLED_S:
                    pause_s = AGAIN_S
                self._say(f"the lake stopped: {error}; it is started again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, AGAIN_MAX_S)

    async def _past(self) -> None:
        """Generate the past, unless the lake has it already."""
        folder = self._folder
        command = ("demo", "past", "--folder", str(folder.path), "--days", str(self._days))
        async with child("past", command, log=folder.log("lake"), nice=NICE) as running:
            if await running.wait():
                await running.failed()

    async def _follow(self) -> None:
        folder = self._folder
        spools = [word for spool in self._spools for word in ("--spool", str(spool))]
        command = ("lake", "run", "--data", str(folder.lake), *spools)
        options = ("--every", self._every, "--memory", MEMORY, "--log", str(folder.log("spark")))
        async with child(
            "pipeline",
            [*command, *options, "--json"],
            log=folder.log("lake"),
            nice=NICE,
            environment=self._environment(),
        ) as running:
            async for text in running.lines():
                with suppress(msgspec.DecodeError):  # a library's word among ours
                    await self._on_progress(msgspec.json.decode(text, type=_ProgressLine))
            await running.failed()

    async def _on_progress(self, line: _ProgressLine) -> None:
        if line.kind == "step" and line.outcome == "done":
            self._tell("step", {"table": line.table, "took_s": line.took_s})
        if line.kind == "lost":
            self._say(f"{line.error}; a new one is started; see {line.log}")
        if line.kind != "run":
            return
        self._runs += 1
        if line.ok:
            await self._export()
        since_s = round(time.monotonic() - self._began_s, 1)
        numbers = {"run": self._runs, "ok": line.ok, "took_s": line.took_s, "since_s": since_s}
        self._tell("run", {**numbers, "step": line.step, "error": line.error, "log": line.log})

    async def _export(self) -> None:
        folder = self._folder
        keys = ("--id", str(folder.lake_keys), "--out", str(folder.export))
        command = ("lake", "export", "--data", str(folder.lake), *keys, "--json")
        async with child(
            "export", command, log=folder.log("lake"), out=folder.log("export"), nice=NICE
        ) as exporting:
            await exporting.wait()  # what it could not say goes to its log, and the next one may

    def _environment(self) -> dict[str, str]:
        """Spark writes nothing outside of the folder either."""
        temporary = str(self._folder.temporary.absolute())
        return {
            "TMPDIR": temporary,
            "SPARK_LOCAL_DIRS": temporary,
            "JAVA_TOOL_OPTIONS": f"-XX:-UsePerfData -Djava.io.tmpdir={temporary}",
        }
