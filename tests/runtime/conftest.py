"""Gates are tested on both event loops that rookery runs on; everything else on asyncio's."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, LoopFactory]:
    asyncio_only: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop}
    if not item.path.stem.endswith("_gate"):
        return asyncio_only
    return asyncio_only | {"uvloop": uvloop.new_event_loop}
