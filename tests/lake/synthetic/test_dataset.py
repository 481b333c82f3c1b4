"""P2, P4: a synthetic dataset has exactly the faults that its ground truth lists."""

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import rustworkx

from rookery.errors import UsageError
from rookery.lake.engine.delta import Lake
from rookery.lake.schema import landing
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.ground_truth import GroundTruth, PlantedReport
from rookery.lake.synthetic.landing import land
from tests.lake.synthetic_world import SyntheticWorld

HOUR = timedelta(hours=1)
LINEAGE = ("reporter", "boot", "sequence")


def whole(dataset: SyntheticDataset) -> dict[str, pa.Table]:
    chunks: dict[str, list[pa.Table]] = defaultdict(list)
    for table, rows in dataset.chunks():
        chunks[table.name].append(rows)
    return {name: pa.concat_tables(each) for name, each in chunks.items()}


def report_ids(rows: pa.Table) -> Counter[PlantedReport]:
    columns = (rows[name].to_pylist() for name in LINEAGE)
    return Counter(map(PlantedReport, *columns))


def test_every_kind_is_there_in_its_landing_schema(synthetic: SyntheticWorld) -> None:
    for table in landing.TABLES:
        rows = synthetic.rows(table.name)
        assert rows.num_rows > 0, table.name
        assert rows.schema.equals(table.arrow), table.name


def test_the_same_seed_makes_the_same_rows_and_another_one_others() -> None:
    def made(seed: int) -> dict[str, pa.Table]:
        return whole(
            SyntheticDataset(seed=seed, days=1, devices=8, nodes=10, realms=1, interval_s=300)
        )

    one, same, other = made(3), made(3), made(4)
    assert one == same
    assert one["device_reports"] != other["device_reports"]


def test_chunks_are_cuts_of_the_same_rows() -> None:
    def made(chunk_rows: int) -> pa.Table:
        dataset = SyntheticDataset(
            days=2, devices=24, nodes=0, interval_s=300, chunk_rows=chunk_rows
        )
        return whole(dataset)["device_reports"].drop_columns("position").combine_chunks()

    assert made(100).sort_by("received_at") == made(1_000_000).sort_by("received_at")


def test_a_chunk_has_about_the_requested_rows_and_one_date() -> None:
    dataset = SyntheticDataset(days=2, devices=48, nodes=0, interval_s=60, chunk_rows=10_000)
    sizes = [rows.num_rows for table, rows in dataset.chunks() if table.name == "device_reports"]
    assert len(sizes) >= 12
    assert max(sizes) < 15_000


def test_rows_come_in_order_of_arrival_and_have_a_place_of_their_own(
    synthetic: SyntheticWorld,
) -> None:
    places: set[tuple[str, int]] = set()
    for table in landing.TABLES:
        rows = synthetic.rows(table.name).sort_by(
            [("spool", "ascending"), ("position", "ascending")]
        )
        mine = list(zip(rows["spool"].to_pylist(), rows["position"].to_pylist(), strict=True))
        assert len(set(mine)) == len(mine)
        assert not places & set(mine)
        places |= set(mine)
        micros = rows["received_at"].cast(pa.int64()).to_pylist()
        times = zip(rows["spool"].to_pylist(), micros, strict=True)
        for _, of_spool in groupby(times, key=lambda each: each[0]):
            received = [at for _, at in of_spool]
            assert received == sorted(received)


def test_a_repeat_says_the_same_and_is_the_only_reason_to_come_twice(
    synthetic: SyntheticWorld,
) -> None:
    rows = synthetic.rows("device_reports")
    counts = report_ids(rows)
    assert {each for each, count in counts.items() if count > 1} == set(synthetic.truth.repeats())
    assert max(counts.values()) == 2
    assert len(counts) == synthetic.truth.made()
    repeat = synthetic.truth.repeats()[0]
    is_it = pc.and_(
        pc.equal(rows["reporter"], repeat.device),
        pc.and_(pc.equal(rows["boot"], repeat.boot), pc.equal(rows["sequence"], repeat.sequence)),
    )
    one, other = rows.filter(is_it).drop_columns(["position", "received_at", "date"]).to_pylist()
    assert one.pop("spool") != other.pop("spool")
    assert one == other


