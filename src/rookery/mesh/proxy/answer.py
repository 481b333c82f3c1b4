"""The exit's answer: the first bytes of a `proxy` stream towards who opened it.

    | size 2 | JSON |     {"ip":"192.0.2.1","port":443,"load":12}    connected; bytes follow
                          {"fault":"refused","load":12}              not; the stream ends

`load` is how many 255ths of its seats the exit has taken, so that others may prefer an idler one.
"""

import msgspec

from rookery.errors import DecodeError
from rookery.link.channels.sock import HOST_SIZE_MAX, PORT_MAX, SockAddress
from rookery.mesh.proxy.fault import ProxyFault

PREFIX_SIZE = 2
ANSWER_SIZE_MAX = 1024
LOAD_MAX = 255

_WORDS = {fault.value: fault for fault in ProxyFault}


class ProxyAnswer(msgspec.Struct, frozen=True):
    """`reached` is where the exit is connected, or listens; None for a serial line or a fault."""

    fault: ProxyFault | None = None
    reached: SockAddress | None = None
    load: int = 0

    def serialize(self) -> bytes:
        values: dict[str, object] = {"load": self.load}
        if self.fault is not None:
            values["fault"] = self.fault.value
        if self.reached is not None:
            values |= self.reached.json()
        data = msgspec.json.encode(values)
        return len(data).to_bytes(PREFIX_SIZE, "big") + data

    @classmethod
    def parse(cls, data: bytes) -> "ProxyAnswer":
        """Read what follows the size."""
        try:
            values = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError("answer is not JSON") from error
        if not isinstance(values, dict):
            raise DecodeError("answer is not an object")
        load = values.get("load", 0)
        if not isinstance(load, int) or not 0 <= load <= LOAD_MAX:
            raise DecodeError("answer has a load out of bounds")
        fault = values.get("fault")
        if fault is None:
            return cls(None, _reached(values), load)
        if not isinstance(fault, str):
            raise DecodeError("answer has a fault that is no text")
        return cls(_WORDS.get(fault, ProxyFault.UNREACHABLE), None, load)


def answer_size(prefix: bytes) -> int:
    """How many bytes follow; DecodeError when no answer is that long."""
    size = int.from_bytes(prefix, "big")
    if len(prefix) != PREFIX_SIZE or not 2 <= size <= ANSWER_SIZE_MAX:
        raise DecodeError("answer has no proper size")
    return size


def _reached(values: dict[str, object]) -> SockAddress | None:
    ip, port = values.get("ip"), values.get("port")
    if ip is None and port is None:
        return None
    if not isinstance(ip, str) or not 0 < len(ip) <= HOST_SIZE_MAX:
        raise DecodeError("answer names no address")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= PORT_MAX:
        raise DecodeError("answer names no port")
    return SockAddress(ip, port)
