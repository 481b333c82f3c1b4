"""How a verb ends: one exit code for each kind of end, one line on stderr for each error.

0 ok · 1 a check failed · 2 wrong usage · 3 not reachable or not delivered · 4 denied · 5 stale
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.errors import (
    AuthenticationError,
    ChannelError,
    DeniedError,
    RookeryError,
    UsageError,
)

OK = 0
FAILED = 1
USAGE = 2
UNREACHABLE = 3
DENIED = 4
STALE = 5
INTERRUPTED = 130
BROKEN_PIPE = 141  # what a shell reports of a program that SIGPIPE ended

BIND_ADVICE = "choose another address, or port 0 for a free one"


def exit_code(error: RookeryError) -> int:
    match error:
        case UsageError():
            return USAGE
        case DeniedError() | AuthenticationError():
            return DENIED
        case _:
            return UNREACHABLE


def complain(text: object) -> None:
    """One line on stderr, whatever the text holds."""
    print(f"rookery: {' '.join(str(text).split())}", file=sys.stderr, flush=True)


@contextmanager
def advice(text: str) -> Iterator[None]:
    """Errors raised inside also say what to try next."""
    try:
        yield
    except RookeryError as error:
        raise type(error)(f"{error}; {text}") from error


@contextmanager
def served_by(peer: str, option: str) -> Iterator[None]:
    """A peer that does not serve what we ask for denies it; say how it would."""
    try:
        yield
    except ChannelError as error:
        if str(error) != "unknown type":
            raise ChannelError(f"{peer}: {error}; try again, or link first") from error
        message = f"{peer} does not offer this; start that endpoint with {option}"
        raise DeniedError(message) from error
