"""Live streams: topics are read while they have followers, who are sent the changes.

    ticker ── feed (topic, or topic and account) ── follower ── stream of one page

One ticker serves all; a shared topic is read once for all followers, any other once per account.
Streams of sessions that ended, or of accounts whose role changed, end within seconds. Once all
places are taken, the account with most streams loses one to an account with at least two fewer.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from rookery.errors import RookeryError
from rookery.fleet.rendezvous.seat_authority import CredentialBearer
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError, TooManyRequestsError, problem_of
from rookery.web.live.feed import LiveFeed, LiveFollower
from rookery.web.live.topic import LiveTopic

if TYPE_CHECKING:
    from rookery.web.site import WebSite

STREAMS_PER_ACCOUNT = 8
STREAMS_MAX = 256
PULSE_S = 10.0  # so that a proxy between does not take a quiet stream for a dead one
CHECK_S = 1.0  # how often sessions of followers are checked
_READ_S = 10.0
_CONCURRENT_READS = 4
_BEGIN = b"retry: 1000\n\n"
_PULSE = b": \n\n"
_SIGNED_OUT = b"event: end\ndata: {}\n\n"

_log = logging.getLogger(__name__)


class LiveStreams:
    """All streams of one hub."""

    def __init__(self, site: "WebSite") -> None:
        self._site = site
        self._topics: dict[str, LiveTopic] = {}
        self._feeds: dict[tuple[str, int], LiveFeed] = {}
        self._followers: dict[LiveFollower, list[LiveFeed]] = {}
        self._ticker: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_CONCURRENT_READS)
        self._wake = asyncio.Event()
        self._is_closed = False

    def offer(self, topics: Iterable[LiveTopic]) -> None:
        """Register topics."""
        self._topics.update((topic.name, topic) for topic in topics)

    @property
    def topics(self) -> list[LiveTopic]:
        return list(self._topics.values())

    def check(self, caller: Caller, names: list[str]) -> list[LiveTopic]:
        """The topics of these names; an error if one is unknown or not for the caller."""
        found = []
        for name in dict.fromkeys(names):
            topic = self._topics.get(name)
            if topic is None:
                raise RequestRefusedError(404, "unknown", f"there is no topic {name}")
            if not caller.is_at_least(topic.role):
                raise RequestRefusedError(403, "role", f"{name} is for the role {topic.role}")
            found.append(topic)
        if not self._has_place(caller):
            raise TooManyRequestsError(5, "too many live pages are open; close one")
        return found

    async def events(self, caller: Caller, topics: list[LiveTopic]) -> AsyncGenerator[bytes, None]:
        """Server-sent events until either side ends it; first everything, then what changes."""
        if self._is_closed or not self._has_place(caller):
            return
        self._make_place(caller)
        follower = LiveFollower(caller)
        try:
            self._join(follower, topics)
            yield _BEGIN
            while data := await follower.next(PULSE_S) or (b"" if follower.is_over else _PULSE):
                yield data
        finally:
            self._leave(follower)

    def close(self) -> None:
        """End all streams, now."""
        self._is_closed = True
        for follower in self._followers:
            follower.end()
        for task in self._tasks:
            task.cancel()

    async def closed(self) -> None:
        """Wait until all tasks have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _has_place(self, caller: Caller) -> bool:
        ours = sum(one.caller.account == caller.account for one in self._followers)
        if ours >= STREAMS_PER_ACCOUNT:
            return False
        return len(self._followers) < STREAMS_MAX or self._surplus(caller) is not None

    def _surplus(self, caller: Caller) -> LiveFollower | None:
        """The newest stream of the account with most, if it has at least two more than the caller.

        With one more, the account that loses it would get it back by reconnecting.
        """
        used = Counter(follower.caller.account for follower in self._followers)
        account, count = used.most_common(1)[0]
        if count < used[caller.account] + 2:
            return None
        return next(one for one in reversed(self._followers) if one.caller.account == account)

    def _make_place(self, caller: Caller) -> None:
        if len(self._followers) < STREAMS_MAX:
            return
        if (surplus := self._surplus(caller)) is not None:
            surplus.end()
            self._leave(surplus)

    def _join(self, follower: LiveFollower, topics: list[LiveTopic]) -> None:
        feeds = [self._feed(topic, follower.caller) for topic in topics]
        self._followers[follower] = feeds
        for feed in feeds:
            feed.join(follower)
        self._wake.set()
        if self._ticker is None:
            self._ticker = self._own(self._tick())

    def _feed(self, topic: LiveTopic, caller: Caller) -> LiveFeed:
        key = (topic.name, 0 if topic.is_shared else caller.account)
        return self._feeds.setdefault(key, LiveFeed(topic, caller))

    def _leave(self, follower: LiveFollower) -> None:
        for feed in self._followers.pop(follower, ()):
            feed.followers.discard(follower)
        self._feeds = {key: feed for key, feed in self._feeds.items() if feed.followers}

    async def _tick(self) -> None:
        clock = asyncio.get_running_loop().time
        check_at = clock() + CHECK_S
        try:
            while self._followers:
                self._wake.clear()
                for feed in self._feeds.values():
                    if feed.due <= clock() and not feed.is_reading:
                        feed.due = clock() + feed.topic.every_s
                        feed.is_reading = True
                        self._own(self._read(feed))
                if check_at <= clock():
                    await self._check()
                    check_at = clock() + CHECK_S
                dues = [feed.due for feed in self._feeds.values() if not feed.is_reading]
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min([*dues, check_at])):
                        await self._wake.wait()
        finally:
            self._ticker = None

    async def _read(self, feed: LiveFeed) -> None:
        try:
            async with self._turns, asyncio.timeout(_READ_S):
                feed.read(await feed.topic.read(self._site, feed.caller))
        except Exception as error:  # the edge: a topic that breaks ends no stream
            problem = problem_of(error)
            if problem.status == 500 and not isinstance(error, TimeoutError):
                _log.error("the topic %s broke", feed.topic.name, exc_info=error)
            feed.failed(problem.detail)
        finally:
            feed.is_reading = False
            self._wake.set()

    async def _check(self) -> None:
        """End streams whose session ended, or whose account has another role."""
        site, now = self._site, self._site.wall()
        hashes = {follower.caller.credential for follower in self._followers}
        with suppress(RookeryError):  # a store that does not answer: try next time
            bearers = await site.credentials.bearers(hashes, now)
            for follower in list(self._followers):
                caller = follower.caller
                bearer = bearers.get(caller.credential)
                if bearer != CredentialBearer(caller.account, caller.role):
                    follower.put(_SIGNED_OUT)
                    follower.end()

    def _own(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
