"""Hours: reports, calls, requests, messages, decisions and events, added up by the hour.

Sums that do not fit 64 bits, which only forged reports can cause, are null.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.quantities import MICROS_A_DAY, hour, micros, ppm, span_us, whole
from rookery.lake.schema import facts
from rookery.lake.schema.table import Table

LOOKBACK_DAYS = 0
TOOK_MAX_US = 366 * MICROS_A_DAY

_MILLI = 1000


def device_hours(reports: DataFrame) -> DataFrame:
    """Facts of rows in clean/device_reports; nothing that is nested in them is read."""
    load_milli, temp_milli = whole(F.col("load"), _MILLI), whole(F.col("temp"), _MILLI)
    return _hours(
        facts.DEVICE_HOURS,
        reports,
        reports=F.count("*"),
        load_samples=F.count("load"),
        load_milli_sum=F.try_sum(load_milli),
        load_milli_max=F.max(load_milli),
        temp_samples=F.count("temp"),
        temp_milli_sum=F.try_sum(temp_milli),
        temp_milli_max=F.max(temp_milli),
    )


def server_hours(reports: DataFrame) -> DataFrame:
    """Facts of rows in clean/server_reports."""
    return _hours(
        facts.SERVER_HOURS,
        reports,
        reports=F.count("*"),
        seats_max=F.max("seats_max"),
        seats_used_sum=F.try_sum("seats_used"),
        seats_used_min=F.min("seats_used"),
        seats_used_max=F.max("seats_used"),
        cpu_ppm_sum=F.try_sum(ppm(F.col("cpu"))),
        cpu_ppm_max=F.max(ppm(F.col("cpu"))),
        mem_ppm_sum=F.try_sum(ppm(F.col("mem"))),
        mem_ppm_max=F.max(ppm(F.col("mem"))),
    )


def call_hours(calls: DataFrame) -> DataFrame:
    """Facts of rows in clean/calls."""
    took_us = micros(F.col("ms"))
    return _hours(
        facts.CALL_HOURS,
        calls,
        calls=F.count("*"),
        failures=F.count_if(F.col("code") != 0),
        took_us_sum=F.try_sum(took_us),
        took_us_max=F.max(took_us),
    )


def request_hours(requests: DataFrame) -> DataFrame:
    """Facts of rows in clean/requests."""
    took_us = _took_us(F.col("submitted_at"), F.col("ended_at"))
    return _hours(
        facts.REQUEST_HOURS,
        requests,
        requests=F.count("*"),
        bytes=F.try_sum("size"),
        attempts=F.try_sum("attempts"),
        took_us_sum=F.try_sum(took_us),
        took_us_max=F.max(took_us),
    )


def message_hours(messages: DataFrame) -> DataFrame:
    """Facts of rows in clean/messages."""
    return _hours(
        facts.MESSAGE_HOURS,
        messages,
        messages=F.count("*"),
        bytes=F.try_sum("size"),
        bytes_max=F.max("size"),
    )


def decision_hours(decisions: DataFrame) -> DataFrame:
    """Facts of rows in clean/decisions."""
    had, has = F.size("previous") > 0, F.size("nodes") > 0
    is_change = had & has & (F.col("previous") != F.col("nodes"))
    return _hours(
        facts.DECISION_HOURS,
        decisions,
        decisions=F.count("*"),
        changes=F.count_if(is_change),
        losses=F.count_if(~has),
        hops_max=F.max(F.when(has, (F.size("nodes") - 1).cast("long"))),
        cost_us_min=F.min("cost_us"),
        cost_us_max=F.max("cost_us"),
    )


def security_hours(events: DataFrame) -> DataFrame:
    """Facts of rows in clean/security_events."""
    return _hours(
        facts.SECURITY_HOURS,
        events,
        events=F.count("*"),
        addresses=F.count_distinct("address"),
    )


def sessions(sessions: DataFrame) -> DataFrame:
    """Facts of rows in clean/sessions; of a sender with a wrong clock only durations are used."""
    took_us = _took_us(F.col("opened_at"), F.col("closed_at"))
    closed_at = F.when(F.col("clock_wrong"), F.col("at")).otherwise(F.col("closed_at"))
    opened_at = F.timestamp_micros(F.unix_micros("closed_at") - F.col("took_us"))
    rows = (
        sessions.withColumn("took_us", took_us)
        .withColumn("closed_at", closed_at)
        .withColumns({"opened_at": opened_at, "is_met": F.coalesce("server", F.lit("")) != ""})
    )
    return rows.select(*facts.SESSIONS.arrow.names)


def _hours(table: Table, rows: DataFrame, **sums: Column) -> DataFrame:
    named = [column.alias(name) for name, column in sums.items()]
    added_up = rows.withColumn("hour", hour(F.col("at"))).groupBy(*table.key).agg(*named)
    return added_up.withColumn("date", F.to_date("hour")).select(*table.arrow.names)


def _took_us(since: Column, until: Column) -> Column:
    """From 0 to a year, as clocks may be set in between."""
    return F.greatest(F.lit(0), F.least(span_us(since, until), F.lit(TOOK_MAX_US)))
