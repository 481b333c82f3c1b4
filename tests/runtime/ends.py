"""What a service test needs of its surroundings: Alice, who opens, and Bob, who serves."""

import asyncio
from types import TracebackType
from typing import Protocol, Self

from rookery.runtime.endpoint.channels.interface import ChannelOpener, Handler
from tests.patience import PATIENCE_S


def watchdog() -> asyncio.TimerHandle:
    """Cancels everything after a while: a test that hangs should fail, not stop the suite."""

    def bite() -> None:
        for task in asyncio.all_tasks():
            task.cancel("the test hangs")

    return asyncio.get_running_loop().call_later(PATIENCE_S, bite)


class Server(Protocol):
    def serve(self, kind: str, handler: Handler) -> None: ...


class Ends(Protocol):
    """Two joined endpoints, by a queue or by a network."""

    @property
    def alice(self) -> ChannelOpener: ...

    @property
    def bob(self) -> Server: ...

    @property
    def hashnames(self) -> tuple[str, str]:
        """Alice's and Bob's."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
