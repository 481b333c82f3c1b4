"""Relay of JSON-RPC between one client and one device at a seat.

    client ─ call 7 ─▶ relay ─ call 1 ─▶ device
    client ◀─ answer 7 ─ relay ◀─ answer 1 ─ device

The device sees the relay's ids only, one call a message: a batch is taken apart, and answered as
one when each of its calls has an answer, an error or has timed out. Each call of the client gets
exactly one answer while the client is connected.
"""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from rookery.fleet.rpc import message as rpc_message
from rookery.fleet.rpc.message import (
    BUSY,
    CLIENT_LOST,
    DEVICE_LOST,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MESSAGE_SIZE_MAX,
    METHOD_NOT_FOUND,
    NULL,
    TIMED_OUT,
    RpcAnswer,
    RpcAnswers,
    RpcCall,
    RpcError,
    RpcErrorObject,
)


class RelayLimits(msgspec.Struct, frozen=True):
    call_s: float = 30.0  # for the device to answer
    calls_max: int = 64  # open ones


LIMITS = RelayLimits()


class SendToClient(msgspec.Struct, frozen=True):
    message: bytes


class SendToDevice(msgspec.Struct, frozen=True):
    message: bytes


class RelayedCall(msgspec.Struct, frozen=True):
    """The outcome of one call, without its parameters."""

    client: str
    device: str
    method: str
    ms: int
    code: int  # 0 when it was answered with a result, or was a notification


RelayAction = SendToClient | SendToDevice | RelayedCall


class _PendingRpcMessage:
    """The answers to one message of the client, until the last of them is there."""

    __slots__ = ("answers", "missing")

    def __init__(self, *, is_batch: bool) -> None:
        self.answers = RpcAnswers(is_batch=is_batch)
        self.missing = 0


class _OpenRpcCall(msgspec.Struct):
    id: bytes  # the client's
    method: str
    since: float
    waiting: _PendingRpcMessage


