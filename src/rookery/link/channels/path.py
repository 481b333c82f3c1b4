"""`path`: both ends tell each other where else they can be reached.

▶ {"c":1,"type":"path","paths":[path, …]}     where I am
◀ {"c":1,"path":path}                         one answer over every path known, saying
                                              which address it was sent to
"""

from collections.abc import Iterable

from rookery.errors import DecodeError
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Path, parse_path

PATHS_LISTED_MAX = 8


def opening(paths: Iterable[Path]) -> JsonObject:
    return {"paths": [path.json() for path in paths][:PATHS_LISTED_MAX]}


def parse_opening(head: JsonObject) -> list[Path]:
    """The paths we understand; a peer may list kinds that are unknown here."""
    listed = head.get("paths")
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise DecodeError("`paths` must be a list")
    paths = []
    for value in listed[:PATHS_LISTED_MAX]:
        try:
            paths.append(parse_path(value))
        except DecodeError:
            continue
    return paths


def answer(channel_id: int, path: Path) -> JsonObject:
    return {"c": channel_id, "path": path.json()}


def parse_answer(head: JsonObject) -> Path | None:
    """Our own address as the peer sees it; None when the packet is no such answer."""
    value = head.get("path")
    return None if value is None else parse_path(value)
