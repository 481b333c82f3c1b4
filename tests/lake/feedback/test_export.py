"""What the lake tells hubs and nodes (P5)."""

import hashlib
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from rookery.errors import AuthenticationError, UsageError
from rookery.identity.artifact import open_advice, open_forecast
from rookery.identity.identity import Identity
from rookery.lake.engine.delta import Lake
from rookery.lake.feedback.export import ADVICE_FILE, FORECAST_FILE, export
from rookery.lake.schema.insights import LINK_COST_ADVICE, SERVER_LOAD_FORECAST
from rookery.wire import base32
from rookery.wire.artifact import ARTIFACT_SIZE_MAX

NOW = datetime(2026, 3, 4, 12, 20, tzinfo=UTC)
NOON = NOW.replace(minute=0)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR, HOUR_MS = timedelta(hours=1), 3_600_000
REALM = "00112233445566ff"
A, B, C = sorted(base32.encode(hashlib.sha256(each).digest()) for each in (b"1", b"2", b"3"))


@pytest.fixture(scope="module")
def identity() -> Identity:
    return Identity.generate((0x40, 0x3A), random.Random(1).randbytes)


def forecast_row(
    server: str, hour: int, share: float, confidence: float = 0.5
) -> dict[str, object]:
    at = NOON + hour * HOUR
    return {"server": server, "hour": at, "share": share, "confidence": confidence}


def advice_row(
    a: str, b: str, first: int, last: int, factor: float, realm: str = REALM
) -> dict[str, object]:
    from_at, to_at = NOON + first * HOUR, NOON + last * HOUR
    more = {"factor": factor, "confidence": 0.5}
    return {"realm": realm, "a": a, "b": b, "from_at": from_at, "to_at": to_at, **more}


def fill(lake: Lake, forecast: list[dict[str, object]], advice: list[dict[str, object]]) -> None:
    for table, rows in ((SERVER_LOAD_FORECAST, forecast), (LINK_COST_ADVICE, advice)):
        lake.append(table, pa.Table.from_pylist(rows, table.arrow), [], {})


def test_what_is_to_come_is_signed_and_expires_with_its_last_hour(
    lake: Lake, identity: Identity, tmp_path: Path
) -> None:
    """P5: hours that are over are gone, the one that runs is there, and a gap ends the row."""
    full, thin = "03:00:00:00:00:01", "03:00:00:00:00:02"
    fill(
        lake,
        [
            *(forecast_row(full, hour, hour / 100 if hour > 0 else 0.0) for hour in range(-1, 12)),
            *(forecast_row(thin, hour, 0.5, 0.1 * hour) for hour in (1, 2, 3, 5)),
            forecast_row("who", 3, 0.5),
        ],
        [
            advice_row(A, B, 4, 6, 2.0),
            advice_row(A, B, 0, 2, 1.5),
            advice_row(A, B, -3, 0, 1.5),
            advice_row(A, C, 0, 1, 1.2, realm="another name"),
        ],
    )
    written = export(lake, identity, tmp_path / "out", now_ms=NOW_MS)
    assert [each[1:] for each in written] == [
        (2, 1, NOW_MS - 20 * 60_000 + 12 * HOUR_MS, ""),
        (1, 1, NOW_MS - 20 * 60_000 + 6 * HOUR_MS, ""),
    ]
    trusted = {identity.hashname}
    data = (tmp_path / "out" / FORECAST_FILE).read_bytes()
    learned = open_forecast(data, trusted)
    assert (learned.issued_ms, learned.is_current(NOW_MS)) == (NOW_MS, True)
    one, other = learned.content.servers
    assert one.share_at(NOW_MS) == 0.0
    assert one.share_at(NOW_MS + 3 * HOUR_MS) == 0.03
    assert (len(one.shares), one.confidence) == (12, 0.5)
    assert (other.server, len(other.shares), other.confidence) == (b"\3\0\0\0\0\2", 3, 0.2)
    [link] = open_advice((tmp_path / "out" / ADVICE_FILE).read_bytes(), trusted).content.links
    assert (link.realm.hex(), link.a, link.b, len(link.windows)) == (REALM, A, B, 2)
    window = link.window_at(NOW_MS)
    assert window is not None
    assert window.weighted == 1.25
    with pytest.raises(AuthenticationError):
        open_forecast(data, {A})


def test_an_old_lake_says_nothing_and_leaves_what_is_there(
    lake: Lake, identity: Identity, tmp_path: Path
) -> None:
    file = tmp_path / ADVICE_FILE
    file.write_bytes(b"as it was")
    written = export(lake, identity, tmp_path, now_ms=NOW_MS)  # no tables at all
    fill(lake, [forecast_row("03:00:00:00:00:01", -1, 0.5)], [advice_row(A, B, -2, 0, 2.0)])
    assert export(lake, identity, tmp_path, now_ms=NOW_MS) == written
    assert [each.entries for each in written] == [0, 0]
    assert all(each.problem for each in written)
    assert file.read_bytes() == b"as it was"
    assert not (tmp_path / FORECAST_FILE).exists()


def test_the_surest_fit_where_not_all_do(lake: Lake, identity: Identity, tmp_path: Path) -> None:
    """P5: an artifact has a bound, whatever the fleet's size."""
    rows = [
        forecast_row(f"03:00:00:00:{number >> 8:02x}:{number & 255:02x}", hour, 0.5, number / 2000)
        for number in range(1100)
        for hour in range(48)
    ]
    fill(lake, rows, [])
    forecast, _ = export(lake, identity, tmp_path, now_ms=NOW_MS)
    assert 0 < forecast.entries < 1024
    assert forecast.entries + forecast.left_out == 1100
    data = forecast.file.read_bytes()
    assert ARTIFACT_SIZE_MAX - 2048 < len(data) <= ARTIFACT_SIZE_MAX
    servers = open_forecast(data, {identity.hashname}).content.servers
    assert min(each.confidence for each in servers) == (1100 - forecast.entries) / 2000


def test_a_lifetime_is_no_longer_than_requested(
    lake: Lake, identity: Identity, tmp_path: Path
) -> None:
    fill(lake, [forecast_row("03:00:00:00:00:01", hour, 0.5) for hour in range(48)], [])
    forecast, _ = export(lake, identity, tmp_path, now_ms=NOW_MS, lifetime_s=60)
    assert forecast.expires_ms == NOW_MS + 60_000
    with pytest.raises(UsageError):
        export(lake, identity, tmp_path, now_ms=NOW_MS, lifetime_s=0)
