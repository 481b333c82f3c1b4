"""Which event loop runs rookery."""

import asyncio
import sys

import pytest

from rookery.runtime.loop import run


async def module_of_the_loop() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_runs_on_uvloop_where_it_is_installed() -> None:
    assert run(module_of_the_loop()).startswith("uvloop")


def test_falls_back_to_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert run(module_of_the_loop()).startswith("asyncio")


def test_returns_the_result_and_raises_the_error() -> None:
    async def fails() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run(fails())
