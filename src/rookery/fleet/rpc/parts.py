"""JSON-RPC messages in TLVs: RPC_PART … RPC_PART RPC, in order and never two messages at a time.

    | RPC_PART |  32768 bytes  | RPC_PART |  32768 bytes  |  RPC  | the rest |

Nothing else of a stream is held up for longer than one part.
"""

from rookery.errors import ProtocolError
from rookery.fleet.rpc.message import MESSAGE_SIZE_MAX
from rookery.wire.fleet import tags
from rookery.wire.fleet.tlv import Tlv

PART_SIZE = 1 << 15


def split(message: bytes) -> list[Tlv]:
    """The TLVs that carry a message."""
    assert len(message) <= MESSAGE_SIZE_MAX
    last = max(0, len(message) - 1) // PART_SIZE * PART_SIZE
    view = memoryview(message)
    parts = [
        Tlv(tags.RPC_PART, bytes(view[start : start + PART_SIZE]))
        for start in range(0, last, PART_SIZE)
    ]
    return [*parts, Tlv(tags.RPC, bytes(view[last:]))]


class RpcJoiner:
    """Makes messages of parts again."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = bytearray()

    @property
    def size(self) -> int:
        """Bytes of a message that is not complete."""
        return len(self._parts)

    def add(self, tlv: Tlv) -> bytes | None:
        """The message that is complete with this TLV; ProtocolError for what cannot be one."""
        if tlv.tag not in (tags.RPC, tags.RPC_PART):
            raise ProtocolError(f"tag {tlv.tag} does not carry JSON-RPC")
        if len(self._parts) + len(tlv.value) > MESSAGE_SIZE_MAX:
            raise ProtocolError(f"a message of more than {MESSAGE_SIZE_MAX} bytes")
        if tlv.tag == tags.RPC and not self._parts:
            return tlv.value
        if tlv.tag == tags.RPC_PART and not tlv.value:
            raise ProtocolError("an empty part of a message")  # or one could send them for ever
        self._parts += tlv.value
        if tlv.tag == tags.RPC_PART:
            return None
        message = bytes(self._parts)
        self._parts.clear()
        return message
