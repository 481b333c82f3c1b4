"""`rookery discover`: who announces itself is listed, and can then be linked by name."""

import json
import signal
from pathlib import Path

import pytest

from rookery.runtime.endpoint import keystore
from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S


def test_an_announcement_is_received(tmp_path: Path) -> None:
    """T6: on loopback only, unless told otherwise."""
    hashname = keystore.create(tmp_path, [0x40, 0x3A]).hashname
    with running("discover", "--seconds", "30", "--json") as listener:
        assert listener.error_line() == "listening for 30 s\n"
        with running("endpoint", "--id", tmp_path, "--accept", "all", "--discover", "20"):
            while (announced := json.loads(listener.line()))["hashname"] != hashname:
                continue  # other tests announce themselves on the same machine
            assert announced.keys() == {"v", "hashname", "keys", "paths", "uri"}
            assert rookery("link", json.dumps(announced)).code == 0
        listener.signal(signal.SIGINT)
        assert listener.wait(PATIENCE_S) == 0


def test_announcing_ourselves() -> None:
    with running("discover", "--announce", "30") as announcing:
        assert announcing.error_line().startswith("announcing ")
        assert announcing.error_line() == "listening for 30 s\n"


@pytest.mark.parametrize("udp", ["nonsense", "192.0.2.1:0"])
def test_an_interface_that_is_not_there(udp: str) -> None:
    outcome = rookery("discover", "--udp", udp)
    assert outcome.code == 2
    assert outcome.complaint()
