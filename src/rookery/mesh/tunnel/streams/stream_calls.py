"""Stream calls: what programs do with streams, open, read, write, finish, reset."""

import msgspec

from rookery.errors import ChannelError, UsageError
from rookery.mesh.tunnel.packets.control_frames import ControlFrameKind, ControlFrames
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_input import StreamInput
from rookery.mesh.tunnel.streams.stream_output import StreamOutput
from rookery.mesh.tunnel.streams.stream_table import StreamTable
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.stream_opening import (
    META_SIZE_MAX,
    PRIORITY_MAX,
    SERVICE_SIZE_MAX,
    StreamOpening,
)


class StreamCalls:
    """By the numbers of streams; those that are over are no error, except to write to."""

    __slots__ = ("_control_frames", "_input", "_output", "_streams")

    def __init__(
        self,
        streams: StreamTable,
        stream_input: StreamInput,
        output: StreamOutput,
        control_frames: ControlFrames,
    ) -> None:
        self._streams = streams
        self._input = stream_input
        self._output = output
        self._control_frames = control_frames

    def open(self, service: str, meta: JsonObject, priority: int, now: float) -> int:
        if len(service.encode()) > SERVICE_SIZE_MAX:
            raise UsageError(f"the name of a service has {SERVICE_SIZE_MAX} bytes at most")
        if not 0 <= priority <= PRIORITY_MAX:
            raise UsageError(f"priorities are 0 to {PRIORITY_MAX}")
        if len(msgspec.json.encode(meta)) > META_SIZE_MAX:
            raise UsageError(f"what is said of a stream has {META_SIZE_MAX} bytes at most")
        stream = self._streams.open(now)
        stream.priority = priority
        self._output.opened(stream, StreamOpening(service, meta, priority).serialize())
        return stream.id

    def write(self, number: int, data: Chunk) -> int:
        stream = self._streams.get(number)
        if stream is None:
            raise ChannelError("the stream is over")
        sending = stream.sending
        if sending.code is not None:
            raise ChannelError(f"the stream was given up with code {sending.code}")
        if sending.size is not None:
            raise UsageError("the stream is finished")
        # Only bytes are certain never to change.
        return self._output.write(stream, data if type(data) is bytes else bytes(data))

    def take(self, number: int, size: int) -> Chunk:
        stream = self._streams.get(number)
        if stream is None or not stream.is_announced:
            return b""
        data = self._input.take(stream, size)
        self._input.forget_if_over(stream)
        return data

    def at_end(self, number: int, *, is_closed: bool) -> bool:
        stream = self._streams.get(number)
        if stream is None or stream.receiving.is_over or stream.receiving.is_stopped:
            return True
        return is_closed and stream.receiving.arrived == stream.receiving.read_to

    def finish(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            stream.sending.finish()
            self._output.changed(stream)

    def reset(self, number: int, code: int) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        self._give_up(stream, code)
        stream.is_failed = True
        self.stop(number, code)

    def stop(self, number: int, code: int) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            self._input.stop(stream, code)
            self._input.forget_if_over(stream)

    def _give_up(self, stream: Stream, code: int) -> None:
        if stream.sending.code is None and not stream.sending.is_over:
            self._output.give_up(stream, code)
            self._control_frames.add(ControlFrameKind.RESET, stream.id)
