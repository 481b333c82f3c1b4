"""What a spool has of one kind, in order."""

from pathlib import Path
from typing import TypeVar

import msgspec

from rookery.store.spool.reader import SpoolReader
from rookery.wire import observation_content
from rookery.wire.observation import Observation

T = TypeVar("T", bound=msgspec.Struct)


def seen(data: Path, kind: type[T]) -> list[T]:
    """`data` is the folder that the spool is in."""
    found = [Observation.parse(each.data) for each in SpoolReader(data / "spool")]
    contents = [observation_content.decode(each.kind, each.content) for each in found]
    return [each for each in contents if isinstance(each, kind)]
