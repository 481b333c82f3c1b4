"""Publish/subscribe topics of the last day, from the lake's facts."""

from datetime import UTC, datetime, timedelta

import msgspec

from rookery.web.insights.lake_reader import HubLakeReader, Row

HOURS = 24
TOPICS_MAX = 500
PUBLISHERS_MAX = 5  # that are named

_TOPICS = """
SELECT theme, sum(messages) AS messages, sum(bytes) AS bytes, max(bytes_max) AS bytes_max,
  count(DISTINCT publisher) AS publishers,
  list(DISTINCT publisher ORDER BY publisher)[1:5] AS names, max(hour) AS last_hour,
  max(qos) AS qos
FROM facts.message_hours WHERE hour >= ? GROUP BY theme ORDER BY messages DESC, theme
"""
_HOURS = """
SELECT theme, hour, sum(messages) AS messages
FROM facts.message_hours WHERE hour >= ? GROUP BY theme, hour
"""


class PubsubTopicShown(msgspec.Struct, frozen=True, kw_only=True):
    """One topic over the last day with data."""

    theme: str
    messages: int
    bytes: int
    bytes_max: int  # of the largest
    per_hour: list[int]  # messages, the oldest hour first
    publishers: int
    names: list[str]  # of the first publishers
    qos: int  # the highest
    last_hour: float  # wall seconds, when the last hour with any begins


class PubsubTopicsShown(msgspec.Struct, frozen=True, kw_only=True):
    """All topics; `to` is the end of the day shown, None without data."""

    to: float | None
    themes: list[PubsubTopicShown]


async def pubsub_topics(lake: HubLakeReader) -> PubsubTopicsShown:
    """Topics of the last day in the lake, which may be some time ago."""
    newest = await lake.rows("SELECT max(hour) AS hour FROM facts.message_hours")
    last = newest[0]["hour"] if newest else None
    if not isinstance(last, datetime):
        return PubsubTopicsShown(to=None, themes=[])
    last = last.replace(tzinfo=UTC) if last.tzinfo is None else last
    first = last - timedelta(hours=HOURS - 1)
    found = await lake.rows(_TOPICS, first, rows_max=TOPICS_MAX)
    hours = await lake.rows(_HOURS, first, rows_max=TOPICS_MAX * HOURS)
    by_theme = _by_topic(hours, first)
    shown = [_shown(row, by_theme.get(str(row["theme"]), [])) for row in found]
    return PubsubTopicsShown(to=last.timestamp() + 3600, themes=shown)


def _by_topic(rows: list[Row], first: datetime) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        hour = row["hour"]
        assert isinstance(hour, datetime)
        at = int((_utc(hour) - first) / timedelta(hours=1))
        if 0 <= at < HOURS:
            found.setdefault(str(row["theme"]), [0] * HOURS)[at] = _number(row, "messages")
    return found


def _shown(row: Row, per_hour: list[int]) -> PubsubTopicShown:
    names, last = row["names"], row["last_hour"]
    assert isinstance(last, datetime)
    return PubsubTopicShown(
        theme=str(row["theme"]),
        messages=_number(row, "messages"),
        bytes=_number(row, "bytes"),
        bytes_max=_number(row, "bytes_max"),
        per_hour=per_hour,
        publishers=_number(row, "publishers"),
        names=[str(name) for name in names][:PUBLISHERS_MAX] if isinstance(names, list) else [],
        qos=_number(row, "qos"),
        last_hour=_utc(last).timestamp(),
    )


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def _number(row: Row, name: str) -> int:
    """Sums come as decimals of any size."""
    return int(str(row[name] or 0))
