"""`rookery crow broker|pub|sub|request|serve`: publishing, with every end a process, C6."""

import json
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.cli.crow.broker import parse_http
from rookery.cli.main import main
from rookery.errors import UsageError
from rookery.wire.link.lob import JsonObject
from tests.cli.crow.test_tower import tower
from tests.cli.program import Running, rookery, running
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def broker() -> Iterator[JsonObject]:
    """The first line of a broker that runs as long as the tests of this file."""
    with running("crow", "broker", "--udp", "0", "--tcp", "0", "--http", "0", "--json") as process:
        yield json.loads(process.line())


@contextmanager
def subscriber(broker: JsonObject, *arguments: str) -> Iterator[Running]:
    """`sub`, once it has subscribed."""
    through = ["--broker", str(broker["udp"])]
    with running("crow", "sub", *arguments, *through, "--json") as process:
        assert json.loads(process.line())["event"] == "subscribed"
        yield process


def test_the_first_line_says_where(broker: JsonObject) -> None:
    assert broker.keys() == {"v", "event", "udp", "tcp", "http"}
    assert str(broker["udp"]).startswith(".12.127.0.0.1:")
    with urllib.request.urlopen(str(broker["http"]), timeout=PATIENCE_S) as answer:
        assert json.load(answer)["themes_count"] >= 1


@pytest.mark.parametrize("gate", ["udp", "tcp"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_what_is_published_is_printed(gate: str, qos: str, broker: JsonObject) -> None:
    theme = f"printed/{gate}/{qos}"
    with subscriber(broker, theme, "--qos", qos) as process:
        through = ["--broker", str(broker[gate])]
        shown = rookery("crow", "pub", theme, "hello", *through, "--qos", qos, "--json").json()
        assert shown["status"] == ("delivered" if qos != "0" else "sent")
        message = json.loads(process.line())
    assert message == {"v": 1, "event": "message", "theme": theme, "data": "hello"}


def test_plain_output_is_the_data(broker: JsonObject) -> None:
    through = ["--broker", str(broker["udp"])]
    with running("crow", "sub", "plain", "--count", "2", *through) as process:
        assert process.error_line() == "subscribed to plain\n"
        for data in ("one", "two\n"):
            assert rookery("crow", "pub", "plain", data, *through).out.startswith("status  delive")
        assert [process.line(), process.line()] == ["one\n", "two\n"]
        assert process.wait(PATIENCE_S) == 0


def test_patterns_and_several_themes_come_once_and_with_their_names(broker: JsonObject) -> None:
    """C6: an extension; a message that two subscriptions want is printed once."""
    through = ["--broker", str(broker["udp"])]
    with running("crow", "sub", "many/#", "many/+/b", "other", *through, "--count", "2") as process:
        process.error_line()
        for theme in ("many/a/b", "nobody", "other"):
            assert rookery("crow", "pub", theme, "x", *through).code == 0
        assert sorted([process.line(), process.line()]) == ["many/a/b: x\n", "other: x\n"]


def test_the_latest_messages_come_first(broker: JsonObject) -> None:
    through = ["--broker", str(broker["udp"])]
    for data in ("older", "newer"):
        assert rookery("crow", "pub", "kept", data, *through).code == 0
    outcome = rookery("crow", "sub", "kept", "--latest", "2", "--count", "2", *through)
    assert (outcome.code, outcome.out) == (0, "newer\nolder\n")


def test_a_large_message_from_a_file(broker: JsonObject, tmp_path: Path) -> None:
    """C6: in chunks, to the broker and from it."""
    (tmp_path / "data").write_bytes(bytes(range(256)) * 150)
    with subscriber(broker, "large") as process:
        data = f"@{tmp_path}/data"
        assert rookery("crow", "pub", "large", data, "--broker", str(broker["udp"])).code == 0
        assert len(json.loads(process.line())["data_base64"]) == 256 * 150 * 4 // 3


def test_a_request_is_answered_by_a_program(broker: JsonObject) -> None:
    through = ["--broker", str(broker["udp"])]
    with running("crow", "serve", "shout", *through, "--json", "--", "tr", "a-z", "A-Z") as service:
        assert json.loads(service.line())["event"] == "serving"
        outcome = rookery("crow", "request", "shout", "-", *through, stdin=b"what now")
        assert (outcome.code, outcome.out) == (0, "WHAT NOW\n")
        assert json.loads(service.line())["data"] == "what now"
        shown = rookery("crow", "request", "shout", "once more", *through, "--json").json()
        assert shown == {"v": 1, "theme": "shout", "data": "ONCE MORE"}
        service.signal(signal.SIGTERM)
        assert service.wait(PATIENCE_S) == 0


def test_an_echo_needs_no_program(broker: JsonObject) -> None:
    through = ["--broker", str(broker["udp"])]
    with running("crow", "serve", "echo", "--echo", *through) as service:
        assert service.error_line() == "serving echo\n"
        assert rookery("crow", "request", "echo", "x", *through).out == "x\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-program"], "cannot run no-such-program"),
        (["false"], "exit code 1"),
        (["sleep", "60"], "longer than 0.3 s"),
        (["head", "-c", "100000", "/dev/zero"], "said more than"),
    ],
)
def test_a_program_that_fails_answers_nothing(
    command: list[str], said: str, broker: JsonObject
) -> None:
    through = ["--broker", str(broker["udp"])]
    options = ["--timeout", "0.3", *through, "--json", "--", *command]
    with running("crow", "serve", "fails", *options) as service:
        assert json.loads(service.line())["event"] == "serving"
        assert rookery("crow", "request", "fails", "x", *through) == (0, "\n", "")
        assert said in service.error_line()


