"""The past is that of the very members of the demo, and ends where they begin."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

from rookery.cli.demo import synthetic_data
from rookery.cli.demo.folder import DemoFolder, prepared
from rookery.cli.demo.members import DemoMembers, make_members
from rookery.cli.demo.site_plan import DEVICES, LINKS, NODES, SERVERS, mac
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.landing import DEVICE_REPORTS, LINK_SAMPLES
from rookery.wire.fleet.mac import mac_text

pytestmark = pytest.mark.slow


async def landed(place: Path) -> tuple[DemoFolder, DemoMembers]:
    with prepared(place / "demo") as folder:
        members = await make_members(folder)
        synthetic_data.write_roster(folder, members)
        assert synthetic_data.land_history(folder, days=1) > 10_000
    return folder, members


async def test_it_is_the_past_of_the_members(tmp_path: Path) -> None:
    folder, members = await landed(tmp_path)
    lake = Lake(str(folder.lake))
    reports = lake.dataset(DEVICE_REPORTS).to_table(columns=["reporter", "received_at"])
    assert set(reports["reporter"].to_pylist()) == {mac_text(mac(place)) for place in DEVICES}
    ends_s = pc.max(reports["received_at"]).as_py().timestamp()
    began_s = (folder.path / "roster.json").stat().st_mtime
    assert began_s - 65 < ends_s <= began_s
    samples = lake.dataset(LINK_SAMPLES).to_table(columns=["node", "peer", "realm"])
    names = {members.hashname(place.name): place.name for place in NODES}
    pairs = {frozenset((names[row["node"]], names[row["peer"]])) for row in samples.to_pylist()}
    assert pairs == {frozenset((link.one, link.other)) for link in LINKS}
    assert set(samples["realm"].to_pylist()) == {members.realm_id}


async def test_members_have_keys_of_their_own_in_their_folders(tmp_path: Path) -> None:
    with prepared(tmp_path / "demo") as folder:
        members = await make_members(folder)
        names = [*(place.name for place in DEVICES), *SERVERS]
        assert len({members.hashname(name) for name in names}) == len(names)
        assert all((folder.member(name) / "identity.json").is_file() for name in names)
