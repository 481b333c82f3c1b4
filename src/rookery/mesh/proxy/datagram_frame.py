"""Datagrams within a stream: `| size 2 | data |`, again and again; an empty one is one, too."""

from rookery.errors import UsageError

DATAGRAM_SIZE_MAX = 65_507  # what UDP over IPv4 can carry

_PREFIX_SIZE = 2


def frame_datagram(data: bytes) -> bytes:
    if len(data) > DATAGRAM_SIZE_MAX:
        raise UsageError(f"a datagram has at most {DATAGRAM_SIZE_MAX} bytes")
    return len(data).to_bytes(_PREFIX_SIZE, "big") + data


class DatagramDeframer:
    """Holds less than one datagram between two calls."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def is_within(self) -> bool:
        """Whether a datagram has begun that is not complete."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        self._held += data
        found, at, end = [], 0, len(self._held)
        while end - at >= _PREFIX_SIZE:
            size = int.from_bytes(self._held[at : at + _PREFIX_SIZE], "big")
            if end - at - _PREFIX_SIZE < size:
                break
            at += _PREFIX_SIZE
            found.append(bytes(self._held[at : at + size]))
            at += size
        del self._held[:at]
        return found
