"""`ws`: messages in both directions under a path, like a WebSocket; its type on the wire is `ts`.

open     {"c", "type":"ts", "seq":1, "path":"/news"}
accept   {"c", "seq":1, "ack":1, "open":true}
piece    {"c", "seq"}                        body: part of a message, more follows
last     {"c", "seq", "done":true}           body: its end
end      {"c", "seq", "end":true}
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rookery.errors import ProtocolError, UsageError
from rookery.wire.link.lob import JsonObject, text

TYPE = "ts"
MESSAGE_SIZE_MAX = 1 << 20
PATH_SIZE_MAX = 900  # with the rest of the open packet it must fit any path

UNKNOWN_PATH = "unknown path"

_PATH = re.compile(r"/[!-~]*")


class WsPiece(NamedTuple):
    """What one channel packet carries."""

    head: JsonObject
    body: bytes


def opening(path: str) -> JsonObject:
    """The channel's own part of the open head."""
    if not _is_path(path):
        raise UsageError(f"a path is '/' and printable ASCII, at most {PATH_SIZE_MAX} characters")
    return {"path": path}


def path_of(head: JsonObject) -> str:
    """The requested path of an open head; the root if it is absent."""
    if "path" not in head:
        return "/"
    path = text(head, "path")
    if path is None or not _is_path(path):
        raise ProtocolError("invalid path")
    return path


def acceptance() -> JsonObject:
    """The channel's own part of the accepting head."""
    return {"open": True}


def check_acceptance(head: JsonObject) -> None:
    """The first packet of the accepting side says so, and nothing may come before it."""
    if head.get("open") is not True:
        raise ProtocolError("the peer sent something before it accepted")


def pieces(message: bytes, size: int) -> Iterator[WsPiece]:
    """Cut one message for packets with bodies of at most `size` bytes."""
    assert size > 0
    if len(message) > MESSAGE_SIZE_MAX:
        raise UsageError(f"a message of {len(message)} bytes exceeds {MESSAGE_SIZE_MAX}")
    cut = max(0, len(message) - 1) // size * size
    for start in range(0, cut, size):
        yield WsPiece({}, message[start : start + size])
    yield WsPiece({"done": True}, message[cut:])


class WsReassembler:
    """Joins pieces to messages, and never holds more than one message's worth."""

    def __init__(self, size_max: int = MESSAGE_SIZE_MAX) -> None:
        self._size_max = size_max
        self._pending = bytearray()

    def feed(self, head: JsonObject, body: bytes) -> bytes | None:
        """Take one packet; the message if it was the last of one."""
        if len(self._pending) + len(body) > self._size_max:
            raise ProtocolError(f"a message exceeds {self._size_max} bytes")
        if head.get("done") is not True:
            self._pending += body
            return None
        message = bytes(self._pending) + body if self._pending else body
        self._pending.clear()
        return message

    def finish(self) -> None:
        """The peer ended: half a message is an error."""
        if self._pending:
            raise ProtocolError("the socket ended within a message")


def _is_path(path: str) -> bool:
    return len(path) <= PATH_SIZE_MAX and _PATH.fullmatch(path) is not None