def test_the_broker_takes_commands(broker: JsonObject) -> None:
    """C6: those of the public broker."""
    with subscriber(broker, "commanded"):
        outcome = rookery(
            "crow", "request", "crowker/control", "themes", "--broker", str(broker["udp"])
        )
    assert "name:commanded count_of_subs:1\n" in outcome.out


def test_a_theme_without_a_server(broker: JsonObject) -> None:
    arguments = ["nobody", "x", "--timeout", "0.3", "--broker", str(broker["udp"])]
    outcome = rookery("crow", "request", *arguments)
    assert (outcome.code, outcome.out) == (3, "")
    assert "nobody has answered" in outcome.complaint()


@pytest.mark.parametrize(
    "arguments",
    [["pub", "t", "x"], ["sub", "t"], ["request", "t", "x"], ["serve", "t", "--echo"]],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_tower_without_a_broker_and_no_tower_at_all(arguments: list[str]) -> None:
    with tower() as (_, first):
        outcome = rookery("crow", *arguments, "--broker", str(first["udp"]))
        assert outcome.code == 3
        assert "no broker" in outcome.complaint()
    outcome = rookery("crow", *arguments, "--broker", ".12.127.0.0.1:9", "--ackquant", "20")
    assert outcome.code == 3
    assert "is there a broker at .12.127.0.0.1:9?" in outcome.complaint()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_broker_and_subscriber_end_well(number: signal.Signals) -> None:
    with running("crow", "broker", "--udp", "0") as process:
        address = process.line().split()[1]
        with subscriber({"udp": address}, "t") as reader:
            reader.signal(number)
            assert reader.wait(PATIENCE_S) == 0
        process.signal(number)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["broker", "--http", "x"], "IP:PORT"),
        (["broker", "--udp", "0", "--http", "192.0.2.1:0"], "does not have that address"),
        (["broker", "--udp", "65536"], "not a port"),
        (["sub"], "give THEME"),
        (["sub", "t" * 256], "256"),
        (["pub", "t" * 256, "x"], "256"),
        (["pub", "t", "x", "--qos", "3"], "qos 3"),
        (["pub", "t", "x", "--broker", "nonsense"], "begins with 'n'"),
        (["request", "t", "x" * 70_000], "longer than"),
        (["serve", "t"], "COMMAND or --echo"),
        (["serve", "t", "date", "--echo"], "COMMAND or --echo"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crow", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line


def test_where_the_status_is_served() -> None:
    assert parse_http("8080") == ("127.0.0.1", 8080)
    assert parse_http("0.0.0.0:80") == ("0.0.0.0", 80)
    with pytest.raises(UsageError, match="IP:PORT"):
        parse_http("8080x")


def test_a_reader_that_leaves_early_is_no_error(broker: JsonObject) -> None:
    with subscriber(broker, "left") as process:
        process.end_output()
        for _ in range(2):  # the first may still fit the pipe
            rookery("crow", "pub", "left", "x", "--broker", str(broker["udp"]))
        assert process.wait(PATIENCE_S) == 141
