"""One more insight needs its table only: page, rows, search, view and chart follow from it."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.query import lake_query, query_session
from rookery.lake.schema import insights
from rookery.lake.schema.display import Display, Lines, Spans
from rookery.lake.schema.table import DATE, TIMESTAMP, Column, Table
from tests.web.lake_world import ADA, BOB, NOON, append, with_lake
from tests.web.world import world

pytestmark = pytest.mark.xdist_group("lake pages")

FLAPS = Table(
    "insights",
    "link_flaps",
    (
        Column("node", pa.string(), "hashname of one end"),
        Column("peer", pa.string(), "hashname of the other end"),
        Column("from_at", TIMESTAMP, "when it went down first"),
        Column("to_at", TIMESTAMP, "when it came up last"),
        Column("flaps", pa.int64(), "how often it went down", "times"),
        Column(DATE, pa.date32(), "UTC date that the row belongs to"),
        insights.LINEAGE,
    ),
    ("node", "peer", "from_at"),
    "links that went down and up again and again",
    ("facts/link_samples",),
    display=Display(
        "Flapping links",
        "from_at DESC, node, peer",
        searched=("node", "peer"),
        view=Spans("node || ' – ' || peer", "'outage'"),
        lines=Lines("from_at", (("flaps", "sum(flaps)::DOUBLE"),)),
    ),
)


async def test_one_more_insight_needs_its_table_only(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (insights, lake_query, query_session):
        monkeypatch.setattr(module, "TABLES", (*module.TABLES, FLAPS))
    row = {"node": ADA, "peer": BOB, "from_at": NOON, "to_at": NOON + timedelta(hours=1)}
    append(Lake(str(tmp_path / "lake")), FLAPS, [{**row, "flaps": 7}])
    async with world(tmp_path, template, with_lake(tmp_path / "lake")) as made:
        olga = await made.signed_in("olga", "operator")
        page = (await olga.get("/fleet/insights/link_flaps")).text
        assert "Flapping links" in page
        assert 'class="span outage"' in page
        url = "/api/v1/insights/link_flaps"
        [line] = (await olga.get(f"{url}/chart")).json()["series"]
        assert (line["label"], line["values"]) == ("flaps", [7.0])
        for text, count in ((ADA, 1), (BOB[:5], 1), ("nothing", 0)):
            found = (await olga.get(f"{url}/rows", params={"text": text})).json()
            assert len(found["rows"]) == count, text
