"""JSON-RPC 2.0 messages: what one may look like, and how far it may go.

    {"jsonrpc":"2.0","method":"net.ping","params":{"host":"::1"},"id":1}     a call
    {"jsonrpc":"2.0","method":"log.line","params":["hello"]}                a notification
    {"jsonrpc":"2.0","result":12.5,"id":1}                                  an answer
    {"jsonrpc":"2.0","error":{"code":-32601,"message":"…"},"id":1}          an answer as well
    [ … ]                                                                   a batch of them

Parameters, results and ids stay the bytes they were, so that a relay does not change
them.
"""

import re
from typing import Self

import msgspec

from rookery.errors import RookeryError

MESSAGE_SIZE_MAX = 1 << 20
BATCH_MAX = 100
DEPTH_MAX = 64
METHOD_SIZE_MAX = 256  # characters
ID_SIZE_MAX = 1024  # as JSON; a client's id is kept while its call is open

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
TIMED_OUT = -32000  # the device did not answer in time
DEVICE_LOST = -32001  # its connection broke, and with it the call
BUSY = -32002  # too many open calls, or too much waits to be sent
TOO_LARGE = -32003  # the answer does not fit a message
DENIED = -32004  # a rule of the device forbids it
FAILED = -32005  # the method was carried out and says why it could not
CLIENT_LOST = -32006  # the client has gone; only audits show it

MESSAGES = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    TIMED_OUT: "Timed out",
    DEVICE_LOST: "Router lost",
    BUSY: "Busy",
    TOO_LARGE: "Answer too large",
    DENIED: "Denied",
    FAILED: "Failed",
    CLIENT_LOST: "Client lost",
}

NULL = b"null"

_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_decode_text = msgspec.json.Decoder(str).decode
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError)
_TOO_LARGE_SIZE_MAX = ID_SIZE_MAX + 128  # of the error that says so
_TOO_DEEP = f"nested more than {DEPTH_MAX} deep"


class RpcError(RookeryError):
    """An error object: raise it in a method to answer with it; a client raises what it was told."""

    def __init__(self, code: int, message: str = "", data: object = msgspec.UNSET) -> None:
        self.code = code
        self.message = message or MESSAGES.get(code, "Server error")
        self.data = data
        super().__init__(f"{self.message} ({code})")


class RpcErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as an answer carries it."""

    code: int
    message: str
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def parse(cls, error: bytes) -> Self:
        """Read what another side made of it; RpcError when it is no error object."""
        try:
            return msgspec.json.decode(error, type=cls)
        except (*_UNDECODABLE, RecursionError) as undecodable:
            raise RpcError(INVALID_REQUEST) from undecodable


class RpcCall(msgspec.Struct, frozen=True):
    method: str
    params: bytes | None = None  # JSON of an array or an object
    id: bytes | None = None  # JSON as well; None makes it a notification


class RpcAnswer(msgspec.Struct, frozen=True):
    id: bytes
    result: bytes | None = None  # JSON; exactly one of the two is there
    error: bytes | None = None

    def serialize(self) -> bytes:
        if self.error is not None:
            return b'{"jsonrpc":"2.0","error":%b,"id":%b}' % (self.error, self.id)
        return b'{"jsonrpc":"2.0","result":%b,"id":%b}' % (self.result or NULL, self.id)


class InvalidRpcItem(msgspec.Struct, frozen=True):
    """Neither; the id is null where none could be made out."""

    id: bytes = NULL


RpcItem = RpcCall | RpcAnswer | InvalidRpcItem


class RpcMessage(msgspec.Struct, frozen=True):
    items: tuple[RpcItem, ...]
    is_batch: bool = False


def parse(data: bytes) -> RpcMessage:
    """Read a message; RpcError where it must be answered by one error with the id null."""
    if len(data) > MESSAGE_SIZE_MAX:
        raise RpcError(INVALID_REQUEST, data=f"more than {MESSAGE_SIZE_MAX} bytes")
    try:
        data.decode()  # values that are only skipped are not looked at so closely
        is_batch = data.lstrip(b" \t\r\n")[:1] == b"["
        items = _decode_list(data) if is_batch else [_decode_raw(data)]
    except RecursionError as error:
        raise RpcError(INVALID_REQUEST, data=_TOO_DEEP) from error
    except _UNDECODABLE as undecodable:
        raise RpcError(PARSE_ERROR) from undecodable
    if not items:
        raise RpcError(INVALID_REQUEST)
    if len(items) > BATCH_MAX:
        raise RpcError(INVALID_REQUEST, data=f"more than {BATCH_MAX} in a batch")
    if not _is_shallow(data):
        raise RpcError(INVALID_REQUEST, data=_TOO_DEEP)
    return RpcMessage(tuple(map(_item, items)), is_batch)


def call(method: str, params: object = msgspec.UNSET, id: int | str | None = None) -> bytes:  # noqa: A002
    """A message with one call, or with a notification when there is no id."""
    fields: dict[str, object] = {"jsonrpc": "2.0", "method": method}
    if params is not msgspec.UNSET:
        fields["params"] = params
    if id is not None:
        fields["id"] = id
    return _encode(fields)


def passed_on(call: RpcCall, id: bytes | None) -> bytes:  # noqa: A002
    """The same call under another id."""
    fields: dict[str, object] = {"jsonrpc": "2.0", "method": call.method}
    if call.params is not None:
        fields["params"] = msgspec.Raw(call.params)
    if id is not None:
        fields["id"] = msgspec.Raw(id)
    return _encode(fields)


def failure(id: bytes, error: RpcError) -> RpcAnswer:  # noqa: A002
    """An answer that tells of an error of ours."""
    fields: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not msgspec.UNSET:
        fields["data"] = error.data
    return RpcAnswer(id, error=_encode(fields))


class RpcAnswers:
    """The answers to one message, as they come in; together they fit a message."""

    __slots__ = ("_is_batch", "_parts", "_room")

    def __init__(self, *, is_batch: bool) -> None:
        self._is_batch = is_batch
        self._parts: list[bytes] = []
        # In a batch, that each of the others may turn out to be too large must still fit.
        self._room = MESSAGE_SIZE_MAX - (BATCH_MAX * _TOO_LARGE_SIZE_MAX if is_batch else 0)

    def add(self, answer: RpcAnswer) -> None:
        """Take an answer, or in place of one without room an error that says so."""
        part = answer.serialize()
        if len(part) <= self._room:
            self._room -= len(part)
        else:
            too_large = RpcError(TOO_LARGE, data=f"{len(part)} bytes")
            part = failure(answer.id, too_large).serialize()
        self._parts.append(part)

    def message(self) -> bytes | None:
        """All of them; None where there is nothing to answer."""
        if not self._parts:
            return None
        return b"[%b]" % b",".join(self._parts) if self._is_batch else self._parts[0]


def _item(raw: msgspec.Raw) -> RpcItem:
    try:
        fields = {name: bytes(value) for name, value in _decode_object(raw).items()}
    except msgspec.ValidationError:
        return InvalidRpcItem()
    id = fields.get("id")  # noqa: A001
    is_id = id is not None and len(id) <= ID_SIZE_MAX and id[0] not in b"{[tf"
    invalid = InvalidRpcItem(id if id is not None and is_id else NULL)
    if _text(fields.get("jsonrpc")) != "2.0" or (id is not None and not is_id):
        return invalid
    if "method" in fields:
        return _call(fields, id) or invalid
    result, error = fields.get("result"), fields.get("error")
    if id is None or (result is None) == (error is None):
        return invalid
    return RpcAnswer(id, result, error)


def _call(fields: dict[str, bytes], id: bytes | None) -> RpcCall | None:  # noqa: A002
    method, params = _text(fields["method"]), fields.get("params")
    if method is None or len(method) > METHOD_SIZE_MAX:
        return None
    if params is not None and params[0] not in b"[{":
        return None
    return RpcCall(method, params, id)


def _text(value: bytes | None) -> str | None:
    if value is None or value[0] not in b'"':
        return None
    return _decode_text(value)


def _is_shallow(data: bytes) -> bool:
    """Of valid JSON: each round takes away what has nothing inside."""
    if data.count(b"[") + data.count(b"{") <= DEPTH_MAX:
        return True
    brackets = _STRING.sub(b"", data).translate(_ONE_KIND, _NO_BRACKETS)
    for _ in range(DEPTH_MAX):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return True
    return False
