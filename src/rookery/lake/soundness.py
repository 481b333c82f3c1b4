"""Soundness: rules of a table as expressions of Spark."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.lake.schema.rules import Between, Named, OneOf, Required, Rule


def is_sound(rules: Sequence[Rule]) -> Column:
    """Whether a row keeps all of them; never null."""
    return ~reduce(or_, _breaches(rules))


def reason(rules: Sequence[Rule]) -> Column:
    """The first rule that a row breaks, for people; null: none."""
    return F.coalesce(*(F.when(_is_broken(rule), F.lit(_text(rule))) for rule in rules))


def _breaches(rules: Sequence[Rule]) -> Iterator[Column]:
    """Rules of the same list are looked at together: going through it is what costs."""
    for name, some in groupby(rules, key=_list_of):
        if name:
            yield _is_broken_in_list(name, list(some))
        else:
            yield from map(_is_broken, some)


def _list_of(rule: Rule) -> str:
    return rule.column.partition(".")[0] if "." in rule.column else ""


def _is_broken(rule: Rule) -> Column:
    name = _list_of(rule)
    return _is_broken_in_list(name, [rule]) if name else _is_wrong(rule, F.col(rule.column))


def _is_broken_in_list(name: str, rules: Iterable[Rule]) -> Column:
    def is_wrong(element: Column) -> Column:
        return reduce(
            or_, (_is_wrong(rule, element[rule.column.partition(".")[2]]) for rule in rules)
        )

    return F.coalesce(F.exists(name, is_wrong), F.lit(False))


def _is_wrong(rule: Rule, value: Column) -> Column:
    """Never null; what is not a number is above all numbers."""
    match rule:
        case Required():
            return value.isNull()
        case Named():
            return value.isNull() | (value == "")
        case Between(_, low, high):
            return value.isNotNull() & ((value < low) | (value > high))
        case OneOf(_, values):
            return value.isNull() | ~value.isin(*values)
        case _:
            assert_never(rule)


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
