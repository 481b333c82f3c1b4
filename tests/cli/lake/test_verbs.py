"""P3, P4: the lake's verbs as people and programs call them, without a JVM."""

import csv
import fcntl
import io
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from rookery.cli.main import main
from rookery.identity.artifact import open_forecast
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.query.check import check
from rookery.lake.schema import clean, insights, landing
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.landing import land
from rookery.lake.synthetic.spool_files import write_spools
from tests.cli.program import PROGRAM, rookery, running
from tests.patience import PATIENCE_S

HISTORY = SyntheticDataset(days=1, devices=8, nodes=10, realms=1, interval_s=300)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("lake") / "demo")
    land(HISTORY, Lake(folder))
    return folder


def test_status_lists_what_is_there(data: str) -> None:
    rows = {
        str(row["table"]): row
        for row in rookery("lake", "status", "--data", data, "--json").json_lines()
    }
    assert rows["landing/enrolments"]["rows"] == 12
    assert rows["landing/device_reports"]["first"] == "2026-03-02"
    printed = rookery("lake", "status", "--data", data)
    assert printed.code == 0
    assert "landing/device_reports" in printed.out


def test_tables_explain_themselves() -> None:
    printed = rookery("lake", "tables").out
    assert "insights.availability" in printed
    columns = rookery("lake", "tables", "clean.device_reports", "--json").json_lines()
    assert {"column": "load"}.items() <= next(c for c in columns if c["column"] == "load").items()
    assert "clock_wrong" in rookery("lake", "tables", "clean/device_reports").out
    wrong = rookery("lake", "tables", "nothing")
    assert wrong.code == 2
    assert "no table 'nothing'" in wrong.complaint()


def test_a_query_prints_tables_json_and_csv(data: str) -> None:
    sql = "SELECT kind, count(*) AS number FROM landing.enrolments GROUP BY ALL ORDER BY kind"
    people = rookery("lake", "query", sql, "--data", data)
    assert people.code == 0
    assert [line.split() for line in people.out.split("\n")[3:5]] == [
        ["router", "8"],
        ["server", "4"],
    ]
    lines = rookery("lake", "query", sql, "--data", data, "--json").json_lines()
    assert [line["number"] for line in lines] == [8, 4]
    table = rookery("lake", "query", "-", "--data", data, "--csv", stdin=sql.encode()).out
    assert list(csv.reader(io.StringIO(table))) == [
        ["kind", "number"],
        ["router", "8"],
        ["server", "4"],
    ]


def test_values_of_every_kind_can_be_printed(data: str) -> None:
    """Nested, missing, no number, bytes and times."""
    sql = """SELECT interfaces, links, temp, "at", date, 'nan'::double AS wrong
             FROM landing.device_reports LIMIT 3"""
    rows = rookery("lake", "query", sql, "--data", data, "--json").json_lines()
    assert rows[0]["wrong"] is None
    assert str(rows[0]["at"]).startswith("2026-03-02T00:0")
    assert rookery("lake", "query", sql, "--data", data, "--csv").code == 0
    messages = "SELECT * FROM landing.messages LIMIT 1"
    for options in ([], ["--json"], ["--csv"]):
        assert rookery("lake", "query", messages, "--data", data, *options).code == 0


def test_what_is_cut_is_said(data: str) -> None:
    outcome = rookery(
        "lake", "query", "FROM landing.calls", "--data", data, "--limit", "2", "--csv"
    )
    assert len(outcome.out.splitlines()) == 3
    assert "the first 2 rows" in outcome.err


