"""Everything that is only added up by the hour, and sessions (P3)."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts import hours
from rookery.lake.schema import clean, facts
from tests.lake.frames import NOON, frame, noon

pytestmark = pytest.mark.xdist_group("spark")

DAY = NOON.date()
ONE = noon(3600)


def test_hours_of_devices_are_in_thousandths_and_may_be_negative(spark: SparkSession) -> None:
    def report(seconds: float, load: float | None, temp: float | None) -> dict[str, object]:
        return {"reporter": "r", "at": noon(seconds), "load": load, "temp": temp}

    reports = [report(0, 0.25, -3.5), report(3599, 1.5, None), report(3600, None, -0.0004)]
    found = hours.device_hours(frame(spark, clean.DEVICE_REPORTS, reports))
    expected = [
        ("r", NOON, 2, 2, 1750, 1500, 1, -3500, -3500, DAY),
        ("r", ONE, 1, 0, None, None, 1, 0, 0, DAY),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.DEVICE_HOURS.struct))


def test_hours_of_servers_calls_and_messages(spark: SparkSession) -> None:
    def server(seconds: float, used: int, cpu: float | None) -> dict[str, object]:
        load = {"seats_max": 8, "seats_used": used, "cpu": cpu, "mem": 0.5}
        return {"reporter": "s", "at": noon(seconds), **load}

    reports = frame(
        spark,
        clean.SERVER_REPORTS,
        [server(0, 3, 0.25), server(3599, 5, None), server(3600, 1, 1.0)],
    )
    expected = [
        ("s", NOON, 2, 8, 8, 3, 5, 250_000, 250_000, 1_000_000, 500_000, DAY),
        ("s", ONE, 1, 8, 1, 1, 1, 1_000_000, 1_000_000, 500_000, 500_000, DAY),
    ]
    found = hours.server_hours(reports)
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.SERVER_HOURS.struct))

    call = {"reporter": "s", "router": "r", "method": "m", "at": NOON}
    calls = [{**call, "ms": 1.5, "code": 0}, {**call, "ms": 0.5, "code": -32000}, {**call}]
    found = hours.call_hours(frame(spark, clean.CALLS, calls))
    expected_calls = [("s", "r", "m", NOON, 3, 1, 2000, 1500, DAY)]
    assertDataFrameEqual(found, spark.createDataFrame(expected_calls, facts.CALL_HOURS.struct))

    message = {"theme": "t", "publisher": "p", "qos": 1, "at": NOON}
    messages = [{**message, "size": 3}, {**message, "size": 9}, {**message, "size": 1, "qos": 0}]
    found = hours.message_hours(frame(spark, clean.MESSAGES, messages))
    expected_messages = [("t", "p", 0, NOON, 1, 1, 1, DAY), ("t", "p", 1, NOON, 2, 12, 9, DAY)]
    assertDataFrameEqual(
        found, spark.createDataFrame(expected_messages, facts.MESSAGE_HOURS.struct)
    )


def test_hours_of_requests_decisions_and_security_events(spark: SparkSession) -> None:
    request = {"node": "n", "peer": "p", "fate": "answered", "at": NOON, "size": 10, "attempts": 2}
    requests = [
        {**request, "submitted_at": noon(-3), "ended_at": noon(-1)},
        {**request, "submitted_at": noon(5), "ended_at": noon(-1)},
        {**request, "submitted_at": NOON - timedelta(days=9999), "ended_at": NOON},
    ]
    found = hours.request_hours(frame(spark, clean.REQUESTS, requests))
    year_us = hours.TOOK_MAX_US
    expected = [("n", "p", "answered", NOON, 3, 30, 6, 2_000_000 + year_us, year_us, DAY)]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.REQUEST_HOURS.struct))

    decision = {"realm": "r", "source": "a", "destination": "c", "at": NOON}
    decisions = [
        {**decision, "nodes": ["a", "c"], "cost_us": 5, "previous": []},
        {**decision, "nodes": ["a", "b", "c"], "cost_us": 9, "previous": ["a", "c"]},
        {**decision, "nodes": ["a", "b", "c"], "cost_us": 8, "previous": ["a", "b", "c"]},
        {**decision, "nodes": [], "previous": ["a", "b", "c"]},
    ]
    found = hours.decision_hours(frame(spark, clean.DECISIONS, decisions))
    expected_decisions = [("r", "a", "c", NOON, 4, 1, 1, 2, 5, 9, DAY)]
    assertDataFrameEqual(
        found, spark.createDataFrame(expected_decisions, facts.DECISION_HOURS.struct)
    )

    events = [
        {"reporter": "r", "event": "replay", "address": address, "at": NOON}
        for address in ("x", "y", "x", None)
    ]
    found = hours.security_hours(frame(spark, clean.SECURITY_EVENTS, events))
    expected_events = [("r", "replay", NOON, 4, 2, DAY)]
    assertDataFrameEqual(found, spark.createDataFrame(expected_events, facts.SECURITY_HOURS.struct))


def test_a_sum_that_only_a_lie_can_make_is_unknown_and_stops_nothing(spark: SparkSession) -> None:
    lie = {"theme": "t", "publisher": "p", "qos": 1, "at": NOON, "size": (1 << 63) - 1}
    [row] = hours.message_hours(frame(spark, clean.MESSAGES, [lie, lie])).collect()
    assert (row.messages, row.bytes, row.bytes_max) == (2, None, lie["size"])


def test_of_a_wrong_clock_only_how_long_a_session_took_is_believed(spark: SparkSession) -> None:
    past = NOON - timedelta(days=9999)
    times = {"opened_at": noon(-9), "closed_at": noon(-2)}
    wrong = {"opened_at": past - timedelta(seconds=7), "closed_at": past}
    rows = [
        {"position": 1, "at": NOON, "server": "s", "clock_wrong": False, **times},
        {"position": 2, "at": NOON, "server": "", "clock_wrong": True, **wrong},
        {"position": 3, "at": NOON, "clock_wrong": False, "opened_at": NOON, "closed_at": noon(-1)},
    ]
    found = hours.sessions(frame(spark, clean.SESSIONS, rows))
    chosen = found.select("position", "opened_at", "closed_at", "took_us", "is_met")
    expected = [
        (1, noon(-9), noon(-2), 7_000_000, True),
        (2, noon(-7), NOON, 7_000_000, False),
        (3, noon(-1), noon(-1), 0, False),
    ]
    assertDataFrameEqual(chosen, spark.createDataFrame(expected, chosen.schema))
