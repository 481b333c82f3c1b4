"""A line that says how far a copy got: on a terminal for people, or as JSON for programs."""

import sys
import time

from rookery.cli.terminal import units
from rookery.cli.terminal.screen import print_json

SHOWN_S = 0.2  # between two lines

_WIDTH = 24
_CLEAR = "\r\x1b[K"


class Progress:
    """Called for every step, shows some of them, and nothing unless stderr is a terminal."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._is_shown = is_json or sys.stderr.isatty()
        self._began_at = time.monotonic()
        self._shown_at = 0.0
        self._first: int | None = None

    def __call__(self, done: int, size: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began_at = done, now
        is_due = now >= self._shown_at + SHOWN_S or done == size
        if self._is_shown and is_due:
            self._shown_at = now
            self._show(done, size, done - self._first, now - self._began_at)

    @property
    def took_s(self) -> float:
        return time.monotonic() - self._began_at

    def end(self) -> None:
        """Leave the line to whatever comes next."""
        if self._is_shown and not self._is_json:
            print(_CLEAR, end="", file=sys.stderr, flush=True)

    def _show(self, done: int, size: int, moved: int, took_s: float) -> None:
        rate = moved / took_s if took_s > 0 and moved else None
        left_s = (size - done) / rate if rate else None
        if self._is_json:
            print_json(
                {
                    "is": "progress",
                    "bytes": done,
                    "size": size,
                    "rate_bytes_s": None if rate is None else round(rate),
                    "left_s": None if left_s is None else round(left_s, 1),
                }
            )
        else:
            line = progress_line(done, size, rate, left_s)
            print(f"{_CLEAR}{line}", end="", file=sys.stderr, flush=True)


def progress_line(done: int, size: int, rate: float | None, left_s: float | None) -> str:
    """A bar, and what it means."""
    share = done / size if size else 1.0
    bar = "#" * int(share * _WIDTH)
    text = f"[{bar:<{_WIDTH}}] {share:4.0%}  {units.size(done)} of {units.size(size)}"
    if rate is not None:
        text += f"  {units.rate(rate)}"
    if left_s is not None and done < size:
        text += f"  {units.span(left_s)} left"
    return text
