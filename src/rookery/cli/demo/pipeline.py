"""The lake's work: its past first, then whatever is observed, again and again; and its exports.

    demo past ──▶ lake run --every ──run is over──▶ lake export ──▶ hub and gateways follow it

All of it in processes of their own that give way to everything else.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from rookery.cli.demo.child import NICE, child
from rookery.cli.demo.folder import DemoFolder

EVERY = "45s"
MEMORY = "1g"

Tell = Callable[[str, Mapping[str, object]], None]


class _Line(msgspec.Struct):
    """What `lake run --json` says."""

    kind: str = msgspec.field(name="is", default="")
    table: str = ""
    outcome: str = ""
    ok: bool = False
    took_s: float = 0.0


class Pipeline:
    """Until cancelled; `tell` hears of each run."""

    def __init__(self, folder: DemoFolder, spools: Sequence[Path], days: int, tell: Tell) -> None:
        self._folder = folder
        self._spools = spools
        self._days = days
        self._tell = tell
        self._began_s = time.monotonic()
        self._runs = 0

    async def run(self, are_living: asyncio.Event) -> None:
        """The past is made at once, the rest when those who report are there."""
        folder = self._folder
        await self._once("past", "demo", "past", "--folder", str(folder.path))
        await are_living.wait()
        spools = [word for spool in self._spools for word in ("--spool", str(spool))]
        command = ("lake", "run", "--data", str(folder.lake), *spools)
        options = ("--every", EVERY, "--memory", MEMORY, "--json")
        async with child(
            "lake",
            [*command, *options],
            log=folder.log("lake"),
            nice=NICE,
            environment=self._environment(),
        ) as running:
            async for text in running.lines():
                with suppress(msgspec.DecodeError):  # a library's word among ours
                    await self._heard(msgspec.json.decode(text, type=_Line))
            await running.failed()

    async def _heard(self, line: _Line) -> None:
        if line.kind == "step" and line.outcome == "done":
            self._tell("step", {"table": line.table, "took_s": line.took_s})
        if line.kind != "run":
            return
        self._runs += 1
        await self._export()
        since_s = round(time.monotonic() - self._began_s, 1)
        numbers = {"run": self._runs, "ok": line.ok, "took_s": line.took_s, "since_s": since_s}
        self._tell("run", numbers)

    async def _export(self) -> None:
        folder = self._folder
        keys = ("--id", str(folder.lake_keys), "--out", str(folder.export))
        command = ("lake", "export", "--data", str(folder.lake), *keys, "--json")
        async with child(
            "export", command, log=folder.log("lake"), out=folder.log("export"), nice=NICE
        ) as exporting:
            await exporting.wait()  # what it could not say goes to its log, and the next one may

    async def _once(self, name: str, *arguments: str) -> None:
        days = ("--days", str(self._days))
        async with child(
            name, [*arguments, *days], log=self._folder.log("lake"), nice=NICE
        ) as running:
            if await running.wait():
                await running.failed()

    def _environment(self) -> dict[str, str]:
        """Spark writes nothing outside of the folder either."""
        place = str(self._folder.temporary.absolute())
        return {
            "TMPDIR": place,
            "SPARK_LOCAL_DIRS": place,
            "JAVA_TOOL_OPTIONS": f"-XX:-UsePerfData -Djava.io.tmpdir={place}",
        }