def test_other_kinds_repeat_as_often_as_the_ground_truth_says(synthetic: SyntheticWorld) -> None:
    for name, repeated in synthetic.truth.repeated_rows().items():
        rows = synthetic.rows(name)
        distinct = (
            rows.num_rows if name in ("enrolments", "security_events") else len(report_ids(rows))
        )
        assert rows.num_rows - distinct == repeated, name


def test_counters_fall_only_where_a_reset_a_wrap_or_a_reboot_is_planted(
    synthetic: SyntheticWorld,
) -> None:
    fell: set[tuple[str, str]] = set()
    resets = Counter[tuple[str, str]]()
    rows = synthetic.rows("device_reports").sort_by(
        [("reporter", "ascending"), ("boot", "ascending"), ("sequence", "ascending")]
    )
    last: dict[tuple[str, int, str], int] = {}
    poisoned = synthetic.truth.poisoned()
    for row in rows.select([*LINEAGE, "interfaces"]).to_pylist():
        report_id = PlantedReport(row["reporter"], row["boot"], row["sequence"])
        if report_id in poisoned:
            continue
        for interface in row["interfaces"]:
            key = (report_id.device, report_id.boot, interface["name"])
            total = interface["received_bytes"] + interface["sent_bytes"]
            if total < last.get(key, 0):
                fell.add((report_id.device, interface["name"]))
                resets[report_id.device, interface["name"]] += 1
            last[key] = total
    planted = Counter((each.device, each.interface) for each in synthetic.truth.resets())
    wraps = Counter((each.device, each.interface) for each in synthetic.truth.wraps())
    assert fell == set(planted) | set(wraps)
    assert {key: resets[key] for key in planted} == planted
    assert all(wraps[key] >= 3 for key in wraps)


def test_a_device_has_as_many_boots_as_it_was_started(synthetic: SyntheticWorld) -> None:
    boots: dict[str, set[int]] = defaultdict(set)
    for report in report_ids(synthetic.rows("device_reports")):
        boots[report.device].add(report.boot)
    planted: dict[str, set[int]] = defaultdict(set)
    for reboot in synthetic.truth.reboots():
        planted[reboot.device].add(reboot.boot)
    clones = {clone.device: set(clone.boots) for clone in synthetic.truth.clones()}
    for reporter, found in boots.items():
        known = planted[reporter] | clones.get(reporter, set())
        assert known <= found
        assert len(found - known) == 1, "the boot that the dataset began with"


