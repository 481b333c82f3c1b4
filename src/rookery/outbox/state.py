"""State: where a request is, and how it ended."""

from enum import Enum


class State(Enum):
    """As people and programs see it."""

    NEW = "new"
    QUEUED = "queued"  # in the inbox or the working list
    IN_SESSION = "in session"  # in the queue of a session
    WRITING = "writing"  # some of its bytes are out
    WRITTEN = "written"  # all of them are
    ACKNOWLEDGED = "acknowledged"  # handled there; from here on they are ends
    ANSWERED = "answered"
    EXPIRED = "expired"  # it never arrived whole
    CANCELLED = "cancelled"  # set_invalid() came before the write
    FAILED = "failed"

    @property
    def is_end(self) -> bool:
        return self in _ENDS


_ENDS = frozenset(
    {State.ACKNOWLEDGED, State.ANSWERED, State.EXPIRED, State.CANCELLED, State.FAILED}
)


class Failure(Enum):
    """Why a request failed."""

    FATE_UNKNOWN = "it was written, but nobody can say whether it was handled"
    PEER_REMOVED = "its peer was removed"
    REFUSED = "the peer could not handle it"
