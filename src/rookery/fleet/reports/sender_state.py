"""Sender state: what a device's agent or a server may keep over a restart."""

import msgspec

from rookery.errors import DecodeError

STATE_VERSION = 1


class KeptReport(msgspec.Struct, frozen=True, array_like=True):
    """A report that the hub has not acknowledged."""

    tag: int
    content: bytes


class SenderState(msgspec.Struct, frozen=True, kw_only=True):
    """Losing all of it costs a hello and the reports in it, nothing else."""

    version: int = STATE_VERSION
    secret: bytes = b""  # empty: none yet
    generation: int = 0
    boot: int = 0
    is_enrolled: bool = False  # the hub has acknowledged a report made with the secret
    kept: tuple[KeptReport, ...] = ()

    def __repr__(self) -> str:
        return f"SenderState(generation={self.generation}, {len(self.kept)} reports)"

    def serialize(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @classmethod
    def parse(cls, data: bytes) -> "SenderState":
        """Read a state, or raise DecodeError."""
        try:
            state = msgspec.msgpack.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"not a sender's state: {error}") from error
        if state.version != STATE_VERSION:
            raise DecodeError(f"a sender's state of version {state.version}")
        return state
