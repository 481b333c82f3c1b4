"""Queries of pages to the lake, cached and with bounded concurrency and time.

    handler ── cache (seconds) ── queue (2 run, 16 wait) ── worker's query session ── files

The lake is optional, and so are the packages that read it: they are imported by the first query. A
lake that is missing, empty or half written gives LakeUnavailableError, or no rows. SQL is written
in the code; input is passed as parameters.
"""

import asyncio
import importlib.util
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from typing import TYPE_CHECKING, TypeVar, cast

from rookery.errors import CongestionError, LocalError
from rookery.web.http.problems import RequestRefusedError

if TYPE_CHECKING:
    from rookery.lake.engine.run_record import RunRecord
    from rookery.lake.query.query_session import LakeQuerySession, TableFreshness
    from rookery.web.site import WebSite

CONCURRENT_MAX = 2
WAITING_MAX = 16
ANSWER_S = 10.0
KEPT_S = 3.0
VIEW_KEPT_S = 30.0  # for what takes a look at much, and changes with the pipeline's runs only
FRESHNESS_KEPT_S = 10.0  # as it looks at every table's log
KEPT_MAX = 256  # answers
ROWS_MAX = 1000

Value = str | int | float | bool | date | datetime | None
Row = dict[str, object]

_NEEDED = ("duckdb", "pyarrow", "deltalake")
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class LakeUnavailableError(RequestRefusedError):
    """The lake cannot be read now; pages show why, and the rest of their content."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "lake_away", detail, retry_after=5)


class HubLakeReader:
    """Reader of one lake; `close` ends its threads."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._threads = ThreadPoolExecutor(CONCURRENT_MAX, thread_name_prefix="lake")
        self._turns = asyncio.Semaphore(CONCURRENT_MAX)
        self._pending = 0
        self._idle: list[LakeQuerySession] = []  # not running a query
        self._busy: set[LakeQuerySession] = set()
        self._kept: OrderedDict[object, tuple[float, asyncio.Task[object]]] = OrderedDict()

    async def rows(
        self, sql: str, *parameters: Value, rows_max: int = ROWS_MAX, kept_s: float = KEPT_S
    ) -> list[Row]:
        """Rows of a query, at most `rows_max`; LakeUnavailableError, CongestionError."""

        def work(query: "LakeQuerySession") -> list[Row]:
            return list(query.answer(sql, parameters, rows_max).rows.to_pylist())

        return await self._answer((sql, parameters, rows_max), work, kept_s)

    async def freshness(self) -> "dict[str, TableFreshness]":
        """Freshness of all tables, by path such as `insights/outages`."""
        return await self._answer("freshness", lambda query: query.freshness(), FRESHNESS_KEPT_S)

    async def last_run(self) -> "RunRecord | None":
        """The record of the last pipeline run."""
        return await self._answer("last run", lambda query: query.last_run())

    def close(self) -> None:
        """End the workers; queries under way fail."""
        for query in tuple(self._busy):
            query.interrupt()
        for query in self._idle:
            query.close()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer(
        self, key: object, work: "Callable[[LakeQuerySession], _T]", kept_s: float = KEPT_S
    ) -> _T:
        """Run a query, or share the answer of the same one within seconds."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(key)
        if kept is None or loop.time() >= kept[0]:
            if self._pending >= CONCURRENT_MAX + WAITING_MAX:
                raise CongestionError("too many questions to the lake at a time")
            self._pending += 1
            answer = loop.create_task(self._turn(work))
            answer.add_done_callback(self._answered)
            self._kept[key] = kept = (loop.time() + kept_s, answer)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return cast("_T", await asyncio.shield(kept[1]))  # the key tells its type

    def _answered(self, answer: "asyncio.Task[object]") -> None:
        self._pending -= 1
        if not answer.cancelled():
            answer.exception()  # retrieved, or asyncio would log it when no caller is left

    async def _turn(self, work: "Callable[[LakeQuerySession], object]") -> object:
        async with self._turns:
            return await self._work(work)

    async def _work(self, work: "Callable[[LakeQuerySession], _T]") -> _T:
        loop = asyncio.get_running_loop()
        query: LakeQuerySession | None = None

        def in_thread() -> _T:
            nonlocal query
            query = self._idle.pop() if self._idle else _opened(self.url)
            self._busy.add(query)
            try:
                answer = work(query)
            finally:
                self._busy.discard(query)
            self._idle.append(query)  # a failed one is not reused
            return answer

        running: Awaitable[_T] = loop.run_in_executor(self._threads, in_thread)
        try:
            async with asyncio.timeout(ANSWER_S):
                return await running
        except TimeoutError:
            if query is not None:
                query.interrupt()
            raise LakeUnavailableError(
                f"the lake took longer than {ANSWER_S:g} s to answer"
            ) from None
        except RequestRefusedError:
            raise
        except (LocalError, OSError) as error:
            _log.warning("the lake at %s cannot be asked: %s", self.url, error)
            raise LakeUnavailableError(f"the lake cannot be read: {_first_line(error)}") from error


def lake_of(site: "WebSite") -> HubLakeReader:
    """The hub's lake; 404 if it has none."""
    if site.lake is None:
        detail = "this hub knows no lake; start it with: rookery hub --lake FOLDER"
        raise RequestRefusedError(404, "no_lake", detail)
    return site.lake


def _opened(url: str) -> "LakeQuerySession":
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise LakeUnavailableError("this hub lacks what reads a lake: pip install 'rookery[lake]'")
    from rookery.lake.engine.delta import Lake
    from rookery.lake.query.query_session import LakeQuerySession

    return LakeQuerySession(Lake(url))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
