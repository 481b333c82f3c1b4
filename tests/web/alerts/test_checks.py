"""F14: what the mesh's node and the lake say becomes alerts; what they cannot say does not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from rookery.fleet.alerts.alert import AlertCondition
from rookery.lake.engine.delta import Lake
from rookery.lake.schema import insights
from rookery.web.alerts.checks import AlertChecks
from rookery.web.alerts.settings import AlertSettings
from rookery.web.http.problems import NodeUnavailableError
from rookery.web.mesh.graph import LinkShown, MemberShown, MeshGraphShown
from rookery.web.mesh.source import MeshSource
from tests.web.lake_world import ADA, BOB, CY, DEVICE_MACS, REALM, append, with_lake
from tests.web.world import World, world

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


class StagedMesh(MeshSource):
    """Says what a test has it say."""

    def __init__(self, *down: str) -> None:
        super().__init__(Path("/nowhere"))
        self.down = down
        self.is_away = False

    async def graph(self) -> MeshGraphShown:
        if self.is_away:
            raise NodeUnavailableError("away")
        members = tuple(
            MemberShown(
                hashname=name,
                name=f"node-{name[0]}",
                site="",
                roles=(),
                is_up=name not in self.down,
                age_s=1.0,
            )
            for name in (ADA, BOB, CY)
        )
        return MeshGraphShown(
            at=0.0, members=members, links=(_link(ADA, BOB, 0.3), _link(BOB, CY, None))
        )


def _link(a: str, b: str, loss: float | None) -> LinkShown:
    return LinkShown(
        a=a,
        b=b,
        rtt_ms=1.0,
        loss_ab=loss,
        loss_ba=None,
        cost_ab_us=1,
        cost_ba_us=1,
        rate_bytes_s=None,
        state="up",
        age_s=1.0,
    )


def looks(made: World) -> AlertChecks:
    return AlertChecks(made.site, AlertSettings(lake_s=60), "spool")


def found(conditions: list[AlertCondition]) -> dict[str, AlertCondition]:
    return {each.key: each for each in conditions}


async def test_conditions_of_the_mesh(hubworld: World) -> None:
    mesh = hubworld.site.mesh = StagedMesh(CY)
    ours = looks(hubworld)
    result = await ours.fleet((), 0)
    by_key = found(result.conditions)
    assert by_key[f"member gone {CY}"].title == "The mesh has lost node-c"
    assert by_key[f"link lossy {ADA} {BOB}"].note == "30% lost"
    assert len(by_key) == 2
    mesh.is_away = True
    blind = await ours.fleet((), 1)
    assert blind.conditions == []
    assert "member_gone" not in blind.checked
    assert "member_gone" in result.checked


@asynccontextmanager
async def with_insights(folder: Path, template: Path) -> AsyncIterator[World]:
    lake = Lake(str(folder / "lake"))
    incident = {
        **{"id": "2026-03-02 c0ffee", "kind": "outage", "members": 3, "cause": "site"},
        **{"cause_entity": "192.0.2.0/24", "entities": [f"router {DEVICE_MACS[0]}"]},
        **{"from_at": NOW - HOUR, "to_at": NOW - HOUR / 2},
    }
    old = incident | {"id": "old", "from_at": NOW - 9 * HOUR, "to_at": NOW - 8 * HOUR}
    append(lake, insights.INCIDENTS, [incident, old])
    link = {
        **{"kind": "rtt", "entity": f"{REALM}/{BOB}/{ADA}", "node": BOB, "peer": ADA},
        **{"from_at": NOW - HOUR, "to_at": NOW, "expected": 20_000, "observed": 95_000},
        **{"score": 12.0, "realm": REALM, "hours": 1},
    }
    mild = link | {"score": 6.5, "kind": "loss"}
    silence = link | {"kind": "silence"}
    hot = link | {
        **{"kind": "temperature", "entity": DEVICE_MACS[0], "device": DEVICE_MACS[0]},
        **{"node": None, "peer": None, "realm": None, "expected": 48_250, "observed": 67_000},
    }
    busy = hot | {"kind": "device load", "expected": 800, "observed": 5_250}
    append(lake, insights.ANOMALIES, [link, mild, silence, hot, busy])
    async with world(folder, template, with_lake(folder / "lake")) as made:
        yield made


async def test_what_the_lake_says_goes_on(tmp_path: Path, template: Path) -> None:
    async with with_insights(tmp_path, template) as made:
        result = await looks(made).fleet((), 0)
        by_key = found(result.conditions)
        assert set(by_key) == {
            "insight 2026-03-02 c0ffee",
            f"insight rtt {REALM}/{BOB}/{ADA}",
            f"insight temperature {DEVICE_MACS[0]}",
            f"insight device load {DEVICE_MACS[0]}",
        }
        hot = by_key[f"insight temperature {DEVICE_MACS[0]}"]
        assert hot.title == f"Unusual temperature: router {DEVICE_MACS[0]}"
        assert hot.note == "67 °C where 48.25 °C is usual"
        busy = by_key[f"insight device load {DEVICE_MACS[0]}"]
        assert busy.title == f"Unusual load: router {DEVICE_MACS[0]}"
        assert busy.note == "5.25 processes where 0.8 processes is usual"
        incident = by_key["insight 2026-03-02 c0ffee"]
        assert (incident.severity, incident.cause) == ("warning", "site 192.0.2.0/24")
        unusual = by_key[f"insight rtt {REALM}/{BOB}/{ADA}"]
        assert unusual.note == "95 ms where 20 ms is usual"
        assert unusual.entities == (f"link {ADA} {BOB}",)
        assert {"insight", "lake_stale"} <= result.checked


async def test_a_lake_that_had_nothing_new_and_one_that_is_asked_now_and_then(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with with_insights(tmp_path, template) as made:
        ours = looks(made)
        fresh = await ours.fleet((), 0)
        assert "lake stale" not in found(fresh.conditions)
        later = made.site.wall() + 5 * 3600
        monkeypatch.setattr(made.site, "wall", lambda: later)
        assert "lake stale" not in found((await ours.fleet((), 59)).conditions)
        stale = found((await ours.fleet((), 60)).conditions)
        assert stale["lake stale"].note == "5 h"


async def test_a_lake_that_cannot_be_read_was_not_looked_at(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.web.insights.lake_reader._NEEDED", ("no_such_package",))
    async with world(tmp_path, template, with_lake(tmp_path / "lake")) as made:
        result = await looks(made).fleet((), 0)
        assert not {"insight", "lake_stale"} & result.checked
        assert msgspec.structs.astuple(result)[0] == []
