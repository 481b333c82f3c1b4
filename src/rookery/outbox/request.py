"""Request: a payload for a peer, counted references, and the border between cancel and write.

    NEW ─▶ QUEUED ─▶ IN_SESSION ─▶ WRITING ─▶ WRITTEN ─▶ ACKNOWLEDGED | ANSWERED
             ▲ │         │            │          │
             └─┼─────────┴────────────┴──────────┘ the session is lost
               └─▶ CANCELLED | EXPIRED | FAILED

The border: `begin_write()` and `set_invalid()` are the only ways across it, each looks and sets
under the pool's guard, and nothing ever sets it back. So of the two exactly one wins, whatever the
threads do; a request that was cancelled is never written, and one whose write began is never
cancelled, also when its session is lost and it is written again.
"""

from collections.abc import Callable
from typing import Final, Protocol

from rookery.errors import ChannelError, DeniedError, RookeryError, UnreachableError, UsageError
from rookery.outbox.pool import RequestPool
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import Qos

_QOS: Final = tuple(Qos)
_NEW: Final = RequestState.NEW
_QUEUED: Final = RequestState.QUEUED
_WRITING: Final = RequestState.WRITING


class OutboxRequestHolder(Protocol):
    """The peer that has the request in its lists."""

    @property
    def host(self) -> str: ...

    def invalidated(self, request: "OutboxRequest") -> None: ...


class OutboxRequest:
    """Made by `create` with one reference, which is the caller's to release."""

    __slots__ = (
        "_border",
        "_pool",
        "answer",
        "attempts",
        "expires_at",
        "failure",
        "failure_text",
        "holder",
        "id",
        "is_queued",
        "made_at",
        "payload",
        "qos",
        "references",
        "size",
        "state",
        "wants_reply",
        "was_written",
        "watcher",
    )

    def __init__(
        self,
        pool: RequestPool,
        payload: bytes,
        qos: Qos,
        expires_at: float | None,
        wants_reply: bool,
    ) -> None:
        self.size = pool.take(len(payload))  # as the pool counts it
        self._pool = pool
        self._border: RequestState | None = (
            None  # WRITING once the write began, else how it ended before
        )
        self.payload = payload
        self.qos = qos
        self.expires_at = expires_at
        self.wants_reply = wants_reply
        self.references = 1
        self.state: RequestState = _NEW
        self.is_queued = False
        self.was_written = False  # all of it, in some session
        self.attempts = 0  # to write it
        self.made_at = 0.0  # set by an observer, monotonic
        self.id = 0  # given by the peer, rising
        self.holder: OutboxRequestHolder | None = None
        self.answer: bytes | None = None
        self.failure: RequestFailure | None = None
        self.failure_text = ""
        self.watcher: Callable[[OutboxRequest], object] | None = (
            None  # called at the end, by the loop
        )

    @staticmethod
    def create(
        pool: RequestPool,
        payload: bytes,
        *,
        qos: int = Qos.ONCE_AT_LEAST,
        expires_at: float | None = None,
        wants_reply: bool = False,
    ) -> "OutboxRequest":
        """UsageError when it is too large, CongestionError when the pool is used up."""
        return OutboxRequest(pool, payload, _QOS[qos], expires_at, wants_reply)

    # --- from any thread ---

    def acquire(self) -> None:
        """Take one more reference; the caller must hold one."""
        with self._pool.guard:
            assert self.references > 0, "a request was used after its last release"
            self.references += 1

    def release(self) -> None:
        """The last one returns its memory to the pool."""
        with self._pool.guard:
            self.let_go()

    def let_go(self) -> None:
        """As `release`, with the guard already held."""
        self.references -= 1
        assert self.references >= 0, "a request was released too often"
        if not self.references:
            self._pool.give_back(self.size)
            self.payload = b""

    def is_valid(self) -> bool:
        """False once it can never be written (again)."""
        return self._border is None or self._border is _WRITING

    def set_invalid(self) -> bool:
        """True: it has not been and will not be written. False: too late, the write began."""
        with self._pool.guard:
            if self._border is not None:
                return self._border is not RequestState.WRITING
            self._border = RequestState.CANCELLED
            if self.holder is None:
                self.state = RequestState.CANCELLED
                return True
            holder = self.holder
        holder.invalidated(self)
        return True

    @property
    def error(self) -> RookeryError | None:
        """Why it came to nothing; None while it may still come to something, or did."""
        match self.state:
            case RequestState.EXPIRED:
                return UnreachableError("the request expired before it could be written")
            case RequestState.CANCELLED:
                return DeniedError("the request was cancelled before it was written")
            case RequestState.FAILED if self.failure is RequestFailure.REFUSED:
                return ChannelError(self.failure_text)
            case RequestState.FAILED:
                assert self.failure is not None
                return UnreachableError(self.failure.value)
        return None

    # --- from the loop's thread ---

    @property
    def has_begun(self) -> bool:
        """Whether it is across the border."""
        return self._border is RequestState.WRITING

    def is_late(self, now: float) -> bool:
        """Whether its time is up."""
        return self.expires_at is not None and self.expires_at <= now

    def begin_write(self) -> bool:
        """Mark it as being written; False if it was invalidated first. True again for a repeat."""
        with self._pool.guard:
            return self.cross_border()

    def cross_border(self) -> bool:
        """As `begin_write`, with the guard already held."""
        if self._border is None:
            self._border = _WRITING
        self.attempts += 1
        return self._border is _WRITING

    def shut(self, end: RequestState) -> bool:
        """Prevent the write; False if it has begun."""
        with self._pool.guard:
            if self._border is None:
                self._border = end
            return self._border is not RequestState.WRITING

    @property
    def end_unwritten(self) -> RequestState:
        """How it ended on this side of the border."""
        assert self._border is not None
        assert self._border is not RequestState.WRITING
        return self._border

    def set_queued(self, id_: int, holder: OutboxRequestHolder) -> None:
        """Into a list, with a reference for it; under the guard."""
        if self.state is not _NEW:
            raise UsageError(f"a request is added once; this one is {self.state.value}")
        assert self.references > 0, "a request was used after its last release"
        self.references += 1
        self.id = id_
        self.holder = holder
        self.state = _QUEUED
        self.is_queued = True

    def set_requeued(self) -> None:
        """Back from a session that was lost."""
        self.state = _QUEUED
        self.is_queued = True

    def reset_queued(self) -> None:
        """Out of all lists that lead to a write."""
        self.is_queued = False

    def restore(self, *, is_begun: bool) -> None:
        """As it was before a restart: what may have been written counts as written."""
        if is_begun:
            self._border = RequestState.WRITING
            self.was_written = True
