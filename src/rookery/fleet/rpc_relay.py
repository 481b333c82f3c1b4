"""The server's bookkeeping between one client and one router at a seat.

    client ─ call 7 ─▶ relay ─ call 1 ─▶ router
    client ◀─ answer 7 ─ relay ◀─ answer 1 ─ router

The router sees the relay's ids only, one call a message: a batch is taken apart, and answered as
one when each of its calls has an answer, an error or has run out of time. Whatever happens, a call
of the client gets exactly one answer while the client is there.
"""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from rookery.fleet import rpc_message
from rookery.fleet.rpc_message import (
    BUSY,
    CLIENT_LOST,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MESSAGE_SIZE_MAX,
    METHOD_NOT_FOUND,
    NULL,
    ROUTER_LOST,
    TIMED_OUT,
    Answer,
    Answers,
    Call,
    ErrorObject,
    RpcError,
)


class RelayLimits(msgspec.Struct, frozen=True):
    call_s: float = 30.0  # for the router to answer
    calls_max: int = 64  # open ones


LIMITS = RelayLimits()


class ToClient(msgspec.Struct, frozen=True):
    message: bytes


class ToRouter(msgspec.Struct, frozen=True):
    message: bytes


class Audit(msgspec.Struct, frozen=True):
    """What became of one call; its parameters are nobody's business."""

    who: str
    router: str
    method: str
    ms: int
    code: int  # 0 when it was answered with a result, or was a notification


Action = ToClient | ToRouter | Audit


class _Waiting:
    """The answers to one message of the client, until the last of them is there."""

    __slots__ = ("answers", "missing")

    def __init__(self, *, is_batch: bool) -> None:
        self.answers = Answers(is_batch=is_batch)
        self.missing = 0


class _Open(msgspec.Struct):
    id: bytes  # the client's
    method: str
    since: float
    waiting: _Waiting


