"""How often links went down, in plain Python: sample by sample, end by end."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Any, NamedTuple

FIVE_MINUTES = timedelta(minutes=5)
MICROSECOND = timedelta(microseconds=1)

Row = dict[str, Any]
Link = tuple[str, str, str]


class Seen(NamedTuple):
    """A day of a link as one end saw it."""

    downs: list[datetime]
    down: timedelta
    until: datetime | None
    samples: int
    boots: int


def _seen(samples: list[Row]) -> Seen:
    boots: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in samples:
        boots[row["reporter"], row["boot"]].append(row)
    downs: list[datetime] = []
    down, until = timedelta(), None
    for rows in boots.values():
        rows.sort(key=lambda row: (row["sequence"], row["at"], row["number"]))
        for place, row in enumerate(rows):
            if row["is_up"]:
                continue
            if place and rows[place - 1]["is_up"]:
                apart = row["at"] - rows[place - 1]["at"]
                if -FIVE_MINUTES <= apart <= FIVE_MINUTES:
                    downs.append(row["at"])
            lasted = timedelta()
            if place + 1 < len(rows):
                lasted = min(max(rows[place + 1]["at"] - row["at"], timedelta()), FIVE_MINUTES)
            down += lasted
            end = row["at"] + lasted
            until = end if until is None else max(until, end)
    return Seen(sorted(downs), down, until, len(samples), len(boots))


def link_days(samples: Iterable[Row]) -> list[Row]:
    """As in insights/link_days."""
    ends: dict[tuple[Link, date], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in samples:
        if row["realm"] and row["node"] != row["peer"] and row["is_up"] is not None:
            link = (row["realm"], *sorted((row["node"], row["peer"])))
            day = row["at"].astimezone(UTC).date()
            ends[link, day][row["node"]].append(row)
    return [_day(link, day, nodes) for (link, day), nodes in ends.items()]


def _day(link: Link, day: date, nodes: dict[str, list[Row]]) -> Row:
    seen = {node: _seen(rows) for node, rows in nodes.items()}
    most = max(each.samples for each in seen.values())
    heard = {node: each for node, each in seen.items() if each.samples >= most / 2}
    node = min(heard, key=lambda one: (len(heard[one].downs), -heard[one].samples, one))
    one = heard[node]
    apart = [(later - first) // MICROSECOND for first, later in pairwise(one.downs)]
    return {
        "realm": link[0],
        "a": link[1],
        "b": link[2],
        "node": node,
        "ends": len(seen),
        "samples": one.samples,
        "downs": len(one.downs),
        "down_us": one.down // MICROSECOND,
        "between_us": median_low(apart) if apart else None,
        "from_at": one.downs[0] if one.downs else None,
        "to_at": one.until if one.downs else None,
        "restarts": sum(each.boots - 1 for each in seen.values()),
        "date": day,
    }


def flapping_links(days: list[Row]) -> list[Row]:
    """As in insights/flapping_links."""
    found = []
    for row in days:
        if row["downs"] < 4:
            continue
        known = [
            each["downs"]
            for each in days
            if all(each[name] == row[name] for name in ("realm", "a", "b"))
            and row["date"] - timedelta(days=14) <= each["date"] < row["date"]
            and each["samples"] >= row["samples"] / 2
        ]
        usual = median_low(known) if len(known) >= 3 else None
        if usual is None:
            kind = "no history"
        else:
            kind = "more often" if row["downs"] >= 2 * usual else "as usual"
        kept = ("realm", "a", "b", "from_at", "to_at", "downs", "down_us", "between_us")
        more = {name: row[name] for name in (*kept, "ends", "restarts", "date")}
        found.append(more | {"kind": kind, "usual_downs": usual, "usual_days": len(known)})
    return found
