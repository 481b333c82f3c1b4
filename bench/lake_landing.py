"""Observations that come from a spool into the lake, in a second of one core's time.

spool ─read─▶ decode ─▶ Arrow ─▶ Parquet, Delta commit, fsync ─▶ mark      the lander
              decode                                                      bare msgspec, no more
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.figure import Effort, Figure, middle
from rookery.lake.engine.delta import Lake
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import landing
from rookery.runtime.loop import run
from rookery.store.spool.spool import Spool
from rookery.wire import observation
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters, LinkTelemetry
from rookery.wire.observation import HEAD, Observation

ROWS_MAX = 200_000
DEVICES = 5000
BURST = 1000


def measure(effort: Effort) -> list[Figure]:
    count = min(effort.rows[0], ROWS_MAX)
    records = [_record(number) for number in range(count)]
    rates, limits = [], []
    with TemporaryDirectory(dir=Path.cwd()) as folder:  # where a lake would be, not in memory
        run(_write(Path(folder) / "spool", records))
        for turn in range(effort.runs):
            limits.append(count / _decoding(records))
            rates.append(count / _landing(Path(folder) / "spool", Path(folder) / f"{turn}"))
    return [
        Figure(
            what=f"device reports of {sum(map(len, records)) // count} B, landed",
            value=middle(rates),
            unit="rows/s",
            limit=middle(limits),
            against="msgspec decoding them",
            remark=f"{count:,} of {DEVICES:,} devices, of one core's time",
        )
    ]


def _record(number: int) -> bytes:
    at = 1_794_000_000_000 + number
    report = DeviceReport(
        t=at,
        b=1,
        n=number + 1,
        up=number / 7,
        load=number % 90 / 100,
        mem=number % 70 / 100,
        disk=0.4,
        temp=40.0 + number % 20,
        ifs={
            name: InterfaceCounters(number * 1500, number * 400, number, number // 3)
            for name in ("eth0", "wlan0")
        },
        links=() if number % 4 else (LinkTelemetry("p" * 52, "udp4", 12.5, 0.01, 900.0),),
        agent="0.1.0",
        system="linux",
    )
    reporter = b"\x02" + (number % DEVICES).to_bytes(5, "big")
    content = telemetry.encode(report)
    return Observation(at, observation.DEVICE, reporter, 1, number, content).serialize()


async def _write(folder: Path, records: list[bytes]) -> None:
    spool = await Spool.open(folder)
    for first in range(0, len(records), BURST):
        await spool.durable(spool.append(records[first : first + BURST]))
    await spool.close()


def _decoding(records: list[bytes]) -> float:
    decode = msgspec.msgpack.Decoder(DeviceReport).decode
    contents = [record[HEAD.size :] for record in records]
    began = time.process_time()
    for content in contents:
        decode(content)
    return time.process_time() - began


def _landing(spool: Path, folder: Path) -> float:
    lake = Lake(str(folder))
    began = time.process_time()
    total = Lander(lake, spool, "bench").run()  # a new lake, so that it begins at the beginning
    took = time.process_time() - began
    assert total.rows == lake.rows(landing.DEVICE_REPORTS)
    return took
