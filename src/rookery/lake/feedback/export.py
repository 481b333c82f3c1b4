"""Export: the newest forecast and advice as signed files, for hubs and mesh nodes. No JVM.

    insights/server_load_forecast ──▶ forecast.rka ──▶ hubs choose servers
    insights/link_cost_advice     ──▶ advice.rka   ──▶ nodes weigh links

Past hours are left out. If not all fits, the entries with most confidence are kept. A file expires
with the last hour that it covers, or a day after it was made: an old lake gives no advice.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median_low
from typing import NamedTuple, TypeVar

import msgspec

from rookery.identity.artifact import seal
from rookery.identity.hashname import is_hashname
from rookery.identity.identity import Identity
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.insights import LINK_COST_ADVICE, SERVER_LOAD_FORECAST
from rookery.runtime import atomic_file
from rookery.runtime.shared_folder import readable_mode
from rookery.wire.artifact import ARTIFACT_SIZE_MAX
from rookery.wire.fleet.forecast import SERVERS_MAX, STEPS_MAX, Forecast, ServerForecast
from rookery.wire.fleet.mac import MAC_SIZE
from rookery.wire.mesh.advice import LINKS_MAX, WINDOWS_MAX, Advice, AdviceWindow, LinkAdvice
from rookery.wire.mesh.statement import REALM_ID_SIZE

FORECAST_FILE = "forecast.rka"
ADVICE_FILE = "advice.rka"
LIFETIME_S = 86_400

_STEP_S = 3600
_STEP_MS = _STEP_S * 1000
_BODY_SIZE_MAX = ARTIFACT_SIZE_MAX - 1024  # for what is around it

_Entry = TypeVar("_Entry", ServerForecast, LinkAdvice)


class ExportedFile(NamedTuple):
    """A file that was written, or why there is none."""

    file: Path
    entries: int  # servers or links that it speaks of
    left_out: int  # those that did not fit, or that no consumer could know
    expires_ms: int  # 0: it was not written
    problem: str = ""


def export(
    lake: Lake, identity: Identity, folder: Path, *, now_ms: int, lifetime_s: int = LIFETIME_S
) -> list[ExportedFile]:
    """Write both files, each at once; one that would be stale already is not written."""
    folder.mkdir(parents=True, exist_ok=True)
    forecast, servers_lost = newest_forecast(lake, now_ms)
    advice, links_lost = newest_advice(lake, now_ms)
    end_ms = now_ms + 1000 * lifetime_s
    ends = [each.start_ms + _STEP_MS * len(each.shares) for each in forecast.servers]
    windows = [window.end_ms for link in advice.links for window in link.windows]
    found: list[ExportedFile] = []
    for name, content, entries, lost, last_ms in (
        (FORECAST_FILE, forecast, len(forecast.servers), servers_lost, max(ends, default=0)),
        (ADVICE_FILE, advice, len(advice.links), links_lost, max(windows, default=0)),
    ):
        file = folder / name
        if not entries:
            found.append(ExportedFile(file, 0, lost, 0, "nothing is known of the hours to come"))
            continue
        expires_ms = min(last_ms, end_ms)
        data = seal(content, identity, issued_ms=now_ms, expires_ms=expires_ms)
        atomic_file.replace(file, data, mode=readable_mode(file.parent))
        found.append(ExportedFile(file, entries, lost, expires_ms))
    return found


def newest_forecast(lake: Lake, now_ms: int) -> tuple[Forecast, int]:
    """What is expected from now on, and of how many servers it was left out."""
    rows = lake.dataset(SERVER_LOAD_FORECAST).to_table(
        columns=["server", "hour", "share", "confidence"]
    )
    hours: dict[str, list[tuple[int, float, float]]] = {}
    for row in rows.to_pylist():
        start_ms = _milliseconds(row["hour"])
        if start_ms + _STEP_MS > now_ms:
            hours.setdefault(row["server"], []).append((start_ms, row["share"], row["confidence"]))
    known = [_server(name, sorted(each)) for name, each in sorted(hours.items())]
    servers = [each for each in known if each is not None]
    chosen = _within_limits(servers, SERVERS_MAX, lambda each: -each.confidence)
    return Forecast(tuple(chosen)), len(hours) - len(chosen)


def newest_advice(lake: Lake, now_ms: int) -> tuple[Advice, int]:
    """Windows that are not over yet, and of how many links they were left out."""
    rows = lake.dataset(LINK_COST_ADVICE).to_table(
        columns=["realm", "a", "b", "from_at", "to_at", "factor", "confidence"]
    )
    windows: dict[tuple[str, str, str], list[AdviceWindow]] = {}
    for row in rows.to_pylist():
        start_ms, end_ms = (_milliseconds(row[name]) for name in ("from_at", "to_at"))
        if end_ms > now_ms:
            window = AdviceWindow(start_ms, end_ms, row["factor"], row["confidence"])
            windows.setdefault((row["realm"], row["a"], row["b"]), []).append(window)
    known = [_link(*ends, each) for ends, each in sorted(windows.items())]
    links = [each for each in known if each is not None]
    chosen = _within_limits(
        links, LINKS_MAX, lambda each: -max(one.weighted for one in each.windows)
    )
    return Advice(tuple(chosen)), len(windows) - len(chosen)


def _server(name: str, hours: Sequence[tuple[int, float, float]]) -> ServerForecast | None:
    """Hours up to the first that is missing; None for a name that no server has."""
    server = _bytes(name.replace(":", ""), MAC_SIZE)
    if server is None:
        return None
    start_ms = hours[0][0]
    row = [hour for place, hour in enumerate(hours) if hour[0] == start_ms + place * _STEP_MS][
        :STEPS_MAX
    ]
    shares = tuple(share for _, share, _ in row)
    confidence = median_low(sure for *_, sure in row)
    return ServerForecast(server, start_ms, _STEP_S, shares, confidence)


def _link(realm: str, a: str, b: str, windows: Iterable[AdviceWindow]) -> LinkAdvice | None:
    """None for a realm or node that is named otherwise than in a mesh."""
    realm_id = _bytes(realm, REALM_ID_SIZE)
    if realm_id is None or not (is_hashname(a) and is_hashname(b)):
        return None
    in_order = sorted(windows, key=lambda each: each.start_ms)
    return LinkAdvice(realm_id, a, b, tuple(in_order[:WINDOWS_MAX]))


def _within_limits(
    entries: Sequence[_Entry], count_max: int, rank: Callable[[_Entry], float]
) -> list[_Entry]:
    """As many as an artifact may have, of the lowest ranks, in the order given."""
    best = sorted(range(len(entries)), key=lambda place: rank(entries[place]))[:count_max]
    sizes = itertools.accumulate(len(msgspec.msgpack.encode(entries[place])) for place in best)
    chosen = [place for place, size in zip(best, sizes, strict=True) if size <= _BODY_SIZE_MAX]
    return [entries[place] for place in sorted(chosen)]


def _bytes(text: str, size: int) -> bytes | None:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == size else None


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