def test_the_past_can_be_asked(data: str) -> None:
    sql = "SELECT count(*) AS number FROM landing.enrolments"
    now = rookery("lake", "query", sql, "--data", data, "--as-of", "1", "--json").json()
    assert now["number"] == 12
    empty = rookery("lake", "query", sql, "--data", data, "--as-of", "0", "--json").json()
    assert empty["number"] == 0
    before = rookery("lake", "query", sql, "--data", data, "--as-of", "2001-01-01")
    assert before.code == 2
    assert "there was no landing/enrolments" in before.complaint()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["query", "SELECT 1", "--data", "nowhere"], "there is no lake in nowhere"),
        (["query", "SELEC", "--data", "."], "syntax error"),
        (["query", "SELECT 1", "--data", ".", "--csv", "--json"], "either --json or --csv"),
        (["query", "SELECT 1", "--data", ".", "--limit", "0"], "at least 1"),
        (["query", "SELECT 1", "--data", ".", "--as-of", "soon"], "no version and no time"),
        (["status", "--data", ".", "--storage", "secret"], "--storage takes KEY=VALUE"),
        (["status", "--data", ".", "--storage", "AWS_SECRET_ACCESS_KEY=x"], "into the environment"),
        (["land"], "at least one --spool"),
        (["land", "--spool", "nowhere"], "there is no spool in nowhere"),
        (["land", "--spool", ".", "--follow", "--every", "often"], "no length of time"),
        (["run", "--once", "--every", "5m"], "either --once or --every"),
        (["backfill", "monday", "2026-03-02", "--data", "."], "no day like"),
        (["backfill", "2026-03-03", "2026-03-02", "--data", "."], "is before"),
        (["vacuum", "--keep", "1h", "--data", "."], "about to commit"),
        (["demo", "--days", "0"], "1 to 366 days"),
        (["demo", "--interval", "7s", "--generate-only"], "an interval is"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line(
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lake", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert complaint in line


def test_without_the_packages_it_says_what_to_install() -> None:
    program = """
import sys, importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "deltalake" else real(name, *more)
from rookery.cli.main import main
sys.exit(main(["lake", "status", "--data", "."]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert b"pip install 'rookery[lake]'" in done.stderr


def test_a_demo_without_java_lands_once(tmp_path: Path) -> None:
    arguments = ["lake", "demo", "--days", "1", "--routers", "4", "--generate-only", "--json"]
    first = rookery(*arguments, cwd=tmp_path).json()
    assert isinstance(first["rows"], int)
    assert first["rows"] > 5000
    assert rookery(*arguments, cwd=tmp_path).json()["rows"] == 0


async def test_spools_land_and_only_what_is_new(tmp_path: Path) -> None:
    counts = await write_spools(HISTORY, tmp_path / "spools")
    spools = [f"--spool={tmp_path / 'spools' / name}" for name in counts]
    first = rookery("lake", "land", *spools, "--data", tmp_path / "lake", "--json")
    assert first.code == 0
    *landed, done = first.json_lines()
    assert {row["is"] for row in landed} == {"landed"}
    assert {tuple(row) for row in landed} == {("v", "is", "spool", "rows", "refused", "left_bytes")}
    assert done["is"] == "done"
    assert done["rows"] + done["refused"] == sum(counts.values())  # type: ignore[operator]
    again = rookery("lake", "land", *spools, "--data", tmp_path / "lake")
    assert "0 rows landed, 0 refused" in again.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_following_ends_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    history = SyntheticDataset(days=1, devices=2, nodes=0, interval_s=900, hubs=1)
    await write_spools(history, tmp_path / "spools")
    arguments = [f"--spool={tmp_path / 'spools' / 'hub-1'}", f"--data={tmp_path / 'lake'}"]
    with running("lake", "land", *arguments, "--follow", "--every", "1h", "--json") as lander:
        while '"done"' not in lander.line():
            pass
        lander.signal(number)
        assert lander.wait() == 0
        assert lander.errors() == ""


def test_following_goes_on_after_an_error(tmp_path: Path) -> None:
    """Whoever reads the spool meanwhile is done soon, perhaps."""
    spool = tmp_path / "hub" / "spool"
    spool.mkdir(parents=True)
    lock = (spool / "landing.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    arguments = [f"--spool={tmp_path / 'hub'}", f"--data={tmp_path / 'lake'}"]
    with running("lake", "land", *arguments, "--follow", "--every", "0.1s", "--json") as lander:
        assert "another process lands" in lander.error_line()
        lock.close()
        assert '"done"' in lander.line()


def test_a_run_that_cannot_land_names_the_step_and_the_log_and_status_knows(tmp_path: Path) -> None:
    spool, lake = tmp_path / "hub" / "spool", tmp_path / "lake"
    spool.mkdir(parents=True)
    arguments = ["lake", "run", f"--spool={tmp_path / 'hub'}", f"--data={lake}", "--log=spark.log"]
    with (spool / "landing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = rookery(*arguments, "--json", cwd=tmp_path)
    log = str(tmp_path / "spark.log")
    assert outcome.code == 2
    assert outcome.complaint().startswith("rookery: landing failed: another process lands")
    assert outcome.complaint().endswith(f"; see {log}")
    failed = outcome.json()
    assert (failed["is"], failed["ok"], failed["step"]) == ("run", False, "landing")
    assert "another process lands" in str(failed["error"])
    assert failed["log"] == log
    assert "landing failed" in (tmp_path / "spark.log").read_text()
    last = rookery("lake", "status", "--data", lake, "--json").json()
    assert (last["is"], last["ok"], last["step"], last["log"]) == ("run", False, "landing", log)
    assert (last["failures"], last["ok_at"]) == (1, None)
    status = rookery("lake", "status", "--data", lake).err
    assert "the last run failed" in status
    assert "landing: another process lands" in status
    assert log in status


def test_spark_that_does_not_start_is_reported_with_its_reason_and_tried_again_soon(
    tmp_path: Path,
) -> None:
    """A pause of minutes is for runs; whoever lost Spark does not wait for that long."""
    lake = tmp_path / "lake"
    land(SyntheticDataset(days=1, devices=4, nodes=0, interval_s=900), Lake(str(lake)))
    arguments = ["--data", str(lake), "--memory", "much", "--log", str(tmp_path / "spark.log")]
    with running("lake", "run", *arguments, "--every", "10m", "--json") as service:
        for _ in range(2):
            failed = msgspec.json.decode(service.line())
            assert (failed["step"], failed["ok"]) == ("Spark", False)
            assert failed["error"].startswith("it does not start: ")
            assert "much" in failed["error"]
            assert "Spark failed: it does not start" in service.error_line()
        service.signal(signal.SIGTERM)
        assert service.wait() == 0


def test_a_run_with_nothing_to_do_starts_no_spark(tmp_path: Path) -> None:
    """With such a memory it would not start."""
    lake = tmp_path / "lake"
    lake.mkdir()
    outcome = rookery("lake", "run", "--once", "--data", lake, "--memory", "much", "--json")
    assert outcome.code == 0, outcome.err
    (run,) = [line for line in outcome.json_lines() if line["is"] == "run"]
    assert run["ok"] is True
    status = rookery("lake", "status", "--data", lake, "--json").json_lines()
    assert [row["ok"] for row in status if row.get("is") == "run"] == [True]


def test_a_check_of_what_only_landed_adds_up(data: str) -> None:
    outcome = rookery("lake", "check", "--data", data, "--json")
    assert outcome.code == 0
    report = outcome.json()
    assert report["ok"] is True
    assert report["happened_at"] is None
    assert rookery("lake", "check", "--data", data).err.strip() == "it adds up"


def test_a_check_finds_rows_that_are_missing_or_doubled(tmp_path: Path) -> None:
    """Clean rows written by hand: a repeat too many, and one that is gone."""
    lake = Lake(str(tmp_path / "lake"))
    land(SyntheticDataset(days=1, devices=4, nodes=0, interval_s=300), lake)
    version = lake.version(landing.MESSAGES)
    assert version is not None
    rows = lake.dataset(landing.MESSAGES).to_table()
    columns = {name: rows[name] for name in rows.column_names}
    columns["clock_wrong"] = pa.array([False] * rows.num_rows)
    cleaned = pa.table([columns[name] for name in clean.MESSAGES.arrow.names], clean.MESSAGES.arrow)
    lake.append(clean.MESSAGES, cleaned, [CommitClaim("landing/messages", None, version)], {})
    (good,) = [each for each in check(lake).cleaned if each.kind == "messages"]
    assert (good.landed, good.clean, good.is_ok) == (48, 48, True)
    lake.append(clean.MESSAGES, cleaned.slice(0, 1), [], {})
    (doubled,) = [each for each in check(lake).cleaned if each.kind == "messages"]
    assert (doubled.missing, doubled.doubled) == (-1, 1)
    outcome = rookery("lake", "check", "--data", tmp_path / "lake")
    assert outcome.code == 1
    assert "it does not add up" in outcome.err


def test_an_export_is_signed_and_says_for_how_long_it_holds(tmp_path: Path) -> None:
    """P5: what a hub is told is what the insights say."""
    lake = Lake(str(tmp_path / "lake"))
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    rows = [
        {"server": "03:00:00:00:00:01", "hour": hour + timedelta(hours=n), "share": n / 8}
        | {"high_share": 1.0, "evidence": 4, "is_weekly": True, "confidence": 0.5}
        for n in range(8)
    ]
    schema = insights.SERVER_LOAD_FORECAST.arrow
    lake.append(insights.SERVER_LOAD_FORECAST, pa.Table.from_pylist(rows, schema), [], {})
    assert rookery("id", "new", "analyst", cwd=tmp_path).code == 0
    arguments = ["lake", "export", "--id", "analyst", "--data", "lake", "--out", "out"]
    forecast, advice = rookery(*arguments, "--json", cwd=tmp_path).json_lines()
    assert (forecast["entries"], advice["entries"]) == (1, 0)
    assert advice["problem"]
    data = (tmp_path / "out" / "forecast.rka").read_bytes()
    learned = open_forecast(data, {str(forecast["issuer"])})
    assert learned.expires_ms == forecast["expires_ms"]
    assert learned.content.servers[0].shares[:3] == (0.0, 0.125, 0.25)
    printed = rookery(*arguments, cwd=tmp_path)
    assert printed.code == 0
    assert "forecast.rka: 1 entries, for 7 h" in printed.err or "for 8 h" in printed.err


def test_an_export_of_nothing_is_stale(data: str, tmp_path: Path) -> None:
    assert rookery("id", "new", "analyst", cwd=tmp_path).code == 0
    outcome = rookery("lake", "export", "--id", "analyst", "--data", data, cwd=tmp_path)
    assert outcome.code == 5
    assert not list(tmp_path.glob("*.rka"))


def test_a_reader_that_leaves_early_is_no_error(data: str, tmp_path: Path) -> None:
    sql = "SELECT a.* FROM landing.device_reports a, range(20)"
    command = f'"{PROGRAM}" lake query "{sql}" --csv --data {data} 2> errors | head -n 1 > first'
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    assert (tmp_path / "first").read_text().startswith("spool,position")
    assert (tmp_path / "errors").read_text() == ""
