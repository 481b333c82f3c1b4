"""Ledger: where a durable outbox writes down what must survive the process.

The core tells what happened, in order, and waits with the first byte of a request until `clear` has
been answered by `Peer.cleared`: then the request, and that it may have been written, are on disk.
"""

from typing import Protocol

import msgspec

from rookery.outbox.request import OutboxRequest


class Ledger(Protocol):
    """Called by the loop's thread; nothing here waits."""

    def added(self, host: str, request: OutboxRequest) -> None: ...

    def ended(self, host: str, request: OutboxRequest) -> None: ...

    def clear(self, host: str, id_: int, memory: int) -> None:
        """Requests up to this id may be written to a peer that has this memory."""
        ...

    def floor(self, host: str, floor: int) -> int:
        """The same, or less where the end of a request is not on disk yet."""
        ...


class RequestNumbering(msgspec.Struct, frozen=True, kw_only=True):
    """Ids and epochs of one peer; a ledger keeps them across restarts."""

    epoch: int  # of our requests to it
    memory: int  # of its requests to us
    next_id: int = 1
    their_memory: int | None = None  # the one our last writes went to
