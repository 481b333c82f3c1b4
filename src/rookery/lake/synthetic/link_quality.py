"""Synthetic link quality: what the ends of a link measure at any time.

Each link is there twice, once for each end: number 2i for the first one, 2i + 1 for the other.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rookery.lake.synthetic.columns import FixedWidthTexts
from rookery.lake.synthetic.mesh import FADE_S, SyntheticMesh
from rookery.lake.synthetic.noise import Flags, Floats, Ints, below, noise, pair, share, stepped
from rookery.lake.synthetic.timeline import DAY_S, busyness

_CHANNEL = 20


class LinkMeasurements(NamedTuple):
    rtt_ms: Floats
    jitter_ms: Floats
    loss_in: Floats
    loss_out: Floats
    rate_kbps: Floats
    cost_us: Ints
    is_up: Flags


class LinkQuality:
    """Values for any links and times."""

    def __init__(self, seed: int, mesh: SyntheticMesh) -> None:
        self._seed = seed
        self._mesh = mesh
        ends = [each for link in mesh.links for each in ((link.one, link.other), link[:0:-1])]
        table = np.array(ends, dtype=np.int64).reshape(-1, 2)
        self.node, self.peer = table.T
        self.realm: Ints = np.array(mesh.realm_of, dtype=np.int64)[self.node]
        self._hashnames = FixedWidthTexts(mesh.hashnames) if mesh.hashnames else None
        links = np.arange(len(mesh.links), dtype=np.int64)
        bits = noise(seed, _CHANNEL, links)
        self._rtt_ms = np.repeat(stepped(2.0 + 60.0 * share(bits, 0) ** 2, 64), 2)
        self._loss = np.repeat(stepped(0.02 * share(bits, 1) ** 3, 4096), 2)
        self._rate_kbps = np.repeat(2_000.0 + 1_000.0 * below(bits, 2, 40), 2)
        for link, usual in mesh.usual.items():
            both = [2 * link, 2 * link + 1]
            self._rtt_ms[both] = stepped(np.array(usual.rtt_ms), 64)
            self._loss[both] = stepped(np.array(usual.loss), 4096)
        self._is_fading = np.isin(np.repeat(links, 2), mesh.fading)

    def __len__(self) -> int:
        return len(self.node)

    def names(self, nodes: Ints) -> pa.Array:
        return self._hashnames.take(nodes) if self._hashnames else pa.array([], pa.string())

    def peers(self, links: Ints) -> pa.Array:
        return self.names(self.peer[links])

    def of_devices(self, devices: int) -> tuple[Ints, Ints]:
        """A list of links by device, without dead ones, after where each device's begin in it."""
        dying = {2 * link + end for link in self._mesh.dead for end in (0, 1)}
        found: list[list[int]] = [[] for _ in range(devices)]
        for link, node in enumerate(self.node):
            device = self._mesh.device_of[int(node)]
            if device is not None and link not in dying:
                found[device].append(link)
        starts = np.cumsum([0, *map(len, found)])
        return starts, np.array([link for each in found for link in each], dtype=np.int64)

    def measured(self, link: Ints, step: Ints, seconds: Floats) -> LinkMeasurements:
        """What one end measures; `is_up` says whether the other values are known."""
        bits = noise(self._seed, _CHANNEL + 1, pair(link, step))
        second = seconds % DAY_S
        is_faded = self._is_fading[link] & (second >= FADE_S[0]) & (second < FADE_S[1])
        load = busyness(seconds + self._mesh.timeline.monday_s)
        rtt = self._rtt_ms[link] * (1.0 + 0.25 * load + 0.25 * share(bits, 0))
        rtt = stepped(np.where(is_faded, rtt * 3.0, rtt), 64)
        loss = self._loss[link] * (1.0 + share(bits, 1))
        loss_in = stepped(np.where(is_faded, loss + 0.25 + 0.125 * share(bits, 2), loss), 4096)
        loss_out = stepped(loss_in * (0.75 + 0.25 * share(bits, 3)), 4096)
        jitter = stepped(rtt * 0.125 * share(bits, 2), 64)
        rate = stepped(self._rate_kbps[link] * (1.0 - 0.5 * load), 1)
        cost = (rtt * 1000.0 * (1.0 + 4.0 * loss_in)).astype(np.int64)
        return LinkMeasurements(
            rtt, jitter, loss_in, loss_out, rate, cost, self._is_up(link, seconds)
        )

    def _is_up(self, link: Ints, seconds: Floats) -> Flags:
        is_up = np.ones(len(link), dtype=bool)
        for down in self._mesh.downs:
            is_there = (seconds >= down.from_s) & (seconds < down.to_s)
            is_up &= ~((link >> 1 == down.link) & is_there)
        return is_up
