"""F14: the mesh as it was, in the same shape as the mesh as it is."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tests.web.lake_world import ADA, BOB, CY, DAY, HOUR, NOON, TODAY, with_lake, write_lake
from tests.web.world import World, world

pytestmark = pytest.mark.xdist_group("lake pages")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
async def lakeworld(tmp_path: Path, template: Path, lake: Path) -> AsyncIterator[World]:
    async with world(tmp_path, template, with_lake(lake)) as made:
        yield made


async def then(client: httpx.AsyncClient, at: object) -> httpx.Response:
    return await client.get("/api/v1/history/graph", params={"at": str(at)})


async def test_the_span_is_what_the_lake_knows(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    answer = await olga.get("/api/v1/history/span")
    assert answer.json() == {"from": DAY.timestamp(), "to": TODAY.timestamp(), "step_s": 300}


async def test_links_carry_the_figures_of_the_minutes_before(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    graph = (await then(olga, (NOON - timedelta(seconds=30)).isoformat())).json()
    assert [(one["hashname"], one["is_up"]) for one in graph["members"]] == [
        (ADA, True),
        (BOB, True),
        (CY, True),
    ]
    first, second = graph["links"]
    assert first == {
        **{"a": ADA, "b": BOB, "rtt_ms": 11.0, "loss_ab": 0.02, "loss_ba": 0.02, "state": "up"},
        **{"cost_ab_us": 5000, "cost_ba_us": 6000, "rate_bytes_s": 1_000_000, "age_s": 30.0},
    }
    assert (second["a"], second["b"], second["state"]) == (BOB, CY, "up")
    assert (second["rtt_ms"], second["cost_ab_us"]) == (None, 9000)


async def test_a_link_that_ended_is_down_and_its_end_away(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    graph = (await then(olga, (NOON + HOUR).isoformat())).json()
    states = {(one["a"], one["b"]): one["state"] for one in graph["links"]}
    assert states == {(ADA, BOB): "up", (BOB, CY): "down"}
    assert {one["hashname"]: one["is_up"] for one in graph["members"]}[CY] is False


async def test_old_times_of_the_mesh_come_from_hourly_sums(
    lakeworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.web.mesh.history.SAMPLES_DAYS", -10)
    olga = await lakeworld.signed_in("olga", "operator")
    graph = (await then(olga, NOON.isoformat().replace("+00:00", "Z"))).json()
    link = graph["links"][0]
    assert (link["rtt_ms"], link["loss_ab"], link["state"]) == (20.0, 0.00001, "up")


async def test_a_time_that_nothing_is_known_of_is_empty(lakeworld: World) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    graph = (await then(olga, "2001-01-01T00:00:00")).json()
    assert (graph["members"], graph["links"]) == ([], [])


@pytest.mark.parametrize("at", ["", "yesterday", "2026-13-01", "'; DROP TABLE x"])
async def test_what_is_no_time_is_refused(lakeworld: World, at: str) -> None:
    olga = await lakeworld.signed_in("olga", "operator")
    assert (await then(olga, at)).status_code == 400


async def test_it_is_for_operators_and_a_hub_without_a_lake_says_what_to_do(
    hubworld: World,
) -> None:
    uma, olga = await hubworld.signed_in("uma"), await hubworld.signed_in("olga", "operator")
    assert (await uma.get("/api/v1/history/span")).status_code == 403
    answer = await olga.get("/api/v1/history/span")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_lake")
    assert "rookery hub --lake" in answer.json()["detail"]


async def test_a_lake_that_is_empty_has_no_span(tmp_path: Path, template: Path) -> None:
    async with world(tmp_path, template, with_lake(tmp_path / "none")) as made:
        olga = await made.signed_in("olga", "operator")
        answer = await olga.get("/api/v1/history/span")
        assert answer.json() == {"from": None, "to": None, "step_s": 300}
        assert (await then(olga, NOON.isoformat())).json()["links"] == []
