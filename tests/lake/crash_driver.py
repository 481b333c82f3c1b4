"""Drivers that are killed: each line on stdin is one, forked from here so that it starts quickly.

    sc://127.0.0.1:1 /tmp/lake facts/steps before 0      dies before that commit
    sc://127.0.0.1:1 /tmp/lake facts/steps after 0       dies behind it
    sc://127.0.0.1:1 /tmp/lake - - 3.5                   is killed after so many seconds
    sc://127.0.0.1:1 /tmp/lake - - 0                     is left alone

It answers with what became of each: `killed`, `ok` or `failed`.
"""

import os
import signal
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Literal

from rookery.lake.engine import spark_session
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.parquet import AddedFile
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.schema.table import Table
from tests.lake import counters


class DeadlyLake(Lake):
    """Whoever commits a table dies of it."""

    def __init__(self, url: str, path: str, moment: str) -> None:
        super().__init__(url)
        self._path = path
        self._moment = moment

    def commit(
        self,
        table: Table,
        added: Sequence[AddedFile],
        replaced: Collection[date] | Literal["all"] | None,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        is_fatal = table.path == self._path
        if is_fatal and self._moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        version = super().commit(table, added, replaced, claims, metadata)
        if is_fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return version


def drive(master: str, lake: Lake) -> bool:
    settings = {"spark.sql.shuffle.partitions": "2"}
    spark = spark_session.start(master, name="a driver that may die", settings=settings)
    report = Pipeline(SparkTables(spark, lake), counters.PIPELINE).run()
    for step in report.steps:
        if step.text:
            print(step.step, step.outcome, step.text, file=sys.stderr, flush=True)
    return report.is_ok


def outcome(pid: int, killed_after_s: float) -> str:
    """Wait for a driver, or kill it in time."""
    deadline = time.monotonic() + killed_after_s
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if killed_after_s and time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            break
        time.sleep(0.02)
    if os.WIFSIGNALED(status):
        return "killed"
    return "ok" if os.waitstatus_to_exitcode(status) == 0 else "failed"


def main() -> None:
    for line in sys.stdin:
        master, url, path, moment, killed_after_s = line.split()
        pid = os.fork()
        if pid == 0:
            lake = Lake(url) if path == "-" else DeadlyLake(url, path, moment)
            os._exit(0 if drive(master, lake) else 1)
        print(outcome(pid, float(killed_after_s)), flush=True)


if __name__ == "__main__":
    main()