@dataclass(slots=True)
class RpcRelay:
    """Takes messages and time, returns what to send to whom and what to note down."""

    who: str
    router: str
    limits: RelayLimits = LIMITS
    counters: Counter[str] = field(default_factory=Counter)
    _open: dict[bytes, _Open] = field(default_factory=dict)  # by our id; the oldest comes first
    _calls: int = 0
    _has_client: bool = False
    _has_router: bool = True

    @property
    def deadline(self) -> float | None:
        """When to call `tick`; None while no call is open."""
        for call in self._open.values():
            return call.since + self.limits.call_s
        return None

    @property
    def open_calls(self) -> int:
        return len(self._open)

    def client_came(self) -> None:
        self._has_client = True

    def client_lost(self, now: float) -> list[Action]:
        """Its open calls end without an answer: whoever comes next did not ask."""
        self._has_client = False
        calls = list(self._open.values())
        self._open.clear()
        return [self._audit(call.method, call.since, CLIENT_LOST, now) for call in calls]

    def router_lost(self, now: float) -> list[Action]:
        """Every open call is answered, and so is each that comes later."""
        self._has_router = False
        return self._fail(list(self._open), ROUTER_LOST, now)

    def tick(self, now: float) -> list[Action]:
        """Answer the calls whose time is over."""
        call_s = self.limits.call_s
        # The same sum as in `deadline`, or rounding would make the two disagree.
        late = [own for own, call in self._open.items() if call.since + call_s <= now]
        return self._fail(late, TIMED_OUT, now)

    def from_client(self, message: bytes, now: float) -> list[Action]:
        try:
            parsed = rpc_message.parse(message)
        except RpcError as error:
            self.counters["invalid"] += 1
            return [ToClient(rpc_message.failure(NULL, error).serialize())]
        waiting = _Waiting(is_batch=parsed.is_batch)
        actions: list[Action] = []
        for item in parsed.items:
            if isinstance(item, Call):
                actions += self._call(item, waiting, now)
            else:
                self.counters["invalid"] += 1
                waiting.answers.add(rpc_message.failure(item.id, RpcError(INVALID_REQUEST)))
        return actions + _complete(waiting)

    def from_router(self, message: bytes, now: float) -> list[Action]:
        """Answers go to who asked, notifications to the client; the rest is counted."""
        try:
            parsed = rpc_message.parse(message)
        except RpcError:
            self.counters["rubbish"] += 1
            return []
        actions: list[Action] = []
        for item in parsed.items:
            if isinstance(item, Answer):
                actions += self._answered(item, now)
            elif isinstance(item, Call):
                actions += self._called(item)
            else:
                self.counters["rubbish"] += 1
        return actions

    def _call(self, call: Call, waiting: _Waiting, now: float) -> list[Action]:
        if call.id is None:
            return self._notify(call, now)
        own = b"%d" % (self._calls + 1)
        message = rpc_message.passed_on(call, own)
        if (error := self._obstacle(message)) is not None:
            self.counters["refused"] += 1
            waiting.answers.add(rpc_message.failure(call.id, error))
            return [self._audit(call.method, now, error.code, now)]
        self._calls += 1
        self._open[own] = _Open(call.id, call.method, now, waiting)
        waiting.missing += 1
        return [ToRouter(message)]

    def _obstacle(self, message: bytes) -> RpcError | None:
        if not self._has_router:
            return RpcError(ROUTER_LOST)
        if len(self._open) >= self.limits.calls_max:
            return RpcError(BUSY, data=f"{self.limits.calls_max} calls are open")
        if len(message) > MESSAGE_SIZE_MAX:  # our id may be the longer one
            return RpcError(INVALID_REQUEST, data=f"more than {MESSAGE_SIZE_MAX} bytes")
        return None

    def _notify(self, call: Call, now: float) -> list[Action]:
        if not self._has_router:
            return [self._audit(call.method, now, ROUTER_LOST, now)]
        message = rpc_message.passed_on(call, None)
        return [ToRouter(message), self._audit(call.method, now, 0, now)]

    def _called(self, call: Call) -> list[Action]:
        if call.id is not None:
            self.counters["calls of the router"] += 1
            answer = rpc_message.failure(call.id, RpcError(METHOD_NOT_FOUND))
            return [ToRouter(answer.serialize())]
        if not self._has_client:
            self.counters["unheard"] += 1
            return []
        return [ToClient(rpc_message.passed_on(call, None))]

    def _answered(self, answer: Answer, now: float) -> list[Action]:
        call = self._open.pop(answer.id, None)
        if call is None:
            self.counters["strays"] += 1  # answered before, too late, or never asked for
            return []
        code = 0 if answer.error is None else _code(answer.error)
        if code is None:
            code = INTERNAL_ERROR
            self.counters["rubbish"] += 1
            answer = rpc_message.failure(call.id, RpcError(code, data="no error object"))
        return self._end(call, Answer(call.id, answer.result, answer.error), code, now)

    def _fail(self, owns: list[bytes], code: int, now: float) -> list[Action]:
        actions: list[Action] = []
        for own in owns:
            call = self._open.pop(own)
            actions += self._end(call, rpc_message.failure(call.id, RpcError(code)), code, now)
        return actions

    def _end(self, call: _Open, answer: Answer, code: int, now: float) -> list[Action]:
        call.waiting.answers.add(answer)
        call.waiting.missing -= 1
        return [*_complete(call.waiting), self._audit(call.method, call.since, code, now)]

    def _audit(self, method: str, since: float, code: int, now: float) -> Audit:
        return Audit(self.who, self.router, method, round((now - since) * 1000), code)


def _complete(waiting: _Waiting) -> list[Action]:
    message = None if waiting.missing else waiting.answers.message()
    return [] if message is None else [ToClient(message)]


def _code(error: bytes) -> int | None:
    try:
        return ErrorObject.parse(error).code
    except RpcError:
        return None
