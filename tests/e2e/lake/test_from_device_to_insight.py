"""From a device's report to an insight about it, through every process that ships (P1, P2, P3, P4).

A hub, a server and two agents run and are used; then the command line lands the hub's spool, runs
Spark over it and is asked. What the spool holds is the truth that every stage is counted against.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.store.spool.reader import SpoolReader
from rookery.wire import observation
from rookery.wire.link.lob import JsonObject
from rookery.wire.observation import Observation
from tests.cli.program import PROGRAM, Outcome, rookery
from tests.e2e.fleet.world import World, eventually

pytestmark = pytest.mark.xdist_group("spark")

REPORTS_MIN = 5
RUN_S = 900  # on a machine that has other things to do


class Scene(NamedTuple):
    hub: Path
    lake: Path
    macs: tuple[str, str]
    run: Outcome


def lake(*arguments: str | Path) -> Outcome:
    done = subprocess.run(
        [PROGRAM, "lake", *map(str, arguments)],
        capture_output=True,
        timeout=RUN_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def asked(scene: Scene, sql: str) -> list[JsonObject]:
    outcome = rookery("lake", "query", sql, "--json", "--data", scene.lake)
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def observed(hub: Path) -> list[Observation]:
    return [Observation.parse(record.data) for record in SpoolReader(hub / "spool")]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("whole")
    with World(folder) as world:
        hub = world.hubs[0]
        world.server("north")
        alice = world.person("alice")
        alice.register()
        assert alice.sign_in().code == 0
        attic, cellar = world.agent("attic", alice.code()), world.agent("cellar")
        alice.await_device(attic.mac)
        eventually(lambda: alice.rpc(attic.mac, "system.uptime").code == 0)
        eventually(lambda: _reports(hub.folder, attic.mac, cellar.mac) >= REPORTS_MIN)
        eventually(lambda: observation.CALLED in {each.kind for each in observed(hub.folder)})
        assert hub.stop() == 0
        target = folder / "lake"
        run = lake("run", "--once", "--spool", hub.folder, "--data", target, "--json")
        assert run.code == 0, run.err
        yield Scene(hub.folder, target, (attic.mac, cellar.mac), run)


def _reports(hub: Path, *macs: str) -> int:
    """Of whom there are fewest."""
    reporters = [each.sender for each in observed(hub) if each.kind == observation.DEVICE]
    found = Counter(reporter.hex(":") for reporter in reporters)
    return min(found[mac] for mac in macs)


def test_every_observation_is_in_the_lake_once(scene: Scene) -> None:
    """P3: by kind and by reporter, what was acknowledged is what is counted."""
    kinds = Counter(each.kind for each in observed(scene.hub))
    tables = {
        "device_reports": observation.DEVICE,
        "server_reports": observation.SERVER,
        "calls": observation.CALLED,
        "enrolments": observation.ENROLLED,
    }
    for table, kind in tables.items():
        assert kinds[kind]
        for stage in ("landing", "clean"):
            [row] = asked(scene, f"SELECT count(*) AS n FROM {stage}.{table}")
            assert row["n"] == kinds[kind], (stage, table)
    rows = asked(scene, "SELECT reporter, count(*) AS n FROM clean.device_reports GROUP BY ALL")
    assert {row["reporter"] for row in rows} == set(scene.macs)


def test_the_stages_add_up_and_a_second_run_changes_nothing(scene: Scene) -> None:
    """P3, by the verbs that an operator has for it."""
    check = rookery("lake", "check", "--data", scene.lake)
    assert check.code == 0, check.out + check.err
    logs = sorted(scene.lake.glob("*/*/_delta_log/*.json"))
    again = lake("run", "--once", "--spool", scene.hub, "--data", scene.lake, "--json")
    assert again.code == 0, again.err
    assert sorted(scene.lake.glob("*/*/_delta_log/*.json")) == logs


def test_insights_tell_of_the_devices_that_ran(scene: Scene) -> None:
    """P4: they were there, and what they carried is what their counters say."""
    rows = asked(scene, "SELECT device, outages FROM insights.availability")
    assert {row["device"] for row in rows} == set(scene.macs)
    [carried] = asked(
        scene,
        "SELECT (SELECT sum(received_bytes) FROM insights.traffic_minutes)"
        " = (SELECT sum(received_bytes) FROM facts.device_rates) AS is_equal",
    )
    assert carried["is_equal"] is True