def test_a_device_sends_no_report_during_an_outage(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("device_reports")
    assert {each.kind for each in synthetic.truth.outages()} == {"power", "dead", "site"}
    for outage in synthetic.truth.outages():
        at = rows.filter(pc.equal(rows["reporter"], outage.sender))["at"]
        inside = pc.and_(pc.greater_equal(at, outage.from_at), pc.less(at, outage.to_at))
        assert not pc.any(inside).as_py(), outage


def test_a_site_falls_silent_as_one(synthetic: SyntheticWorld) -> None:
    (incident,) = synthetic.truth.incidents()
    assert len(incident.devices) == 6
    outages = [each for each in synthetic.truth.outages() if each.kind == "site"]
    assert {each.sender for each in outages} == set(incident.devices)
    assert max(each.from_at for each in outages) - incident.from_at < timedelta(minutes=1)


def test_late_reports_come_hours_or_days_after_they_were_made(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("device_reports")
    end = synthetic.truth.dead_links()[0].to_at
    lags_s: list[float] = []
    for delay in synthetic.truth.delays():
        mine = rows.filter(pc.equal(rows["reporter"], delay.sender))
        is_late = pc.and_(
            pc.greater_equal(mine["at"], delay.from_at), pc.less(mine["at"], delay.to_at)
        )
        lags_s += [
            (row["received_at"] - row["at"]).total_seconds()
            for row in mine.filter(is_late).select(["received_at", "at"]).to_pylist()
            if row["at"] < end - 24 * HOUR  # for the last ones the dataset ends too soon
        ]
    assert len(lags_s) > 200
    assert min(lags_s) > HOUR.total_seconds()
    assert max(lags_s) > 2 * 24 * HOUR.total_seconds()


def test_some_reports_are_overtaken_by_later_ones(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("device_reports").sort_by("received_at")
    newest: dict[tuple[str, int], int] = {}
    overtaken = 0
    for report in zip(*(rows[n].to_pylist() for n in LINEAGE), strict=True):
        key = report[:2]
        overtaken += report[2] < newest.get(key, 0)
        newest[key] = max(report[2], newest.get(key, 0))
    assert overtaken > rows.num_rows * 0.005


def test_clocks_are_wrong_only_when_the_ground_truth_says_so(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("device_reports")
    ahead = pc.greater(pc.subtract(rows["at"], rows["received_at"]), timedelta(minutes=5))
    behind = pc.greater(pc.subtract(rows["received_at"], rows["at"]), timedelta(days=30))
    found = Counter(rows.filter(pc.or_(ahead, behind))["reporter"].to_pylist())
    clocks = synthetic.truth.wrong_clocks()
    assert {each.kind for each in clocks} == {"1970", "2040", "ahead"}
    assert set(found) == {each.sender for each in clocks}


def test_poisoned_reports_say_what_cannot_be(synthetic: SyntheticWorld) -> None:
    poisoned = synthetic.truth.poisoned()
    wrong = set()
    rows = synthetic.rows("device_reports")
    for row in rows.select([*LINEAGE, *["load", "mem", "disk", "up_s", "interfaces"]]).to_pylist():
        shares = row["mem"], row["disk"]
        counted = min(each["received_bytes"] for each in row["interfaces"])
        is_sound = row["load"] >= 0 and row["up_s"] >= 0 and counted >= 0
        if not (is_sound and all(0 <= each <= 1 for each in shares)):
            wrong.add(PlantedReport(row["reporter"], row["boot"], row["sequence"]))
    assert wrong == set(poisoned)
    assert len(set(poisoned.values())) == 5


def test_a_clone_reports_in_between_with_a_boot_of_its_own(synthetic: SyntheticWorld) -> None:
    (clone,) = synthetic.truth.clones()
    rows = synthetic.rows("device_reports")
    mine = rows.filter(pc.equal(rows["reporter"], clone.device))
    inside = pc.and_(pc.greater_equal(mine["at"], clone.from_at), pc.less(mine["at"], clone.to_at))
    assert pc.count_distinct(mine.filter(inside)["boot"]).as_py() == 2
    events = synthetic.rows("security_events")
    senders = events.filter(pc.equal(events["event"], "clone"))["reporter"].to_pylist()
    assert senders == [clone.device] * 6


def test_the_mesh_has_the_articulation_points_and_bridges_of_the_ground_truth() -> None:
    dataset = SyntheticDataset(days=1, devices=24, nodes=36, realms=3, interval_s=300)
    truth = GroundTruth(dataset)
    for number, realm in enumerate(dataset.mesh.realms):
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(dataset.mesh.hashnames)
        graph.add_edges_from(
            [(link.one, link.other, None) for link in dataset.mesh.links if link.realm == number]
        )
        names = {graph[node] for node in rustworkx.articulation_points(graph)}
        assert names == truth.articulation_points()[realm]
        bridges = {tuple(sorted(graph[end] for end in ends)) for ends in rustworkx.bridges(graph)}
        assert bridges == truth.bridges()[realm]


def test_a_link_fades_every_night_and_another_one_dies(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("link_samples")
    for fade in synthetic.truth.fades():
        ends = pc.and_(pc.equal(rows["node"], fade.node), pc.equal(rows["peer"], fade.peer))
        mine = rows.filter(ends)
        night = pc.and_(pc.greater_equal(mine["at"], fade.from_at), pc.less(mine["at"], fade.to_at))
        assert pc.min(mine.filter(night)["loss_in"]).as_py() >= 0.25
        assert pc.max(mine.filter(pc.invert(night))["loss_in"].slice(60, 100)).as_py() < 0.1
    (dead,) = synthetic.truth.dead_links()
    ends = pc.and_(pc.equal(rows["node"], dead.node), pc.equal(rows["peer"], dead.peer))
    mine = rows.filter(ends)
    assert pc.all(mine.filter(pc.less(mine["at"], dead.from_at))["is_up"]).as_py()
    after = mine.filter(pc.greater(mine["at"], dead.from_at))
    assert not pc.any(after["is_up"]).as_py()
    assert after["rtt_ms"].null_count == after.num_rows


def test_the_ends_of_a_dead_link_stop_claiming_it(synthetic: SyntheticWorld) -> None:
    (dead,) = synthetic.truth.dead_links()
    rows = synthetic.rows("record_changes")
    claims = {True: 0, False: 0}
    for row in rows.filter(pc.equal(rows["node"], dead.node)).to_pylist():
        claims[row["at"] < dead.from_at] += dead.peer in {link["peer"] for link in row["links"]}
    assert claims[True] > 50
    assert claims[False] == 0


def test_a_withdrawn_relay_comes_back_in_a_new_epoch(synthetic: SyntheticWorld) -> None:
    away = synthetic.truth.relay_away()
    assert away is not None
    _, relay, from_at, to_at = away
    rows = synthetic.rows("record_changes")
    mine = rows.filter(pc.equal(rows["node"], relay)).sort_by("at").to_pylist()
    inside = [row for row in mine if from_at < row["at"] < to_at]
    assert all(row["is_withdrawn"] for row in inside)
    assert {row["epoch"] for row in mine if row["at"] > to_at} == {2}


def test_a_herd_takes_seats_at_once(synthetic: SyntheticWorld) -> None:
    rows = synthetic.rows("server_reports")
    for storm in synthetic.truth.reconnect_storms():
        mine = rows.filter(pc.equal(rows["reporter"], storm.sender)).sort_by("at")
        seats = {row["at"]: row["seats_used"] for row in mine.to_pylist()}
        before = [used for at, used in seats.items() if storm.from_at - HOUR < at < storm.from_at]
        during = [used for at, used in seats.items() if storm.from_at <= at < storm.to_at]
        assert min(during) > max(before) + 50


def test_sums_are_exact_in_any_order(synthetic: SyntheticWorld) -> None:
    """What allows tests to compare sums of different engines to the last bit."""
    for name, column in (("device_reports", "load"), ("link_samples", "rtt_ms"), ("calls", "ms")):
        values = [
            each for each in synthetic.rows(name)[column].to_pylist() if each == each and each
        ]
        assert sum(values) == sum(reversed(values)) == sum(sorted(values))


def test_landing_again_adds_nothing(lake: Lake) -> None:
    dataset = SyntheticDataset(days=1, devices=4, nodes=0, interval_s=300)
    first = land(dataset, lake)
    assert first["device_reports"] > 1000
    assert not land(dataset, lake)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SyntheticDataset(days=0),
        lambda: SyntheticDataset(interval_s=7),
        lambda: SyntheticDataset(interval_s=3600),
        lambda: SyntheticDataset(nodes=12, realms=2).mesh,
    ],
)
def test_what_cannot_be_generated_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(UsageError):
        wrong()
