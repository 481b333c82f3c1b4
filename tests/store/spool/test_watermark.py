"""P3: how far a spool is in the lake."""

from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.store.spool import watermark


def test_the_mark_is_read_as_it_was_saved(tmp_path: Path) -> None:
    assert watermark.read(tmp_path) is None
    for position in (0, 7, 2**63):
        watermark.save(tmp_path, position)
        assert watermark.read(tmp_path) == position
    assert [file.name for file in tmp_path.iterdir()] == ["landed"]


@pytest.mark.parametrize("text", [b"", b"-1", b"1 2", b"9" * 21, bytes(8), b"1\n\n"])
def test_what_is_no_position_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "landed").write_bytes(text)
    with pytest.raises(UsageError, match="holds no position"):
        watermark.read(tmp_path)


def test_an_unreadable_watermark_is_reported(tmp_path: Path) -> None:
    (tmp_path / "landed").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        watermark.read(tmp_path)