@dataclass(slots=True)
class RpcRelay:
    """Handles messages and timeouts; returns messages to send and calls to audit."""

    client: str
    device: str
    limits: RelayLimits = LIMITS
    counters: Counter[str] = field(default_factory=Counter)
    _open: dict[bytes, _OpenRpcCall] = field(
        default_factory=dict
    )  # by our id; the oldest comes first
    _calls: int = 0
    _has_client: bool = False
    _has_device: bool = True

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

    def client_lost(self, now: float) -> list[RelayAction]:
        """End its open calls without an answer: the next client did not make them."""
        self._has_client = False
        calls = list(self._open.values())
        self._open.clear()
        return [self._audit(call.method, call.since, CLIENT_LOST, now) for call in calls]

    def device_lost(self, now: float) -> list[RelayAction]:
        """Every open call is answered, and so is each that comes later."""
        self._has_device = False
        return self._fail(list(self._open), DEVICE_LOST, now)

    def tick(self, now: float) -> list[RelayAction]:
        """Answer the calls that have timed out."""
        call_s = self.limits.call_s
        # The same sum as in `deadline`, or rounding would make the two disagree.
        late = [own for own, call in self._open.items() if call.since + call_s <= now]
        return self._fail(late, TIMED_OUT, now)

    def from_client(self, message: bytes, now: float) -> list[RelayAction]:
        try:
            parsed = rpc_message.parse(message)
        except RpcError as error:
            self.counters["invalid"] += 1
            return [SendToClient(rpc_message.failure(NULL, error).serialize())]
        waiting = _PendingRpcMessage(is_batch=parsed.is_batch)
        actions: list[RelayAction] = []
        for item in parsed.items:
            if isinstance(item, RpcCall):
                actions += self._call(item, waiting, now)
            else:
                self.counters["invalid"] += 1
                waiting.answers.add(rpc_message.failure(item.id, RpcError(INVALID_REQUEST)))
        return actions + _complete(waiting)

    def from_device(self, message: bytes, now: float) -> list[RelayAction]:
        """Route answers to their calls and notifications to the client; count the rest."""
        try:
            parsed = rpc_message.parse(message)
        except RpcError:
            self.counters["rubbish"] += 1
            return []
        actions: list[RelayAction] = []
        for item in parsed.items:
            if isinstance(item, RpcAnswer):
                actions += self._answered(item, now)
            elif isinstance(item, RpcCall):
                actions += self._called(item)
            else:
                self.counters["rubbish"] += 1
        return actions

    def _call(self, call: RpcCall, waiting: _PendingRpcMessage, now: float) -> list[RelayAction]:
        if call.id is None:
            return self._notify(call, now)
        own = b"%d" % (self._calls + 1)
        message = rpc_message.passed_on(call, own)
        if (error := self._obstacle(message)) is not None:
            self.counters["refused"] += 1
            waiting.answers.add(rpc_message.failure(call.id, error))
            return [self._audit(call.method, now, error.code, now)]
        self._calls += 1
        self._open[own] = _OpenRpcCall(call.id, call.method, now, waiting)
        waiting.missing += 1
        return [SendToDevice(message)]

    def _obstacle(self, message: bytes) -> RpcError | None:
        if not self._has_device:
            return RpcError(DEVICE_LOST)
        if len(self._open) >= self.limits.calls_max:
            return RpcError(BUSY, data=f"{self.limits.calls_max} calls are open")
        if len(message) > MESSAGE_SIZE_MAX:  # our id may be the longer one
            return RpcError(INVALID_REQUEST, data=f"more than {MESSAGE_SIZE_MAX} bytes")
        return None

    def _notify(self, call: RpcCall, now: float) -> list[RelayAction]:
        if not self._has_device:
            return [self._audit(call.method, now, DEVICE_LOST, now)]
        message = rpc_message.passed_on(call, None)
        return [SendToDevice(message), self._audit(call.method, now, 0, now)]

    def _called(self, call: RpcCall) -> list[RelayAction]:
        if call.id is not None:
            self.counters["calls of the router"] += 1
            answer = rpc_message.failure(call.id, RpcError(METHOD_NOT_FOUND))
            return [SendToDevice(answer.serialize())]
        if not self._has_client:
            self.counters["unheard"] += 1
            return []
        return [SendToClient(rpc_message.passed_on(call, None))]

    def _answered(self, answer: RpcAnswer, now: float) -> list[RelayAction]:
        call = self._open.pop(answer.id, None)
        if call is None:
            self.counters["strays"] += 1  # answered before, too late, or never asked for
            return []
        code = 0 if answer.error is None else _code(answer.error)
        if code is None:
            code = INTERNAL_ERROR
            self.counters["rubbish"] += 1
            answer = rpc_message.failure(call.id, RpcError(code, data="no error object"))
        return self._end(call, RpcAnswer(call.id, answer.result, answer.error), code, now)

    def _fail(self, owns: list[bytes], code: int, now: float) -> list[RelayAction]:
        actions: list[RelayAction] = []
        for own in owns:
            call = self._open.pop(own)
            actions += self._end(call, rpc_message.failure(call.id, RpcError(code)), code, now)
        return actions

    def _end(
        self, call: _OpenRpcCall, answer: RpcAnswer, code: int, now: float
    ) -> list[RelayAction]:
        call.waiting.answers.add(answer)
        call.waiting.missing -= 1
        return [*_complete(call.waiting), self._audit(call.method, call.since, code, now)]

    def _audit(self, method: str, since: float, code: int, now: float) -> RelayedCall:
        return RelayedCall(self.client, self.device, method, round((now - since) * 1000), code)


def _complete(waiting: _PendingRpcMessage) -> list[RelayAction]:
    message = None if waiting.missing else waiting.answers.message()
    return [] if message is None else [SendToClient(message)]


def _code(error: bytes) -> int | None:
    try:
        return RpcErrorObject.parse(error).code
    except RpcError:
        return None
