"""`--data`: text, a file or stdin."""

from pathlib import Path

import pytest

from rookery.cli.terminal.payload import payload, whole_payload
from rookery.errors import UsageError


async def test_text_and_files_of_any_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 200_000)
    assert await whole_payload("text", 10) == b"text"
    assert await whole_payload(f"@{tmp_path}/file", 200_000) == b"x" * 200_000
    assert payload(None) == b""


@pytest.mark.parametrize("data", ["", None, "more than four"])
async def test_what_is_empty_or_too_long_is_refused(data: str | None) -> None:
    with pytest.raises(UsageError, match="1 to 4 bytes"):
        await whole_payload(data, 4)


async def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(UsageError, match="1 to 100 bytes"):
        await whole_payload("@/dev/zero", 100)


@pytest.mark.parametrize("name", ["missing", "", "\0"])
def test_a_missing_file_is_named(name: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        payload(f"@{name}")
