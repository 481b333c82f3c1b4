"""P4: the page that explains every column says what the schemas say."""

from pathlib import Path

from rookery.lake.schema import dictionary
from rookery.lake.schema.catalog import TABLES

PAGE = Path(__file__).parents[3] / "docs" / "lake-dictionary.md"


def test_the_page_is_what_the_schemas_make() -> None:
    """If not: python -m rookery.lake.schema.dictionary > docs/lake-dictionary.md."""
    assert PAGE.read_text() == dictionary.dictionary_page()


def test_every_table_and_column_is_explained() -> None:
    page = dictionary.dictionary_page()
    for table in TABLES:
        assert f"### {table.path}\n" in page
        assert table.text
        assert all(column.text for column in table.columns), table.path


def test_keys_and_sources_exist() -> None:
    paths = {table.path for table in TABLES}
    for table in TABLES:
        assert set(table.key) <= set(table.arrow.names), table.path
        assert set(table.sources) <= paths, table.path
