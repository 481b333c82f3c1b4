"""F14: insights with definition, lineage and freshness; rows to read, to page and to take away."""

import csv
import io
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.lake.schema import insights
from rookery.wire.fleet.mac import parse_mac
from tests.web.lake_world import ADA, BOB, DAY, DEVICE_MACS, HOSTILE, RUN, with_lake, write_lake
from tests.web.world import World, world

pytestmark = pytest.mark.xdist_group("lake pages")
NAMES = [table.name for table in insights.TABLES]
WRITTEN = [name for name in NAMES if name not in ("places", "traffic_minutes", "traffic_days")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
async def lakeworld(tmp_path: Path, template: Path, lake: Path) -> AsyncIterator[World]:
    async with world(tmp_path, template, with_lake(lake)) as made:
        yield made


async def test_the_catalogue_has_all_with_freshness_and_lineage(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    found = {one["name"]: one for one in (await olga.get("/api/v1/insights")).json()}
    assert list(found) == NAMES
    availability = found["availability"]
    assert (availability["rows"], availability["run"], availability["code"]) == (2, RUN, "0.1.0")
    [nearest] = [each for each in availability["lineage"] if each["distance"] == 1]
    assert (nearest["path"], nearest["included"]) == ("facts/uptime_intervals", 3)
    stages = [each["stage"] for each in availability["lineage"]]
    assert stages == ["facts", "clean", "landing"]
    assert found["places"]["state"] == "absent"
    assert found["anomalies"]["state"] == "behind"  # of outages, which it did not take in
    column = next(each for each in availability["columns"] if each["name"] == "share")
    assert column["unit"] == "share"


async def test_every_insight_has_a_page_made_or_not(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    for name in NAMES:
        answer = await olga.get(f"/fleet/insights/{name}")
        assert answer.status_code == 200, f"{name}: {answer.text[:500]}"
        assert ("Not made yet" in answer.text) == (name not in WRITTEN)
        assert (RUN in answer.text) == (name in WRITTEN)
        assert "Lineage" in answer.text


async def test_views_say_what_matters(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    availability = (await olga.get("/fleet/insights/availability")).text
    assert availability.index(DEVICE_MACS[1]) < availability.index(
        DEVICE_MACS[0]
    )  # the worst first
    assert "1 of 2 devices met their objective" in availability
    critical = (await olga.get("/fleet/insights/topology_health")).text
    assert "What disconnects whom" in critical
    assert BOB[:8] in critical
    week = (await olga.get("/fleet/insights/link_quality")).text
    assert week.count('class="heat-5"') == 3 + 1  # hours that lose most, and the legend
    rtt = await olga.get(f"/fleet/insights/link_quality?link={ADA}+{BOB}&measure=rtt")
    assert rtt.text.count('class="heat-1"') == 168 + 1


async def test_devices_are_shown_by_their_owners_names(lakeworld: World) -> None:
    await lakeworld.owner("alice", parse_mac(DEVICE_MACS[1]))
    olga = await lakeworld.signed_in("olga", "operator")
    for name in ("availability", "outages"):
        text = (await olga.get(f"/fleet/insights/{name}")).text
        assert "attic" in text, name


async def test_charts_are_lines_over_time(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    traffic = (await olga.get("/api/v1/insights/traffic_hours/chart")).json()
    assert (traffic["unit"], len(traffic["times"])) == ("bytes/s", 24)
    assert [(one["label"], one["values"][0]) for one in traffic["series"]] == [
        ("received", 1000.0),
        ("sent", 100.0),
    ]
    none = (await olga.get("/api/v1/insights/traffic_hours/chart?text=nobody")).json()
    assert none["times"] == []
    forecast = (await olga.get("/api/v1/insights/server_load_forecast/chart")).json()
    assert forecast["unit"] == "ratio"
    assert len(forecast["series"][0]["values"]) == len(forecast["times"])


async def test_insights_have_a_chart_where_their_tables_say_so(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    for table in insights.TABLES:
        assert table.display is not None
        answer = await olga.get(f"/api/v1/insights/{table.name}/chart?text=02:fc")
        assert (answer.status_code == 200) == (table.display.lines is not None), table.name


async def test_the_runs_behind_the_rows_are_those_of_their_lineage(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    day = DAY.date().isoformat()
    assert (await olga.get("/api/v1/insights/outages/runs")).json() == [
        {"run": RUN, "inputs": "facts/x@1", "code": "0.1.0", "rows": 2, "first": day, "last": day}
    ]
    [whole] = (await olga.get("/api/v1/insights/link_quality/runs")).json()
    assert (whole["rows"], whole["first"]) == (168, None)
    assert (await olga.get("/api/v1/insights/places/runs")).json() == []


async def test_rows_come_page_by_page(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    url = "/api/v1/insights/link_quality/rows?count=100"
    first = (await olga.get(url)).json()
    second = (await olga.get(f"{url}&offset={first['next']}")).json()
    assert (len(first["rows"]), len(second["rows"]), second["next"]) == (100, 68, None)
    hours = {row["hour_of_week"] for row in first["rows"] + second["rows"]}
    assert hours == set(range(168))
    shown = (await olga.get("/fleet/insights/link_quality?offset=50")).text
    assert 'rel="prev"' in shown
    assert 'rel="next"' in shown


@pytest.mark.parametrize(("text", "rows"), [(DEVICE_MACS[1], 1), ("02:FC", 1), ("' OR 1=1 --", 0)])
async def test_rows_are_found_by_a_part_of_a_name(lakeworld: World, text: str, rows: int) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    found = await olga.get("/api/v1/insights/outages/rows", params={"text": text})
    assert len(found.json()["rows"]) == rows


async def test_hostile_rows_are_shown_as_such_and_harm_no_spreadsheet(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    page = (await olga.get("/fleet/insights/outages", params={"text": HOSTILE})).text
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    file = await olga.get("/api/v1/insights/outages/download?as=csv")
    assert file.headers["content-type"].startswith("text/csv")
    assert file.headers["content-disposition"] == 'attachment; filename="outages.csv"'
    rows = list(csv.reader(io.StringIO(file.text)))
    assert (rows[0][0], len(rows)) == ("device", 3)
    assert HOSTILE in {row[0] for row in rows}
    assert len((await olga.get("/api/v1/insights/outages/download?as=json")).json()["rows"]) == 2


async def test_the_command_shows_the_same_rows(
    lakeworld: World, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rookery.web.insights.catalogue import command

    assert lakeworld.site.lake is not None
    words = shlex.split(command(lakeworld.site.lake, "outages", DEVICE_MACS[1]))
    assert words[:2] == ["rookery", "lake"]
    assert main([*words[1:], "--csv"]) == 0
    printed = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["device"] for row in printed] == [DEVICE_MACS[1]]


@pytest.mark.parametrize(
    "path", ["/api/v1/insights/nothing", "/fleet/insights/..%2f", "/api/v1/insights/x/rows"]
)
async def test_a_name_that_there_is_not_is_unknown(lakeworld: World, path: str) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    assert (await olga.get(path)).status_code == 404


async def test_users_are_turned_away_and_a_hub_without_a_lake_says_so(hubworld: World) -> None:
    uma, olga = await hubworld.signed_in("uma"), await hubworld.signed_in("olga", "operator")
    assert (await uma.get("/fleet/insights")).status_code == 403
    assert (await uma.get("/api/v1/insights/outages/download")).status_code == 403
    assert "rookery hub --lake" in (await olga.get("/fleet/insights")).text
    assert (await olga.get("/fleet/insights/outages")).status_code == 404


async def test_an_empty_lake_names_the_next_command(tmp_path: Path, template: Path) -> None:
    async with world(tmp_path, template, with_lake(tmp_path / "none")) as made:
        olga = await made.signed_in("olga", "operator")
        assert "rookery lake run" in (await olga.get("/fleet/insights")).text
        assert "rookery lake run" in (await olga.get("/fleet/insights/outages")).text
