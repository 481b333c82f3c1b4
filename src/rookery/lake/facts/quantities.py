"""Quantities: measured numbers as integers, and spans of time, exact in every engine.

A double is rounded by adding a half and cutting off, which is the same wherever it is computed;
each engine's own `round` is not.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

MICROS_A_SECOND = 1_000_000
MICROS_A_DAY = 86_400 * MICROS_A_SECOND


def whole(value: Column, factor: int) -> Column:
    """A number from 0 upwards in units of which there are `factor` in its own."""
    return F.floor(value * float(factor) + 0.5)


def micros(milliseconds: Column) -> Column:
    return whole(milliseconds, 1000)


def ppm(share: Column) -> Column:
    return whole(share, 1_000_000)


def span_us(since: Column, until: Column) -> Column:
    """From one time to a later one."""
    return F.unix_micros(until) - F.unix_micros(since)


def hour(at: Column) -> Column:
    """When its hour begins."""
    return F.date_trunc("hour", at)
