"""Who is far from its own habit, in plain Python: series by entity, hour by hour."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LEAST = {
    "traffic": 1_000,
    "loss": 5_000,
    "rtt": 1_000,
    "load": 20_000,
    "device load": 500,
    "temperature": 2_000,
    "silence": 50_000_000,
}

Row = dict[str, Any]
Entity = tuple[str, str, str | None, str | None, str | None, str | None]  # kind, entity, device, …


class Off(NamedTuple):
    expected: int
    value: int
    score: float


def median(values: Iterable[int]) -> int:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def off(kind: str, value: int, before: list[int]) -> Off | None:
    usual = median(before) if before else 0
    apart = [abs(each - usual) for each in before] or [0]
    scale = max(median(apart), 0 if kind == "temperature" else usual // 10, LEAST[kind])
    if abs(value - usual) < 6 * scale or (kind != "traffic" and value < usual):
        return None
    return Off(usual, value, (value - usual) / scale)


def series(
    traffic: Iterable[Row], links: Iterable[Row], servers: Iterable[Row], devices: Iterable[Row]
) -> Iterator[tuple[Entity, datetime, int]]:
    totals: dict[tuple[str, datetime], list[tuple[int, int]]] = defaultdict(list)
    for row in traffic:
        size = row["received_bytes"] + row["sent_bytes"]
        totals[row["device"], row["hour"]].append((size, row["covered_ms"]))
    for (device, hour), interfaces in totals.items():
        covered = max(each for _, each in interfaces)
        if covered >= 1_800_000:
            value = sum(size for size, _ in interfaces) * 1000 // covered
            yield ("traffic", device, device, None, None, None), hour, value
    for row in links:
        name = f"{row['realm'] or ''}/{row['node']}/{row['peer']}"
        for kind, total in (("loss", "loss_ppm_sum"), ("rtt", "rtt_us_sum")):
            if row[f"{kind}_samples"]:
                entity = (kind, name, None, row["node"], row["peer"], row["realm"])
                yield entity, row["hour"], row[total] // row[f"{kind}_samples"]
    for row in servers:
        value = row["seats_used_sum"] * 1_000_000 // (row["reports"] * row["seats_max"])
        yield ("load", row["reporter"], row["reporter"], None, None, None), row["hour"], value
    for row in devices:
        for kind, name in (("device load", "load"), ("temperature", "temp")):
            total, samples = row[f"{name}_milli_sum"], row[f"{name}_samples"]
            if samples >= 4:
                value = abs(total) // samples * (-1 if total < 0 else 1)
                yield (kind, row["reporter"], row["reporter"], None, None, None), row["hour"], value


def anomalies(
    outages: list[Row],
    traffic: list[Row],
    links: list[Row],
    servers: list[Row],
    devices: list[Row],
) -> list[tuple[object, ...]]:
    """As in insights/anomalies."""
    values: dict[Entity, dict[datetime, int]] = defaultdict(dict)
    for entity, hour, value in series(traffic, links, servers, devices):
        values[entity][hour] = value
    found = [row for entity, hours in values.items() for row in _hourly(entity, hours)]
    for row in outages:
        before = [
            each["lasted_us"]
            for each in outages
            if each["device"] == row["device"]
            and row["date"] - 14 * DAY <= each["date"] < row["date"]
        ]
        judged = off("silence", row["lasted_us"], before)
        if judged:
            entity = ("silence", row["device"], row["device"], None, None, None)
            found.append((*entity, row["from_at"], row["to_at"], *judged, 0, row["date"]))
    return found


def _hourly(entity: Entity, hours: dict[datetime, int]) -> list[tuple[object, ...]]:
    runs: list[list[tuple[datetime, Off]]] = []
    for hour in sorted(hours):
        before = [hours[hour - n * DAY] for n in range(1, 15) if hour - n * DAY in hours]
        judged = off(entity[0], hours[hour], before) if len(before) >= 5 else None
        if judged is None:
            continue
        is_next = bool(runs) and (
            runs[-1][-1][0] == hour - HOUR
            and _day(hour) == _day(hour - HOUR)
            and (runs[-1][-1][1].score > 0) == (judged.score > 0)
        )
        if is_next:
            runs[-1].append((hour, judged))
        else:
            runs.append([(hour, judged)])
    found: list[tuple[object, ...]] = []
    for run in runs:
        _, worst = max(run, key=lambda each: (abs(each[1].score), -each[0].timestamp()))
        first, last = run[0][0], run[-1][0]
        found.append((*entity, first, last + HOUR, *worst, len(run), _day(first)))
    return found


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()
