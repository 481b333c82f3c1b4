"""The demo's lake from end to end: its past is that of the members that live, and is worked on."""

import json
from pathlib import Path

import psutil
import pytest

from rookery.cli.demo.site_plan import GATEWAYS, PLACES, mac
from rookery.wire.mac import mac_text
from tests.e2e.demo.living import STOP_S, Living, living

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]

RUN_S = 900.0  # of a loaded machine; fewer days are too few for a forecast
MEMORY_MAX = 3 << 30


def asked(demo: Living, sql: str) -> list[dict[str, object]]:
    told = demo.run("lake", "query", "--data", ".demo/lake", "--json", sql)
    return [json.loads(line) for line in told.splitlines()]


def test_the_past_of_the_living_becomes_insights_forecasts_and_advice(tmp_path: Path) -> None:
    with living(tmp_path, "--days", "3") as demo:
        run = demo.event("run", RUN_S)
        assert run["ok"], demo.errors()
        assert demo.memory() < MEMORY_MAX

        devices = asked(demo, "SELECT DISTINCT device FROM insights.availability")
        assert {row["device"] for row in devices} == {mac_text(mac(place)) for place in PLACES}
        nodes = asked(demo, "SELECT DISTINCT node FROM facts.link_samples WHERE realm <> ''")
        assert len(nodes) == len(GATEWAYS)
        for name in ("forecast.rka", "advice.rka"):
            assert (demo.folder / "export" / name).stat().st_size > 0, name
        for path in ("/fleet", "/fleet/insights", "/fleet/servers"):
            assert "<main" in demo.page(path), path

        processes = demo.processes()
        assert demo.interrupt() == 0
        _, alive = psutil.wait_procs(processes, timeout=STOP_S)
        assert not alive
        assert not list((tmp_path / "tmp").iterdir())
