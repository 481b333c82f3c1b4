"""A process of the demo that ends before it should says why."""

from pathlib import Path

import pytest

from rookery.cli.demo.child import child
from rookery.errors import UnreachableError


async def test_its_last_words_are_in_the_error(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "lake.log"
    log.parent.mkdir()
    arguments = ["lake", "status", "--data", str(tmp_path / "nowhere")]
    async with child("status", arguments, log=log, out=tmp_path / "out") as running:
        with pytest.raises(UnreachableError) as raised:
            await running.failed()
    assert str(raised.value).startswith("status has ended with exit code 2: there is no lake in ")
    assert str(raised.value).endswith(f"; see {log}")
