"""Spool reader: records from a position on, over all segments; any number may read at once.

It needs no writer and may be in another process. The rest of a damaged segment it reports, counts
and leaves behind; what was removed before it came there it does not miss.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

from rookery.store.spool.segment import Segment, SpoolRecord, segments

_log = logging.getLogger(__name__)


class SpoolReader:
    """Iterate as often as you like: each time goes on where the last one ended."""

    def __init__(self, folder: Path, position: int = 0, *, until: int | None = None) -> None:
        self._folder = folder
        self._until = until  # a writer's promise; None: what there is
        self.position = position
        self.damaged_segments = 0
        self.skipped_bytes = 0  # of those segments

    def __iter__(self) -> Iterator[SpoolRecord]:
        while (place := self._place()) is not None:
            segment, following = place
            # What is before it was removed, or never written.
            self.position = max(self.position, segment.start)
            try:
                yield from self._read(segment)
            except FileNotFoundError:
                continue  # removed meanwhile
            if self._is_over():
                return
            if following is not None:
                self._leave(segment, following.start)
            elif self._until is not None:
                self._leave(segment, self._until)
            elif segments(self._folder)[-1:] == [segment]:
                return

    def _place(self) -> tuple[Segment, Segment | None] | None:
        """The segment to read now, and the one behind it, which says that this one is complete."""
        found = segments(self._folder)
        if not found or self._is_over():
            return None
        index = max((i for i, one in enumerate(found) if one.start <= self.position), default=0)
        return found[index], found[index + 1] if index + 1 < len(found) else None

    def _is_over(self) -> bool:
        return self._until is not None and self.position >= self._until

    def _read(self, segment: Segment) -> Iterator[SpoolRecord]:
        if not segment.is_headed:
            return
        for record in segment.records(self.position):
            if self._until is not None and record.position > self._until:
                return
            self.position = record.position
            yield record

    def _leave(self, segment: Segment, position: int) -> None:
        """Nothing more can be read from it."""
        try:
            rest = min(segment.end, position) - self.position
        except FileNotFoundError:
            rest = 0
        if rest > 0:
            self.damaged_segments += 1
            self.skipped_bytes += rest
            _log.error("%s is damaged: %d bytes are skipped", segment.path, rest)
        self.position = position
