"""Validation: the rules of a table as Spark expressions.

For each element of a list, functions of whole arrays are used, which Spark compiles; those that
take a lambda are interpreted, and cost more than reading the rows.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.clean.rules import COUNT_MAX, Between, Named, OneOf, Required, Rule


def is_sound(rules: Sequence[Rule]) -> Column:
    """Whether a row keeps all of them; never null."""
    return ~reduce(or_, map(_is_broken, rules))


def reason(rules: Sequence[Rule]) -> Column:
    """The first rule that a row breaks, for people; null: none."""
    return F.coalesce(*(F.when(_is_broken(rule), F.lit(_text(rule))) for rule in rules))


def _is_broken(rule: Rule) -> Column:
    """Never null."""
    name, _, field = rule.column.partition(".")
    if field:
        return F.col(name).isNotNull() & _is_broken_within(rule, F.col(name)[field])
    return _is_wrong(rule, F.col(name))


def _is_wrong(rule: Rule, value: Column) -> Column:
    match rule:
        case Required():
            return value.isNull()
        case Named():
            return value.isNull() | (value == "")
        case Between():
            return F.coalesce(_is_outside(rule, value, value), F.lit(False))
        case OneOf(_, values):
            return value.isNull() | ~value.isin(*values)
        case _:
            assert_never(rule)


def _is_broken_within(rule: Rule, values: Column) -> Column:
    match rule:
        case Named():
            # Null where there is no empty text, and one that is missing.
            return F.coalesce(F.array_contains(values, ""), F.lit(True))
        case Between():
            outside = _is_outside(rule, F.array_min(values), F.array_max(values))
            return F.coalesce(outside, F.lit(False))
        case _:
            raise AssertionError(f"no rule for elements: {rule}")


def _is_outside(rule: Between, least: Column, most: Column) -> Column:
    """What is not a number is above all numbers."""
    is_below = least < rule.low
    return is_below if rule.high == COUNT_MAX else is_below | (most > rule.high)


def _text(rule: Rule) -> str:
    match rule:
        case Required() | Named():
            return f"{rule.column} is missing"
        case Between(column, low, high):
            return f"{column} is not from {low:g} to {high:g}"
        case OneOf(column, values):
            return f"{column} is none of {', '.join(values)}"
        case _:
            assert_never(rule)
