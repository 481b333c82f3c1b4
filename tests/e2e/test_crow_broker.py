"""A crow broker under load, and one that dies: every end a process, every hop a socket (C6, C7)."""

from contextlib import ExitStack

import pytest

from tests.cli.program import rookery
from tests.e2e.processes import crow, module, next_line
from tests.patience import PATIENCE_S
from tests.ports import free_port

SUBSCRIBERS = 100
MESSAGES = 1000
PROCESSES = 4


@pytest.mark.slow
def test_a_hundred_subscribers_get_a_thousand_messages_each() -> None:
    """C6: none is lost at rqos 1 and 2, and at rqos 2 none comes twice."""
    with crow("broker", "--udp", "0") as (_, first), ExitStack() as stack:
        address, each = str(first["udp"]), str(SUBSCRIBERS // PROCESSES)
        qualities = [1, 2] * (PROCESSES // 2)
        arguments = [[address, "news", each, str(qos), str(MESSAGES)] for qos in qualities]
        readers = [
            stack.enter_context(module("tests.e2e.crow_readers", *options)) for options in arguments
        ]
        assert [reader.line() for reader in readers] == ["subscribed\n"] * PROCESSES
        with module("tests.e2e.crow_writer", address, "news", "2", str(MESSAGES)) as writer:
            assert writer.line(PATIENCE_S) == f"{MESSAGES}\n"
        copies = [int(reader.line(PATIENCE_S)) for reader in readers]
        assert [reader.wait(PATIENCE_S) for reader in readers] == [0] * PROCESSES
    assert [extra for extra, qos in zip(copies, qualities, strict=True) if qos == 2] == [0, 0]


def test_a_broker_that_is_killed_is_found_again() -> None:
    """C7: subscribers say it again, and a publisher learns what did not get through."""
    port = free_port()
    address = f".12.127.0.0.1:{port}"
    through = ["--broker", address]
    with ExitStack() as stack:
        with crow("broker", "--udp", str(port)) as (broker, _):
            reader, _ = stack.enter_context(crow("sub", "news", "--qos", "2", *through))
            assert rookery("crow", "pub", "news", "before", *through).code == 0
            assert next_line(reader)["data"] == "before"
            broker.kill()
            broker.wait()
        lost = rookery("crow", "pub", "news", "meanwhile", *through, "--ackquant", "20")
        assert lost.code == 3
        assert "not delivered to the broker" in lost.complaint()
        stack.enter_context(crow("broker", "--udp", str(port)))
        _until_subscribed("news", through)
        assert rookery("crow", "pub", "news", "after", *through).code == 0
        assert next_line(reader)["data"] == "after"


def test_a_subscriber_that_is_killed_is_forgotten() -> None:
    """C7: and the others get everything."""
    with crow("broker", "--udp", "0") as (_, first), ExitStack() as stack:
        through = ["--broker", str(first["udp"])]
        reader, _ = stack.enter_context(crow("sub", "news", *through))
        with crow("sub", "news", "--qos", "2", "--ackquant", "20", *through) as (other, _):
            other.kill()
            other.wait()
        for number in range(3):
            assert rookery("crow", "pub", "news", str(number), *through).code == 0
            assert next_line(reader)["data"] == str(number)
        for _ in range(20):
            if "count_of_subs:1" in _themes("news", through):
                break
        assert "count_of_subs:1" in _themes("news", through)


def _until_subscribed(theme: str, through: list[str]) -> None:
    """Subscriptions are said again every 2 s; each look at the broker takes its time, too."""
    for _ in range(30):
        if "count_of_subs:1" in _themes(theme, through):
            return
    raise AssertionError("nobody subscribed again")


def _themes(theme: str, through: list[str]) -> str:
    told = rookery("crow", "request", "crowker/control", "themes", *through)
    assert told.code == 0
    return next((line for line in told.out.splitlines() if f"name:{theme} " in line), "")
