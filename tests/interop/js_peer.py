"""A telehash-js endpoint as a child process: calls out, values and events back.

    test ── {"call": 1, "command": "link", …} ──▶ node js/peer.js
         ◀── {"call": 1, "value": …} ────────────
         ◀── {"event": "status", …} ─────────────

The commands are the methods of js/endpoint.js and js/channels.js.
"""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections import defaultdict, deque
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Protocol, Self

from rookery.wire.link.lob import JsonObject

PROGRAM = Path(__file__).parent / "js" / "peer.js"
# telehash-js leaves rejected promises behind and uses what Node has deprecated since.
NODE = ("node", "--unhandled-rejections=warn", "--no-deprecation")
WAIT_S = 75.0  # longer than any wait inside peer.js, so its own words reach the test
LINE_SIZE_MAX = 1 << 20
CONSOLE_LINES_MAX = 100


class JsPeerError(Exception):
    """The JavaScript side failed: its own words, then the end of its console."""


class StartJsPeer(Protocol):
    """What the `js_peer` fixture hands out."""

    def __call__(
        self,
        *csids: str,
        transports: Sequence[str] = ("udp4",),
        accept: str = "all",
        keepalive_ms: int | None = None,
        identity: JsonObject | None = None,
    ) -> Awaitable["JsPeer"]: ...


class JsPeer:
    """One running Node process; `hashname` and `link` are known after `create`."""

    def __init__(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        self.hashname = ""
        self.link: JsonObject = {}
        self._process = process
        self._calls: dict[int, asyncio.Future[object]] = {}
        self._events: defaultdict[str, asyncio.Queue[JsonObject]] = defaultdict(asyncio.Queue)
        self._console: deque[str] = deque(maxlen=CONSOLE_LINES_MAX)
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._read_console())]

    @classmethod
    async def start(cls, node_modules: Path) -> Self:
        process = await asyncio.create_subprocess_exec(
            *NODE,
            str(PROGRAM),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LINE_SIZE_MAX,
            env={**os.environ, "NODE_PATH": str(node_modules)},
        )
        return cls(process)

    async def stop(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await asyncio.gather(*self._tasks)

    async def create(
        self,
        csids: Sequence[str],
        transports: Sequence[str],
        accept: str,
        keepalive_ms: int | None,
        identity: JsonObject | None = None,
    ) -> None:
        """Make its endpoint; `identity`, as the command of that name tells, gives it old keys."""
        self.link = await self.call(
            "create",
            csids=list(csids),
            transports=list(transports),
            accept=accept,
            keepaliveMs=keepalive_ms,
            id=identity,
        )
        self.hashname = str(self.link["hashname"])

    async def call(self, command: str, **arguments: object) -> JsonObject:
        """Have the peer do it; its answer, empty if it has nothing to say."""
        call = len(self._calls)
        answer = asyncio.get_running_loop().create_future()
        self._calls[call] = answer
        assert self._process.stdin is not None
        order = json.dumps({"call": call, "command": command, **arguments})
        self._process.stdin.write(f"{order}\n".encode())
        async with asyncio.timeout(WAIT_S):
            value = await answer
        return value if isinstance(value, dict) else {"value": value}

    async def event(self, name: str, **facts: object) -> JsonObject:
        """The next event of that name that agrees with all facts; earlier ones are dropped."""
        queue = self._events[name]
        async with asyncio.timeout(WAIT_S):
            while True:
                event = await queue.get()
                if facts.items() <= event.items():
                    return event

    async def up(self, hashname: str) -> None:
        """Wait until the peer holds its link to that hashname for established."""
        await self.event("status", hashname=hashname, up=True)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._take(json.loads(line))
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(self._failure("the peer is gone"))

    def _take(self, line: JsonObject) -> None:
        if "event" in line:
            self._events[str(line["event"])].put_nowait(line)
            return
        answer = self._calls[int(str(line["call"]))]
        if answer.done():  # the test no longer waits
            return
        if "error" in line:
            answer.set_exception(self._failure(str(line["error"])))
        else:
            answer.set_result(line["value"])

    async def _read_console(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._console.append(line.decode(errors="replace"))

    def _failure(self, reason: str) -> JsPeerError:
        return JsPeerError(f"{reason}\n{''.join(self._console)}")
