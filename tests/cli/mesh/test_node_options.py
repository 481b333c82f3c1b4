"""P5: whose advice a node follows, and that it says so; nobody is believed unless named."""

import time
from pathlib import Path
from random import Random

import pytest

from rookery.cli.mesh.node_options import AdviceOptions
from rookery.errors import UsageError
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice
from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

LAKE = Identity.generate((0x40,), Random(1).randbytes)
FOLDER = Path("realm")


def test_without_an_advisor_there_is_nothing_to_follow() -> None:
    assert AdviceOptions().settings(FOLDER) is None
    advised = AdviceOptions(advisors=(LAKE.hashname,), no_advice=True, file=Path("advice.rka"))
    assert advised.settings(FOLDER) is None


@pytest.mark.parametrize(
    "options",
    [
        AdviceOptions(file=Path("advice.rka")),
        AdviceOptions(serve=True),
        AdviceOptions(members=(LAKE.hashname,)),
    ],
)
def test_advice_needs_an_advisor(options: AdviceOptions) -> None:
    with pytest.raises(UsageError, match="--advisor"):
        options.settings(FOLDER)


@pytest.mark.parametrize(
    "options",
    [AdviceOptions(advisors=("bob",)), AdviceOptions(advisors=(LAKE.hashname,), members=("x",))],
)
def test_names_are_hashnames(options: AdviceOptions) -> None:
    with pytest.raises(UsageError, match="52 characters"):
        options.settings(FOLDER)


def test_the_switch_lies_in_the_realms_folder() -> None:
    found = AdviceOptions(advisors=(LAKE.hashname,), serve=True).settings(FOLDER)
    assert found is not None
    assert found.switch == FOLDER / "advice.off"
    assert found.is_served


def test_a_node_shows_the_advice_that_it_follows_and_what_it_costs(tmp_path: Path) -> None:
    """P5, with real processes."""
    alice, bob = realm(tmp_path, "alice", "bob")
    a, b = sorted((alice.hashname, bob.hashname))
    now_ms = time.time_ns() // 1_000_000
    window = AdviceWindow(now_ms - 1000, now_ms + 3_600_000, 1.8, 1.0)
    advice = Advice((LinkAdvice(alice.store.realm.id, a, b, (window,)),))
    file = tmp_path / "advice.rka"
    file.write_bytes(seal(advice, LAKE, issued_ms=now_ms, expires_ms=now_ms + 3_600_000))
    advised = ("--advice", str(file), "--advisor", LAKE.hashname)
    with running("node", *alice.options, *advised) as first:
        link = first.line()
        with running("node", *bob.options, "--peer", link) as second:
            second.line()
            deadline = time.monotonic() + PATIENCE_S
            while "advice" not in (said := rookery("explain", "bob", "--id", alice.keys).out):
                assert time.monotonic() < deadline, said
                time.sleep(0.2)
            assert "advice: costs 1.80 × from " in said
            assert f"by {LAKE.hashname[:8]}" in said
            status = rookery("status", "--id", alice.keys, "--json").json()
            assert status["advice"] == "followed"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--forecast", "forecast.rka"), "--forecaster"),
        (("--forecaster", "bob"), "52 characters"),
    ],
)
def test_a_hub_has_no_forecasters_either(
    options: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    refused = rookery("hub", "--data", tmp_path / "hub", "--http", "none", *options)
    assert refused.code == 2
    assert reason in refused.err
