"""Rows of an outbox: one for each peer, one for each request that has no end yet."""

import msgspec

from rookery.runtime.node.members import NodeName


class QueueRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="queue"):
    """What waits for one peer, or is under way to it."""

    node: NodeName
    requests: int
    requests_max: int
    bytes: int  # of memory
    bytes_max: int
    states: dict[str, int] = {}  # requests by state
    is_in_session: bool = False  # there is a session now
    sessions: int = 0  # so far
    is_alarmed: bool = False  # a bound is near
    last_error: str = ""


class RequestRow(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="request"):
    """One request."""

    node: NodeName  # whom it is for
    id: int
    state: str
    qos: int
    bytes: int  # of payload
    wants_reply: bool = False
    expires_in_s: float | None = None
    is_begun: bool = False  # some of it was written: too late to cancel
