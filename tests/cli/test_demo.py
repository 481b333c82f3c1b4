"""`rookery demo`: everything at once, and it says so."""

import signal

from tests.cli.program import rookery, running

STEPS = ["link", "chat", "stream", "thtp", "sock", "box", "router", "mesh"]


def test_the_demo_keeps_its_promises() -> None:
    """T7: nothing to configure."""
    outcome = rookery("demo", "--json")
    *steps, end = outcome.json_lines()
    assert [step["step"] for step in steps if step["ok"]] == STEPS
    assert end.keys() == {"v", "steps", "failed", "seconds"}
    assert (outcome.code, outcome.err) == (0, "")


def test_the_demo_may_stay() -> None:
    with running("demo", "--keep") as demo:
        while not (line := demo.line()).startswith("{"):
            assert "failed" not in line
        assert rookery("stream", line, stdin=b"hello\n").out == "hello\n"
        demo.signal(signal.SIGINT)
        assert demo.wait(5) == 0
