"""A lake on a disk that is full, or that nobody may write to: run in a mount namespace of its own.

    unshare -Urm python -m tests.lake.full_disk FOLDER

The disk grows a little each time that it was too small. Prints, as JSON, every error and how many
rows there are in the end.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from rookery.errors import LocalError
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.run_record import RunRecord, read, save
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import landing
from rookery.store.spool import watermark
from rookery.wire import observation as observations
from rookery.wire import observation_content
from tests.lake import spools

START = 1 << 40
MESSAGES = 8
STEP_KB = 4  # a page: so it fails at each file there is


def messages(first: int, count: int) -> list[bytes]:
    """What no compression makes smaller, and some calls beside it."""
    records = []
    for number in range(first, first + count):
        said = observation_content.PublishedMessage(
            t=spools.SENT_MS,
            b=1,
            n=number,
            theme="t",
            publisher="p",
            size=2000,
            payload=os.urandom(2000),
        )
        records += [
            spools.record(observations.MESSAGE, observation_content.encode(said)),
            spools.called(number),
        ]
    return records


def mount(folder: Path, *options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", folder], check=True)


def attempt(lake: Lake, spool: Path, errors: list[str]) -> bool:
    """Whether it landed; an error moves no mark."""
    before = watermark.read(spool)
    try:
        Lander(lake, spool, "hub").run()
    except LocalError as error:
        errors.append(str(error))
        assert watermark.read(spool) == before
        return False
    return True


def recorded(lake: Lake, ballast: Path) -> str:
    """What is known of a run that failed while nothing more fits on the disk."""
    save(lake, RunRecord(ended_at=1.0, ok=True))
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(STEP_KB << 10)):
                pass
        except OSError as error:
            save(lake, RunRecord(ended_at=2.0, ok=False, error=str(error)))
    last = read(lake)
    assert last is not None
    assert last.ok_at == 1.0
    return last.error


def main(folder: Path) -> None:
    disk, spool = folder / "disk", folder / "spool"
    disk.mkdir()
    end = spools.write_segment(spool, START, messages(0, MESSAGES))
    lake, size_kb = Lake(str(disk / "lake")), STEP_KB
    full: list[str] = []
    refused: list[str] = []
    mount(disk, f"size={size_kb}k")
    while not attempt(lake, spool, full):
        size_kb += STEP_KB
        assert size_kb < 1000
        mount(disk, "remount", f"size={size_kb}k")
    spools.write_segment(spool, end, messages(MESSAGES, 1))
    mount(disk, "remount", "ro")
    assert not attempt(lake, spool, refused)
    mount(disk, "remount", "rw", "size=10m")
    assert attempt(lake, spool, refused)
    numbers = {
        table.name: sorted(lake.dataset(table).to_table()["sequence"].to_pylist())
        for table in (landing.MESSAGES, landing.CALLS)
    }
    recorded_error = recorded(lake, disk / "ballast")
    print(
        json.dumps(
            {"full": full, "refused": refused, "numbers": numbers, "recorded": recorded_error}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
