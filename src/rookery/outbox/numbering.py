"""Numbering: what names a peer's requests, and what it remembers of ours."""

import msgspec


class Numbering(msgspec.Struct, frozen=True, kw_only=True):
    """With a ledger, it is kept."""

    epoch: int  # of our requests to it
    memory: int  # of its requests to us
    next_id: int = 1
    their_memory: int | None = None  # the one our last writes went to
