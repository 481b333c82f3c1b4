"""F14: the fleet at a glance, also where there is neither a mesh nor a lake."""

import time
from pathlib import Path

import msgspec
import pytest

from rookery.hub.registry.entry_writer import HubBacklog
from rookery.identity.hashname import hashname
from rookery.store.accounts.audit import AuditRow
from rookery.web.mesh.graph import LinkShown, MemberShown, MeshGraphShown
from rookery.web.overview.summary import Overview, overview_now
from rookery.web.settings import WebSettings
from tests.web.lake_world import with_lake, write_lake
from tests.web.servers.test_status import load
from tests.web.world import SETTINGS, World, world

OTHER, SILENT = (hashname({0x40: bytes([number]) * 64}) for number in (1, 2))


async def shown(made: World) -> Overview:
    olga = await made.signed_in("olga", "operator")
    answer = await olga.get("/api/v1/overview")
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=Overview)


async def test_an_empty_hub_says_what_to_start(hubworld: World) -> None:
    olga = await hubworld.signed_in("olga", "operator")
    text = (await olga.get("/fleet")).text
    for command in ("rookery agent", "rookery server", "rookery hub --node", "rookery hub --lake"):
        assert command in text
    assert "All is quiet." in text


async def test_devices_servers_and_backlog_are_counted(hubworld: World) -> None:
    for number in range(1, 5):
        await hubworld.hub.report(bytes([2, 0, 0, 0, 0, number]), ago_s=1 if number > 1 else 500)
    hubworld.hub.loads = [load(used=40), load(OTHER, 20), load(SILENT, 90, age_s=500)]
    hubworld.hub.waiting = HubBacklog(5000, 2000, is_full=False, unsaved_entries=1)
    found = await shown(hubworld)
    assert (found.devices.online, found.devices.silent) == (3, 1)
    sums = found.servers
    assert (sums.servers, sums.silent, sums.seats_used, sums.seats_max) == (2, 1, 60, 200)
    assert (found.backlog.unlanded_bytes, found.backlog.requests) == (2000, None)
    assert (found.mesh, found.lake, found.incidents) == (None, None, {})


async def test_operators_see_of_the_audit_what_concerns_the_fleet(hubworld: World) -> None:
    rows = [
        AuditRow(at=time.time(), who="olga", what=what, target="x")
        for what in ("server.drain", "session.begin", "rpc.called", "security.replay")
    ]
    await hubworld.site.audit.add(*rows)
    found = await shown(hubworld)
    assert {event.what for event in found.events} == {"Server drained", "Report sent again"}


async def test_hostile_names_are_escaped(hubworld: World) -> None:
    row = AuditRow(at=1.0, who="<script>a</script>", what="server.x", target="<b>y</b>")
    await hubworld.site.audit.add(row)
    olga = await hubworld.signed_in("olga", "operator")
    text = (await olga.get("/fleet")).text
    assert "<script>a" not in text
    assert "&lt;b&gt;y&lt;/b&gt;" in text


async def test_users_are_turned_away(hubworld: World) -> None:
    uma = await hubworld.signed_in("uma")
    for path in ("/fleet", "/fleet/now", "/api/v1/overview"):
        assert (await uma.get(path)).status_code == 403


@pytest.mark.parametrize("lake", ["written", "none", "broken"])
async def test_whatever_is_the_matter_with_the_lake_the_page_shows(
    tmp_path: Path, template: Path, lake: str
) -> None:
    folder = tmp_path / lake
    if lake != "none":
        write_lake(folder)
    if lake == "broken":
        for log in folder.rglob("_delta_log/*.json"):
            log.write_text("{")
    async with world(tmp_path, template, with_lake(folder)) as made:
        found = await overview_now(made.site)
        olga = await made.signed_in("olga", "operator")
        text = (await olga.get("/fleet")).text
    if lake == "written":
        assert found.lake is not None
        assert found.lake.run.endswith("c0ffee00")
        assert "insights up to" in text
    elif lake == "none":
        assert found.lake is not None
        assert found.lake.tables == 0
        assert "rookery lake run" in text
    else:
        assert "cannot be read" in found.lake_problem
        assert "cannot be read" in text


async def test_an_unavailable_mesh_node_is_shown_with_the_rest(
    tmp_path: Path, template: Path
) -> None:
    settings: WebSettings = msgspec.structs.replace(SETTINGS, node=tmp_path / "no.sock")
    async with world(tmp_path, template, settings) as made:
        found = await overview_now(made.site)
    assert (found.mesh, found.devices.online) == (None, 0)
    assert found.mesh_problem


def test_the_worst_links_are_down_or_lossy_and_the_good_ones_left_out() -> None:
    from rookery.web.overview.summary import _mesh_summary

    def link(b: str, state: str = "up", loss: float = 0.0, rtt_ms: float = 10.0) -> LinkShown:
        values = {"a": "a", "b": b, "rtt_ms": rtt_ms, "loss_ab": loss, "loss_ba": None}
        rest = {"cost_ab_us": 1, "cost_ba_us": 1, "rate_bytes_s": 1, "age_s": 1.0, "state": state}
        return msgspec.convert(values | rest, LinkShown)

    member = MemberShown(hashname="a", name="ada", site="", roles=(), is_up=True, age_s=1.0)
    links = (link("good"), link("slow", rtt_ms=400), link("lossy", loss=0.2), link("down", "down"))
    found = _mesh_summary(MeshGraphShown(at=1.0, members=(member,), links=links))
    assert [(one.a_name, one.b) for one in found.worst] == [
        ("ada", "down"),
        ("ada", "lossy"),
        ("ada", "slow"),
    ]
    assert (found.links, found.links_up) == (4, 3)
