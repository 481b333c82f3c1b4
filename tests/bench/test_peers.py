"""Peers that cannot be had: a row says why, and the bench goes on."""

from pathlib import Path

import pytest

from bench import peers, telehash_js, tunnel
from bench.figure import QUICK, Goal, Missing


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(peers.MissingPeerError, match="no no-such-program on this machine"):
        peers.program("no-such-program")


def test_programs_for_administrators_are_found_by_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = peers.program("sh")
    monkeypatch.setenv("PATH", "/nowhere")
    assert peers.program("sh").name == shell.name


@pytest.mark.slow
def test_without_a_registry_the_row_says_what_pip_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    row = tunnel.beside_reticulum(tunnel.Course(0), QUICK)
    assert isinstance(row, Missing)
    assert row.why.startswith("cannot install rns: ERROR: No matching distribution")
    assert row.goal == Goal(ratio_min=10.0)


def test_without_node_there_is_one_row_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (row,) = telehash_js.measure(QUICK)
    assert isinstance(row, Missing)
    assert row.why == "node is not on PATH"
