"""Engine: the parts of a tunnel, joined."""

from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.credit import Window
from rookery.mesh.tunnel.datagram_queue import DatagramQueue
from rookery.mesh.tunnel.dispatch import Dispatch
from rookery.mesh.tunnel.events import Event
from rookery.mesh.tunnel.explanation import Explanation, WayRow
from rookery.mesh.tunnel.inflow import Inflow
from rookery.mesh.tunnel.intake import Intake
from rookery.mesh.tunnel.limits import Limits
from rookery.mesh.tunnel.notes import Notes
from rookery.mesh.tunnel.outflow import Outflow
from rookery.mesh.tunnel.packer import Packer
from rookery.mesh.tunnel.reinjection import Reinjection
from rookery.mesh.tunnel.scheduler import Mode, Scheduler
from rookery.mesh.tunnel.stream_calls import StreamCalls
from rookery.mesh.tunnel.streams import Streams
from rookery.mesh.tunnel.ways import Ways


class Engine:
    """Decides nothing itself."""

    def __init__(
        self,
        number: int,
        random: RandomBytes,
        limits: Limits,
        mode: Mode,
        now: float,
        *,
        is_opener: bool,
    ) -> None:
        self.events: list[Event] = []
        self.streams = Streams(limits, is_opener=is_opener)
        self.ways = Ways(limits.ways_max, random)
        self.outflow = Outflow(limits)
        self.datagrams = DatagramQueue(limits.datagrams_max)
        window = Window(limits.window_max, now)
        notes = self.notes = Notes(self.streams, window)
        inflow = Inflow(self.streams, window, notes, self.outflow, limits, self.events)
        self.calls = StreamCalls(self.streams, inflow, self.outflow, notes)
        self.reinjection = Reinjection(notes, self.outflow)
        self.intake = Intake(
            self.ways, inflow, notes, self.reinjection, self.events, limits.datagrams_max
        )
        self.packer = Packer(number, self.ways, notes, self.outflow, inflow)
        self.dispatch = Dispatch(
            self.ways,
            notes,
            self.datagrams,
            self.outflow,
            self.packer,
            Scheduler(mode),
            self.reinjection,
        )

    def explain(self, state: str) -> Explanation:
        scheduler = self.dispatch.scheduler
        return Explanation(
            state=state,
            mode=scheduler.mode.value,
            ways=tuple(WayRow.of(way) for way in self.ways.out),
            decisions=dict(scheduler.decisions),
            reinjected=self.reinjection.counts,
            counts=dict(self.intake.counts + self.datagrams.fates),
        )
