"""Synthetic data of a given roster: the past of a running demo."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rookery.errors import UsageError
from rookery.fleet.entry import server_id
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.population import synthetic_hashname
from rookery.lake.synthetic.roster import Roster, RosterDevice, RosterLink
from rookery.wire.fleet.mac import mac_text


def living() -> Roster:
    """Three devices with mesh nodes, and one without."""
    hashnames = [synthetic_hashname(9, "gateway", number) for number in range(4)]
    return Roster(
        devices=tuple(
            RosterDevice(f"02:fe:00:00:00:0{number}", name, site=number // 2)
            for number, name in enumerate(hashnames)
        ),
        servers=(synthetic_hashname(9, "server", 0),),
        sites=("berlin", "riga"),
        realm="ab" * 16,
        nodes=3,
        links=(
            RosterLink(0, 1, rtt_ms=10.0),
            RosterLink(1, 2, rtt_ms=40.0, loss=0.125, fades=True),
            RosterLink(0, 2, rtt_ms=20.0, flaps=True),
        ),
        relay=2,
    )


def living_rows(until: datetime | None = None) -> dict[str, pa.Table]:
    dataset = SyntheticDataset(days=2, roster=living(), until=until, repeats=0.0, poison=0.0)
    found: dict[str, list[pa.Table]] = {}
    for table, rows in dataset.chunks():
        found.setdefault(table.name, []).append(rows)
    return {name: pa.concat_tables(parts) for name, parts in found.items()}


def test_a_dataset_may_be_the_past_of_a_running_demo() -> None:
    roster, rows = living(), living_rows()
    assert set(rows["device_reports"]["reporter"].to_pylist()) == {
        each.device_id for each in roster.devices
    }
    samples = rows["link_samples"]
    assert set(samples["realm"].to_pylist()) == {roster.realm}
    assert set(samples["node"].to_pylist()) == {each.hashname for each in roster.devices[:3]}
    assert set(rows["server_reports"]["reporter"].to_pylist()) == {
        mac_text(server_id(each)) for each in roster.servers
    }
    assert set(rows["messages"]["theme"].to_pylist()) == {
        "berlin/temperature",
        "riga/temperature",
    }


def test_a_link_of_a_roster_has_its_values() -> None:
    roster = living()
    ends = {roster.devices[1].hashname, roster.devices[2].hashname}
    by_day = [
        (row["at"].hour, row["rtt_ms"], row["loss_in"])
        for row in living_rows()["link_samples"].to_pylist()
        if {row["node"], row["peer"]} == ends and row["is_up"]
    ]
    noon = [(rtt, loss) for hour, rtt, loss in by_day if hour == 12]
    night = [(rtt, loss) for hour, rtt, loss in by_day if hour == 2]
    assert all(40 <= rtt <= 60 and 0.125 <= loss <= 0.25 for rtt, loss in noon)
    assert all(rtt >= 120 and loss > 0.35 for rtt, loss in night)


def test_the_relay_of_a_roster_was_down_and_a_link_flaps() -> None:
    roster = living()
    relay = roster.devices[2].hashname
    downs = {
        (frozenset((row["node"], row["peer"])), row["at"].day, row["at"].hour)
        for row in living_rows()["link_samples"].to_pylist()
        if not row["is_up"]
    }
    assert {hour for ends, day, hour in downs if day == 3 and relay in ends} >= {14, 15}
    flapping = frozenset((roster.devices[0].hashname, relay))
    assert {hour for ends, day, hour in downs if ends == flapping and day == 2} == {5, 11, 17, 23}


def test_what_comes_after_its_end_is_left_out() -> None:
    until = datetime(2026, 3, 3, 15, 30, tzinfo=UTC)
    for name, rows in living_rows(until).items():
        if rows.num_rows:
            newest = pc.max(rows["received_at"]).as_py()
            assert newest < until, name
    assert pc.max(living_rows(until)["device_reports"]["received_at"]).as_py() > until - timedelta(
        minutes=3
    )


def test_a_roster_links_its_own_nodes_only() -> None:
    with pytest.raises(UsageError, match="two of its nodes"):
        Roster(devices=living().devices, nodes=1, links=living().links)
