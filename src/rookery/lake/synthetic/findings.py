"""Findings: planted faults of a synthetic dataset and what the lake found, side by side."""

from collections.abc import Iterator
from typing import NamedTuple

from rookery.lake.engine.delta import Lake
from rookery.lake.query.lake_query import LakeQuery
from rookery.lake.synthetic.ground_truth import GroundTruth


class PlantedFinding(NamedTuple):
    """A count that is known beforehand, and the one that was found."""

    what: str
    planted: int
    found: int
    sql: str  # that counts it

    @property
    def is_found(self) -> bool:
        return self.planted == self.found


def findings(truth: GroundTruth, lake: Lake) -> list[PlantedFinding]:
    """For a lake that holds this dataset and nothing else, after a run."""
    query = LakeQuery(lake)
    found = []
    for what, planted, sql in _questions(truth):
        [row] = query.answer(sql).rows.to_pylist()
        found.append(PlantedFinding(what, planted, int(next(iter(row.values())) or 0), sql))
    return found


def _questions(truth: GroundTruth) -> Iterator[tuple[str, int, str]]:
    poisoned = truth.poisoned()
    yield (
        "reports, each once",
        truth.made() - len(poisoned),
        "SELECT count(*) FROM clean.device_reports",
    )
    yield (
        "reports that cannot be true, set aside",
        len(poisoned) + sum(each in poisoned for each in truth.repeats()),
        "SELECT count(*) FROM quarantine.observations WHERE kind = 'device_reports'",
    )
    yield (
        "devices whose clock was wrong",
        len({each.sender for each in truth.wrong_clocks()}),
        "SELECT count(DISTINCT reporter) FROM clean.device_reports WHERE clock_wrong",
    )
    yield (
        "devices with counters of 32 bits",
        len(truth.narrow()),
        "SELECT count(DISTINCT reporter) FROM facts.device_rates WHERE is_wrapped",
    )
    yield (
        "devices that were out for five minutes or more",
        len({each.sender for each in truth.outages()}),
        "SELECT count(DISTINCT device) FROM insights.outages WHERE lasted_us >= 300 * 1000000",
    )
    yield (
        "sites that failed as one",
        len(truth.incidents()),
        "SELECT count(*) FROM insights.incidents WHERE cause = 'site' AND members >= 6",
    )
    if truth.overloads():
        yield (
            "hours in a row in which a device was too hot or too busy",
            len(truth.overloads()),
            "SELECT count(*) FROM insights.anomalies WHERE kind IN ('temperature', 'device load')",
        )
    yield (
        "mesh nodes without which others are cut off",
        sum(map(len, truth.articulation_points().values())),
        "SELECT count(DISTINCT a) FROM insights.critical_elements"
        " WHERE kind = 'node' AND hour(hour) = 12",
    )
    yield (
        "mesh links that degrade at night",
        len({(each.node, each.peer) for each in truth.fades()}),
        "SELECT count(DISTINCT least(node, peer) || greatest(node, peer))"
        " FROM insights.link_quality WHERE loss > 0.2 AND realm <> ''",
    )
