"""A hub's validator and senders on a seeded network that loses and reorders, in virtual time."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count, pairwise

import msgspec

from rookery.fleet import entry as entries
from rookery.fleet.entry import FleetEntry, copied
from rookery.fleet.reports.report_outcome import ReportOutcome
from rookery.fleet.reports.report_sender import ReportSender, SenderEvent
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.fleet.reports.sender_limits import SenderLimits
from rookery.fleet.reports.sender_state import SenderState
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.identity.identity import Identity
from rookery.wire.fleet.telemetry import DeviceReport, decode
from rookery.wire.observation import ENROLLED, Observation
from tests.fleet.senders import identity_of

START = 1_800_000_000.0  # wall seconds
REPORT_S = 20.0
FLUSH_S = 10.0
DURABLE_S = 0.02

Origin = tuple[bytes, int, int]  # sender, boot and number of a report as it was made


class Network(msgspec.Struct):
    """Each way by itself. Delays are random, so what is sent later may come sooner."""

    loss: float = 0.0
    repeat: float = 0.0
    delay_max_s: float = 0.1


class Hub:
    """What a hub does around its validator: entries in RAM, flushed now and then, and a spool."""

    def __init__(self, world: "World", settings: ReportValidatorSettings) -> None:
        self.world = world
        self.settings = settings
        self.identity = identity_of(world.random.randbytes)
        self.master = world.random.randbytes(32)
        self.clock_step_s = 0.0
        self.entries: dict[bytes, FleetEntry] = {}
        self.flushed: dict[bytes, bytes] = {}
        self.flushed_position = 0
        self.spool: list[Observation] = []
        self.durable = 0  # how many of them a crash leaves
        self.is_spool_full = False
        self.accepted: list[tuple[float, bytes]] = []
        self.wishes: dict[bytes, int] = {}
        self.events: Counter[str] = Counter()
        self.life = 0
        self.validator = self._new_validator()

    @property
    def wall(self) -> float:
        return START + self.world.now + self.clock_step_s

    def _new_validator(self) -> ReportValidator:
        return ReportValidator(
            self.identity, self.master, self.world.random.randbytes, self.wall, self.settings
        )

    def receive(self, datagram: bytes, address: str) -> None:
        incoming = self.validator.read(datagram, address, self.wall)
        if incoming is None:
            return
        held = self.entries.get(incoming.sender)
        entry = None if held is None else copied(held)  # the spool may take nothing
        wish = self.wishes.get(incoming.sender)
        outcome = self.validator.receive(incoming, entry, None, wish, self.wall)
        self._record_events(outcome.events)
        if outcome.spool is None or not self.is_spool_full:
            if outcome.changed is not None:
                self.entries[incoming.sender] = outcome.changed
            self._keep(outcome, address, incoming.sender)
        self.world.send(outcome.answer_now, address)

    def _record_events(self, events: tuple[SecurityEvent, ...]) -> None:
        self.events.update(event.kind for event in events)

    def _keep(self, outcome: ReportOutcome, address: str, sender: bytes) -> None:
        for record in (outcome.enrolled, outcome.spool):
            if record is not None:
                self.spool.append(Observation.parse(record))
        if outcome.spool is not None:
            self.accepted.append((self.world.now, sender))
        position, life = len(self.spool), self.life

        def is_durable() -> None:
            if life == self.life:
                self.durable = max(self.durable, position)
                self.world.send(outcome.answer_durable, address)

        self.world.at(self.world.now + DURABLE_S, is_durable)

    def flush(self) -> None:
        self.flushed = {key: entries.encode(entry) for key, entry in self.entries.items()}
        self.flushed_position = self.durable

    def crash(self, *, reads_spool: bool) -> None:
        """All that was neither flushed nor durable is gone."""
        self.life += 1
        del self.spool[self.durable :]
        self.entries = {key: entries.decode(data) for key, data in self.flushed.items()}
        self.validator = self._new_validator()
        if reads_spool:
            for observation in self.spool[self.flushed_position :]:
                known = self.entries.get(observation.sender)
                entry = self.validator.restore(observation, known)
                if entry is not None:
                    self.entries[observation.sender] = entry

    def origins(self) -> Counter[Origin]:
        """What the spool holds, by who made it."""
        found: Counter[Origin] = Counter()
        for observation in self.spool:
            if observation.kind != ENROLLED:
                report = decode(observation.content)
                found[observation.sender, report.b, report.n] += 1
        return found


class FakeDevice:
    """A sender with a timer; its state may be kept, or lost."""

    def __init__(self, world: "World", number: int, identity: Identity, mac: bytes) -> None:
        self.world = world
        self.identity = identity
        self.mac = mac
        self.address = f"10.0.{number // 250}.{number % 250 + 1}:4000"
        self.clock_step_s = 0.0
        self.events: list[SenderEvent] = []
        self.made: set[Origin] = set()
        self.is_on = True
        self.sender = self._start(SenderState())

    def _start(self, state: SenderState) -> ReportSender:
        wall_ms = max(0, int((START + self.world.now + self.clock_step_s) * 1000))
        return ReportSender(
            self.identity,
            self.world.hub.identity.keys,
            self.mac,
            "router",
            state,
            wall_ms,
            self.world.random.randbytes,
            self.world.limits,
        )

    def restart(self, state: SenderState) -> None:
        self.sender = self._start(state)

    def report(self) -> None:
        if not self.is_on:
            return
        told = DeviceReport(t=int(self.world.now * 1000), up=self.world.now, mem=0.5, agent="0.1.0")
        self.sender.report(told, self.world.now)
        last = decode(self.sender.state.kept[-1].content)
        self.made.add((self.mac, last.b, last.n))
        self.after()

    def after(self) -> None:
        for datagram in self.sender.take():
            self.world.sent_by_devices.append(datagram)
            self.world.to_hub(datagram, self.address)
        self.events += self.sender.events()
        deadline = self.sender.deadline
        if deadline is not None:
            # A little late, as timers are.
            self.world.at(max(deadline, self.world.now) + 0.001, self._tick)

    def _tick(self) -> None:
        deadline = self.sender.deadline
        if self.is_on and deadline is not None and deadline <= self.world.now:
            self.sender.tick(self.world.now)
            self.after()

    def receive(self, datagram: bytes) -> None:
        if self.is_on:
            self.sender.received(datagram, self.world.now)
            self.after()

    def waiting(self) -> set[Origin]:
        """Reports that are not acknowledged."""
        kept = (decode(each.content) for each in self.sender.state.kept)
        return {(self.mac, report.b, report.n) for report in kept}


class World:
    """Run it for so many seconds; the same seed makes the same history."""

    def __init__(
        self,
        *,
        seed: int,
        devices: int,
        network: Network | None = None,
        settings: ReportValidatorSettings | None = None,
        limits: SenderLimits | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.network = network or Network()
        self.limits = limits or SenderLimits()
        self.now = 0.0
        self.sent_by_devices: list[bytes] = []
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self.hub = Hub(self, settings or ReportValidatorSettings(policy="open"))
        self.devices: dict[str, FakeDevice] = {}
        for number in range(devices):
            self.add(identity_of(self.random.randbytes), b"\x02\xfc" + number.to_bytes(4, "big"))
        self._every(FLUSH_S, self.hub.flush)

    def add(self, identity: Identity, mac: bytes) -> FakeDevice:
        device = FakeDevice(self, len(self.devices), identity, mac)
        self.devices[device.address] = device
        self._every(REPORT_S, device.report, self.random.uniform(0.0, REPORT_S))
        return device

    def at(self, when: float, act: Callable[[], None]) -> None:
        heappush(self._queue, (when, next(self._numbers), act))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, act = heappop(self._queue)
            act()
        self.now = end

    def to_hub(self, datagram: bytes, address: str) -> None:
        for when in self._arrivals():
            self.at(when, lambda: self.hub.receive(datagram, address))

    def send(self, datagram: bytes, address: str) -> None:
        device = self.devices.get(address)
        if datagram and device is not None:
            for when in self._arrivals():
                self.at(when, lambda: device.receive(datagram))

    def _arrivals(self) -> Iterator[float]:
        """When the copies of a datagram arrive, if any does."""
        copies = 2 if self.random.random() < self.network.repeat else 1
        for _ in range(copies):
            if self.random.random() >= self.network.loss:
                yield self.now + self.random.uniform(0.001, self.network.delay_max_s)

    def _every(self, seconds: float, act: Callable[[], None], first: float = 0.0) -> None:
        def again() -> None:
            act()
            self.at(self.now + seconds, again)

        self.at(self.now + first, again)


def longest_silence(world: World, device: FakeDevice, since: float, until: float) -> float:
    """Between reports of that device that the hub took."""
    times = [when for when, sender in world.hub.accepted if sender == device.mac]
    times = [since, *(when for when in times if since <= when <= until), until]
    return max(later - earlier for earlier, later in pairwise(times))


def check_nothing_lost_or_doubled(world: World) -> None:
    """Each report is in the spool once, or still waits; one that waits may be there as well."""
    spooled = world.hub.origins()
    doubled = [origin for origin, times in spooled.items() if times > 1]
    assert not doubled
    for device in world.devices.values():
        lost = device.made - spooled.keys() - device.waiting()
        assert not lost
