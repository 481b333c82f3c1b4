"""What members of a crowd have and say: an RSA key in common, and reports that are made up."""

import os
import time

from rookery.fleet.entry import Kind
from rookery.identity.cipher_set import CipherSet, KeyPair, LocalKey, RandomBytes
from rookery.identity.cipher_sets import RSA_CSID
from rookery.wire.telemetry import DeviceReport, InterfaceCounters, LoadReport, Report


class SharedKey:
    """Cipher set 2a with one pair for all: no report uses it, and RSA keys take long to make."""

    def __init__(self, real: CipherSet) -> None:
        self.pair = real.generate(os.urandom)
        self._key = real.load(self.pair)
        self._real = real

    @property
    def csid(self) -> int:
        return RSA_CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        return self.pair

    def load(self, pair: KeyPair) -> LocalKey:
        return self._key

    def check_key(self, key: bytes) -> None:
        self._real.check_key(key)


def content(kind: Kind, turn: int, key2a: bytes) -> Report:
    """The report of one turn."""
    wall_ms = time.time_ns() // 1_000_000
    if kind == "server":
        return LoadReport(
            t=wall_ms,
            seats_max=100,
            seats_used=100,  # full, so that nobody is sent there
            cpu=0.1,
            mem=0.2,
            tcp="127.0.0.1:9",
            key2a=key2a,
        )
    counters = InterfaceCounters(1_000_000 + turn, 500_000 + turn, 9000, 8000, 0, 0)
    return DeviceReport(
        t=wall_ms,
        up=float(turn),
        load=0.1,
        mem=0.3,
        disk=0.4,
        temp=41.5,
        ifs={"eth0": counters, "wlan0": counters},
        agent="simulated",
        system="simulated",
    )
