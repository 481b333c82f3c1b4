"""Findings: what a history planted beside what the lake made of it, for people who look at both."""

from collections.abc import Iterator
from typing import NamedTuple

from rookery.lake.engine.delta import Lake
from rookery.lake.query.lake_query import LakeQuery
from rookery.lake.synthetic.ground_truth import GroundTruth


class PlantedFinding(NamedTuple):
    """The same thing, known beforehand and found."""

    what: str
    planted: int
    found: int
    sql: str  # how it was asked

    @property
    def is_found(self) -> bool:
        return self.planted == self.found


def findings(truth: GroundTruth, lake: Lake) -> list[PlantedFinding]:
    """For a lake that holds this history and nothing else, after a run."""
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
        "routers whose clock was wrong",
        len({each.sender for each in truth.wrong_clocks()}),
        "SELECT count(DISTINCT reporter) FROM clean.device_reports WHERE clock_wrong",
    )
    yield (
        "routers with counters of 32 bits",
        len(truth.narrow()),
        "SELECT count(DISTINCT reporter) FROM facts.device_rates WHERE is_wrapped",
    )
    yield (
        "routers that were out for five minutes or more",
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
            "hours in a row in which a router was too hot or too busy",
            len(truth.overloads()),
            "SELECT count(*) FROM insights.anomalies WHERE kind IN ('temperature', 'device load')",
        )
    yield (
        "mesh nodes that others hang on",
        sum(map(len, truth.articulation_points().values())),
        "SELECT count(DISTINCT a) FROM insights.critical_elements"
        " WHERE kind = 'node' AND hour(hour) = 12",
    )
    yield (
        "mesh links that fade at night",
        len({(each.node, each.peer) for each in truth.fades()}),
        "SELECT count(DISTINCT least(node, peer) || greatest(node, peer))"
        " FROM insights.link_quality WHERE loss > 0.2 AND realm <> ''",
    )
