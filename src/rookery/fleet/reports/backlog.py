"""Backlog: reports that the hub has not acknowledged, and when each is to be sent.

Oldest first, a few at a time, and the newest; never so far apart that the hub's window would not
cover what is under way. A report beyond it could not be told from one that came before.
"""

from collections import OrderedDict
from itertools import islice

from rookery.fleet.reports.sender_limits import SenderLimits, backoff
from rookery.fleet.reports.sender_state import KeptReport
from rookery.identity.cipher_set import RandomBytes

_SPAN_MAX = 32  # half of what the hub remembers
_NEWEST_TRIES_MAX = 3


class PendingReport:
    """One report on its way."""

    __slots__ = ("attempts", "content", "resend_at", "sequence", "tag")

    def __init__(self, tag: int, content: bytes, sequence: int) -> None:
        self.tag = tag
        self.content = content
        self.sequence = sequence
        self.attempts = 0
        self.resend_at = 0.0


class Backlog:
    """Bounded: the oldest report goes when there is no room for the newest."""

    __slots__ = ("_free_at", "_limits", "_next", "_random", "_waiting", "_window", "sent_highest")

    def __init__(self, limits: SenderLimits, random: RandomBytes) -> None:
        self._limits = limits
        self._random = random
        self._waiting: OrderedDict[int, PendingReport] = OrderedDict()
        self._next = 1
        self._window = limits.in_flight_max
        self._free_at = 0.0  # when the next one may be sent for the first time
        self.sent_highest = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def kept(self) -> tuple[KeptReport, ...]:
        """To outlive the process."""
        return tuple(KeptReport(each.tag, each.content) for each in self._waiting.values())

    def add(self, tag: int, content: bytes) -> bool:
        """Add a report; False when the oldest one was dropped for it."""
        self._waiting[self._next] = PendingReport(tag, content, self._next)
        self._next += 1
        if len(self._waiting) <= self._limits.kept_max:
            return True
        self._waiting.popitem(last=False)
        return False

    def acknowledge(self, sequence: int, now: float) -> bool:
        """Drop a report that the hub has; False when it was not pending."""
        if self._waiting.pop(sequence, None) is None:
            return False
        self._window = min(self._window + 1, self._limits.in_flight_max)
        # The hub is there: no need to wait as long as the last tries were apart.
        soon = now + self._limits.resend_s
        for each in islice(self._waiting.values(), self._limits.in_flight_max):
            if each.attempts and each.resend_at > soon:
                each.resend_at, each.attempts = soon, 1
        return True

    def renumber(self) -> None:
        """A new boot: everything starts over, from 1."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        self._next, self.sent_highest, self._free_at = 1, 0, 0.0
        for each in waiting:
            self.add(each.tag, each.content)

    def retry(self) -> None:
        """There is a new secret: send all again as if for the first time."""
        self._free_at = 0.0
        for each in islice(self._waiting.values(), self._limits.in_flight_max):
            each.attempts = 0

    def deadline(self) -> float | None:
        """When something is due; None: nothing waits."""
        return min((self._due_at(each) for each in self._sendable()), default=None)

    def due(self, now: float) -> list[PendingReport]:
        """What is to be sent now; counts as sent."""
        due: list[PendingReport] = []
        for each in self._sendable():
            if self._due_at(each) > now:
                continue
            if each.attempts:
                self._window = 1  # lost: the hub may have too much to do, or be gone
            else:
                self._free_at = now + self._limits.pace_s
            each.resend_at = now + self._pause(each.attempts)
            each.attempts += 1
            self.sent_highest = max(self.sent_highest, each.sequence)
            due.append(each)
        return due

    def _sendable(self) -> list[PendingReport]:
        if not self._waiting:
            return []
        sendable = list(islice(self._waiting.values(), self._window))
        newest = next(reversed(self._waiting.values()))
        if newest.attempts < _NEWEST_TRIES_MAX and newest is not sendable[-1]:
            # Ahead of older ones: it may be the report by which the hub sees that we are alive.
            sendable.append(newest)
        beyond = sendable[0].sequence + _SPAN_MAX
        return [each for each in sendable if each.sequence < beyond]

    def _due_at(self, each: PendingReport) -> float:
        return each.resend_at if each.attempts else self._free_at

    def _pause(self, tries: int) -> float:
        return backoff(self._limits.resend_s, self._limits.resend_max_s, tries, self._random)
