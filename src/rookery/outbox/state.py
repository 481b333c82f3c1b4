"""State: where a request is, and how it ended."""

from enum import Enum

_ENDS = frozenset({"acknowledged", "answered", "expired", "cancelled", "failed"})


class RequestState(Enum):
    """The states of a request."""

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

    def __init__(self, text: str) -> None:
        # Computed once: it is read at every step of every request.
        self.is_end = text in _ENDS

    __hash__ = object.__hash__  # members are few and the same; their names need no hashing


class RequestFailure(Enum):
    """Why a request failed."""

    FATE_UNKNOWN = "it was written, but nobody can say whether it was handled"
    PEER_REMOVED = "its peer was removed"
    REFUSED = "the peer could not handle it"
