"""A day's enrolments, security events, requests of outboxes and messages of topics."""

import numpy as np
import pyarrow as pa

from rookery.fleet.entry import server_id
from rookery.lake.schema.landing import ENROLMENTS, MESSAGES, REQUESTS, SECURITY_EVENTS
from rookery.lake.synthetic.batch import SyntheticBatch, latency_ms
from rookery.lake.synthetic.columns import FixedWidthTexts, texts_at, timestamps
from rookery.lake.synthetic.faults import DeviceFaults, cloned
from rookery.lake.synthetic.mesh import SyntheticMesh
from rookery.lake.synthetic.noise import Ints, below, noise, pair, share
from rookery.lake.synthetic.population import Population, synthetic_hashname
from rookery.lake.synthetic.timeline import DAY_S, HOUR_S, SyntheticTimeline
from rookery.wire.fleet.mac import mac_text

FATES = ("acknowledged", "answered", "expired", "failed", "cancelled")
FORGED_A_DAY = 5

_CHANNEL = 90
_REQUESTS_A_NODE = 24
_MESSAGES_A_DEVICE = 12
_FATE_OF = np.array([0] * 11 + [1] * 5 + [2, 2, 3, 4], dtype=np.int64)


class EventDays:
    """One day at a time."""

    def __init__(
        self,
        population: Population,
        timeline: SyntheticTimeline,
        faults: DeviceFaults,
        mesh: SyntheticMesh,
    ) -> None:
        self._population = population
        self._timeline = timeline
        self._faults = faults
        self._mesh = mesh
        self._seed = population.seed

    def batches(self, day: int) -> list[SyntheticBatch]:
        found = [self._security(day), self._messages(day)]
        if day == 0:
            found.insert(0, self._enrolments())
        if self._mesh.hashnames:
            found.append(self._requests(day))
        return found

    def _enrolments(self) -> SyntheticBatch:
        """All of them in the first minute."""
        people = self._population
        device_ids = [*people.device_ids.texts, *people.server_ids]
        number = np.arange(len(device_ids), dtype=np.int64)
        seen_ms = self._timeline.start_ms + number * 60_000 // len(device_ids)
        kinds = ["router"] * people.originals + ["server"] * len(people.servers)
        sites = [*people.site_of.tolist(), *[len(people.sites)] * len(people.servers)]
        addresses = [_address(site, n) for n, site in enumerate(sites)]
        return SyntheticBatch(
            table=ENROLMENTS,
            names=people.hubs,
            spool=number % len(people.hubs),
            received_ms=seen_ms,
            sender=pa.array(device_ids, pa.string()),
            columns={
                "kind": pa.array(kinds, pa.string()),
                "hashname": pa.array([*people.hashnames, *people.servers], pa.string()),
                "address": pa.array(addresses, pa.string()),
                "first_seen": timestamps(seen_ms),
            },
        )

    def security_of(self, day: int) -> list[tuple[int, int, str]]:
        """Wall milliseconds, device and event, in order."""
        begin = self._timeline.ms(day * DAY_S)
        number = np.arange(FORGED_A_DAY, dtype=np.int64)
        bits = noise(self._seed, _CHANNEL, pair(np.full_like(number, day), number))
        forged = zip(
            (begin + below(bits, 0, 1440) * 60_000).tolist(),
            below(bits, 1, self._population.originals).tolist(),
            ["forged"] * FORGED_A_DAY,
            strict=True,
        )
        events = [*forged]
        clones = {clone: owner for owner, clone in cloned(self._population).items()}
        for silence in self._faults.silences:  # a clone is there from the end of the first one
            if silence.device in clones and silence.first < 0:
                come_ms = self._timeline.ms(silence.last * self._timeline.interval_s)
                times = [come_ms + hour * HOUR_S * 1000 for hour in range(6)]
                events += [(at, clones[silence.device], "clone") for at in times]
        return sorted(each for each in events if begin <= each[0] < begin + DAY_S * 1000)

    def _security(self, day: int) -> SyntheticBatch:
        events = self.security_of(day)
        device = np.array([each[1] for each in events], dtype=np.int64)
        address = [f"203.0.113.{number % 250 + 1}:4711" for number in range(len(events))]
        return SyntheticBatch(
            table=SECURITY_EVENTS,
            names=self._population.hubs,
            spool=device % len(self._population.hubs),
            received_ms=np.array([each[0] for each in events], dtype=np.int64),
            sender=self._population.device_ids.take(device),
            columns={
                "event": pa.array([each[2] for each in events], pa.string()),
                "address": pa.array(address, pa.string()),
                "detail": pa.array([f"a {each[2]} report" for each in events], pa.string()),
            },
        )

    def _numbers(self, day: int, senders: int, each: int) -> tuple[Ints, Ints]:
        """For each event of a day: its sender, and its number."""
        number = np.arange(senders * each, dtype=np.int64)
        return number % senders, day * senders * each + number

    def _messages(self, day: int) -> SyntheticBatch:
        device, number = self._numbers(day, self._population.originals, _MESSAGES_A_DEVICE)
        bits = noise(self._seed, _CHANNEL + 1, number)
        at_ms = self._timeline.ms(day * DAY_S) + below(bits, 0, 1440) * 60_000 + below(bits, 1, 999)
        payload = [b'{"celsius":%d}' % (15 + degrees) for degrees in below(bits, 2, 15).tolist()]
        themes = [f"{site}/temperature" for site in self._population.sites]
        broker = mac_text(server_id(synthetic_hashname(self._seed, "broker", 0)))
        return SyntheticBatch(
            table=MESSAGES,
            names=["broker-1"],
            spool=np.zeros_like(device),
            received_ms=at_ms + latency_ms(self._seed, _CHANNEL + 2, number),
            sender=FixedWidthTexts([broker]).take(np.zeros_like(device)),
            boot=np.full_like(device, self._timeline.start_ms),
            sequence=number + 1,
            at_ms=at_ms,
            columns={
                "theme": texts_at(themes, self._population.site_of[device]),
                "publisher": self._population.device_ids.take(device),
                "qos": pa.array(below(bits, 3, 3)),
                "size": pa.array([len(each) for each in payload], pa.int64()),
                "payload": pa.array(payload, pa.binary()),
            },
        )

    def _requests(self, day: int) -> SyntheticBatch:
        names = self._mesh.hashnames
        node, number = self._numbers(day, len(names), _REQUESTS_A_NODE)
        bits = noise(self._seed, _CHANNEL + 3, number)
        peers = np.array([self._mesh.peer(n, self._mesh.links_of(n)[0]) for n in range(len(names))])
        begin_ms = self._timeline.ms(day * DAY_S) + below(bits, 0, 1400) * 60_000
        end_ms = begin_ms + 20 + (share(bits, 1) ** 4 * 600_000).astype(np.int64)
        fate = _FATE_OF[below(bits, 2, len(_FATE_OF))]
        return SyntheticBatch(
            table=REQUESTS,
            names=[f"node-{each[:8]}" for each in names],
            spool=node,
            received_ms=end_ms + latency_ms(self._seed, _CHANNEL + 4, number),
            sender=FixedWidthTexts(self._mesh.ids).take(node),
            boot=self._timeline.start_ms - 60_000 + node,
            sequence=number + 1,
            at_ms=end_ms,
            columns={
                "node": texts_at(names, node),
                "peer": texts_at(names, peers[node]),
                "number": pa.array(number + 1),
                "size": pa.array(below(bits, 3, 4096)),
                "submitted_at": timestamps(begin_ms),
                "ended_at": timestamps(end_ms),
                "fate": texts_at(FATES, fate),
                "attempts": pa.array(1 + (fate > 1) * below(bits, 1, 4)),
            },
        )


def _address(site: int, number: int) -> str:
    """Those of a site share the first three numbers."""
    return f"10.{site >> 8}.{site & 0xFF}.{number % 250 + 1}:7420"
