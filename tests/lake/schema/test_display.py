"""Every insight says how pages show it, by columns that it has."""

import re

import pytest

from rookery.lake.schema import catalog, insights
from rookery.lake.schema.display import Spans
from rookery.lake.schema.table import DATE, Table
from rookery.web.words.translation import PageTranslation

_NAME = re.compile(r"'[^']*'|\b[a-z][a-z0-9_]*\b(?!\()")


def columns_in(sql: str) -> set[str]:
    """Names in lower case that are neither functions nor texts."""
    return {each for each in _NAME.findall(sql) if not each.startswith("'")}


@pytest.mark.parametrize("table", insights.TABLES, ids=lambda table: table.name)
def test_an_insight_is_shown_by_columns_that_it_has(table: Table) -> None:
    display, names = table.display, set(table.arrow.names)
    assert display is not None
    assert columns_in(display.order) <= names
    assert set(display.searched) <= names
    if isinstance(display.view, Spans):
        assert {"from_at", "to_at"} <= names
        assert columns_in(display.view.entity) | columns_in(display.view.kind) <= names
    if display.lines is not None:
        assert display.lines.time in names
        assert display.lines.split_by in names | {""}
        assert len(display.lines.series) == 1 or not display.lines.split_by
        for _, sql in display.lines.series:
            assert columns_in(sql) <= names


@pytest.mark.parametrize("table", insights.TABLES, ids=lambda table: table.name)
def test_a_dated_insight_begins_with_what_is_newest(table: Table) -> None:
    """So that pages look back only as far as they need to fill a page."""
    if table.is_dated:
        assert table.display is not None
        first = table.display.first_column
        assert table.display.order.startswith(f"{first} DESC")
        assert first == DATE or str(table.arrow.field(first).type).startswith("timestamp")


def test_titles_differ_and_have_russian_words() -> None:
    russian = PageTranslation("ru")
    titles = {table.display.title for table in insights.TABLES if table.display is not None}
    assert len(titles) == len(insights.TABLES)
    assert [title for title in titles if russian(title) == title] == []


def test_only_insights_have_pages() -> None:
    shown = [table for table in catalog.TABLES if table.display is not None]
    assert shown == list(insights.TABLES)
