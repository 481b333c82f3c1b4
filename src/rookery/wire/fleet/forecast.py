"""Forecast: the body of the artifact that predicts each server's load, as msgpack arrays.

    [[server, start_ms, step_s, [share, share, …], confidence], …]

`server` is the six bytes that it reports under, as everything that is known of its past does.
The first share holds from `start_ms` on, for `step_s` seconds, then the next one. A share is that
of all its seats which will be taken. What stands behind the known elements of an array is for
later versions.
"""

from typing import Annotated, Self

import msgspec
from msgspec import Meta

from rookery.errors import DecodeError
from rookery.wire.artifact import Milliseconds, Ratio
from rookery.wire.fleet.mac import MAC_SIZE

SERVERS_MAX = 1024
STEPS_MAX = 336  # two weeks of hours
STEP_S_MAX = 86_400

ServerId = Annotated[bytes, Meta(min_length=MAC_SIZE, max_length=MAC_SIZE)]


class ServerForecast(msgspec.Struct, frozen=True, array_like=True):
    """One server's next hours or days."""

    server: ServerId
    start_ms: Milliseconds
    step_s: Annotated[int, Meta(ge=1, le=STEP_S_MAX)]
    shares: Annotated[tuple[Ratio, ...], Meta(max_length=STEPS_MAX)]  # of its seats, taken
    confidence: Ratio

    def share_at(self, at_ms: int) -> float | None:
        """The predicted share of its seats in use at that time; None without a prediction."""
        step = (at_ms - self.start_ms) // (1000 * self.step_s)
        return self.shares[step] if 0 <= step < len(self.shares) else None


class Forecast(msgspec.Struct, frozen=True):
    """What is expected of all servers; each is named once."""

    servers: tuple[ServerForecast, ...]

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read the body of a forecast, or raise DecodeError."""
        try:
            servers = _DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"no forecast: {error}") from error
        names = [each.server for each in servers]
        if len(set(names)) < len(names):
            raise DecodeError("a forecast that names a server twice")
        return cls(servers)

    def body(self) -> bytes:
        return msgspec.msgpack.encode(self.servers)


_DECODER = msgspec.msgpack.Decoder(
    Annotated[tuple[ServerForecast, ...], Meta(max_length=SERVERS_MAX)]
)
