"""JSON-RPC 2.0, the side that has the methods.

    bytes ─▶ parse ─▶ method by name ─▶ parameters by signature ─▶ handler ─▶ bytes, or nothing

A method is a function with types; they are what its parameters are checked by and what
`rpc.discover` tells. A batch is carried out in its order, one after the other.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from typing import TypeVar

import msgspec

from rookery.errors import DeniedError, RookeryError, UsageError
from rookery.fleet.rpc import message as rpc_message
from rookery.fleet.rpc.message import (
    DENIED,
    FAILED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NULL,
    RpcAnswer,
    RpcAnswers,
    RpcCall,
    RpcError,
    RpcItem,
)
from rookery.fleet.rpc.method import RpcMethod, open_rpc

DISCOVER = "rpc.discover"
METHODS_MAX = 1000

Handler = Callable[..., object]  # its result or an awaitable of it
Function = TypeVar("Function", bound=Handler)
Crashed = Callable[[str, Exception], None]

_encode = msgspec.json.Encoder().encode


def _ignore_crash(method: str, error: Exception) -> None:
    """Ignore crashes."""


class Dispatcher:
    """Methods by name; `dispatch` carries out a message and makes the answer to it.

    `crashed` is called with unexpected errors of methods; the client gets only an internal error.
    """

    def __init__(
        self,
        methods: Mapping[str, Handler] | None = None,
        *,
        title: str = "rookery",
        version: str = "1",
        crashed: Crashed = _ignore_crash,
    ) -> None:
        self._title, self._version, self._crashed = title, version, crashed
        self._methods: dict[str, RpcMethod] = {}
        self._discover = RpcMethod.of(DISCOVER, self.discover)
        for name, handler in (methods or {}).items():
            self.add(name, handler)

    def add(self, name: str, handler: Handler) -> None:
        """Serve a method; UsageError where name or signature will not do."""
        if name.startswith("rpc.") or not 0 < len(name) <= rpc_message.METHOD_SIZE_MAX:
            raise UsageError(f"a method cannot be called {name!r}")
        if name in self._methods:
            raise UsageError(f"there are two methods called {name!r}")
        if len(self._methods) == METHODS_MAX:
            raise UsageError(f"more than {METHODS_MAX} methods")
        self._methods[name] = RpcMethod.of(name, handler)

    def method(self, name: str) -> Callable[[Function], Function]:
        """`add` as a decorator."""

        def register(handler: Function) -> Function:
            self.add(name, handler)
            return handler

        return register

    @property
    def names(self) -> Iterable[str]:
        return self._methods.keys()

    def discover(self) -> dict[str, object]:
        """What can be called here, as an OpenRPC document."""
        return open_rpc(self._title, self._version, self._methods.values())

    async def dispatch(self, message: bytes) -> bytes | None:
        """Carry out calls; the answer, or None where there is nothing to answer."""
        try:
            parsed = rpc_message.parse(message)
        except RpcError as error:
            return rpc_message.failure(NULL, error).serialize()
        answers = RpcAnswers(is_batch=parsed.is_batch)
        for item in parsed.items:
            if (answer := await self._answer(item)) is not None:
                answers.add(answer)
        return answers.message()

    async def _answer(self, item: RpcItem) -> RpcAnswer | None:
        if not isinstance(item, RpcCall):
            return rpc_message.failure(item.id, RpcError(INVALID_REQUEST))
        result = await self._carry_out(item)
        if item.id is None:
            return None
        if isinstance(result, RpcError):
            return rpc_message.failure(item.id, result)
        return RpcAnswer(item.id, result)

    async def _carry_out(self, call: RpcCall) -> bytes | RpcError:
        method = self._discover if call.method == DISCOVER else self._methods.get(call.method)
        if method is None:
            return RpcError(METHOD_NOT_FOUND)
        try:
            result = method.call(call.params)
            if isawaitable(result):
                result = await _value(result)
            return _encode(result)
        except RpcError as error:
            return error
        except RookeryError as error:
            code = DENIED if isinstance(error, DeniedError) else FAILED
            return RpcError(code, data=str(error))
        except Exception as error:  # methods are plug-ins: none of them may end the rest
            self._crashed(call.method, error)
            return RpcError(INTERNAL_ERROR)


async def _value(awaitable: Awaitable[object]) -> object:
    return await awaitable
