"""The one error tree. Blame is in the type.

RookeryError
├── RemoteError            the other side's doing: drop, count, carry on
│   ├── DecodeError        these bytes are not what they claim to be
│   ├── AuthenticationError  a proof did not hold
│   ├── ProtocolError      well-formed, but not allowed now
│   └── ChannelError       the peer ended a channel with `err`
└── LocalError             ours or the user's: the caller must hear of it
    ├── UsageError         an argument, file or setting is wrong
    ├── UnreachableError   nobody answered, or there is no path
    ├── DeniedError        a rule or policy forbids it
    └── CongestionError    a bound is reached; try again later
"""


class RookeryError(Exception):
    """Everything this package raises on purpose."""


class RemoteError(RookeryError):
    """Caused by what a peer sent."""

    culprit: str | None = None  # the hashname, where it is proved not to be the peer's own doing


class DecodeError(RemoteError):
    """Bytes that cannot be what they claim to be."""


class AuthenticationError(RemoteError):
    """A MAC, signature or tag that does not hold."""


class ProtocolError(RemoteError):
    """Well-formed, but against the rules at this moment."""


class ChannelError(RemoteError):
    """The peer ended a channel with an error, or its link went down."""


class LocalError(RookeryError):
    """Caused on this side; the caller must hear of it."""


class UsageError(LocalError):
    """A wrong argument, file or setting."""


class UnreachableError(LocalError):
    """No path, or no answer in time."""


class DeniedError(LocalError):
    """A rule or policy forbids it."""


class CongestionError(LocalError):
    """A bound is reached; the work may be tried again later."""
