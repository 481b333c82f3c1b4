"""How much of a thing one account may have at the same time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.web.problems import TooManyError


class Turnstile:
    """Lets so many of each account in at once."""

    def __init__(self, each_max: int) -> None:
        self._each_max = each_max
        self._inside: Counter[int] = Counter()

    @contextmanager
    def enter(self, account: int) -> Iterator[None]:
        """TooManyError when the account has all its places taken."""
        if self._inside[account] >= self._each_max:
            raise TooManyError(5, f"{self._each_max} connections are being made already; wait")
        self._inside[account] += 1
        try:
            yield
        finally:
            self._inside[account] -= 1
            if not self._inside[account]:
                del self._inside[account]  # an account that left takes no memory
