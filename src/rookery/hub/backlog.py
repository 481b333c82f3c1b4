"""Backlog: what a hub has taken in and not passed on yet."""

import msgspec


class Backlog(msgspec.Struct, frozen=True):
    """Sizes of what waits."""

    spool_bytes: int  # kept for the lake, landed or not
    unlanded_bytes: int | None  # not in the lake yet; None: nobody lands it
    is_full: bool  # the spool has no room for more
    unsaved_entries: int  # changed since they were written to the database
