"""`rookery box`: left while the recipient is away, sealed, and fetched when she is back."""

from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.endpoint import keystore
from tests.cli.conftest import Bob
from tests.cli.program import rookery


@pytest.fixture
def carol(tmp_path: Path) -> Path:
    keystore.create(tmp_path / "carol", [0x40, 0x3A])
    (tmp_path / "carol.public").write_text(rookery("id", "show", tmp_path / "carol", "--json").out)
    return tmp_path / "carol"


def test_a_message_waits_is_read_and_deleted(bob: Bob, carol: Path) -> None:
    """T5: the sender knows her keys, the keeper knows only bytes."""
    public = carol.with_suffix(".public")
    put = rookery("box", "put", bob.link, "--to", public, "--data", "call me", "--json").json()
    assert put.keys() == {"v", "message", "to", "keeper"}
    listed = rookery("box", "list", bob.link, "--id", carol, "--json").json()
    assert listed.keys() == {"v", "box", "message", "from", "at", "bytes"}
    assert (listed["message"], listed["bytes"]) == (put["message"], len("call me"))
    assert rookery("box", "list", bob.link, "--id", carol).out.count(str(put["message"])) == 1
    got = rookery("box", "get", bob.link, str(listed["box"]), "--id", carol, "--json").json()
    assert got["content"] == "call me"
    assert rookery("box", "get", bob.link, "--id", carol, "--delete").out == "call me\n"
    empty = rookery("box", "list", bob.link, "--id", carol)
    assert (empty.code, empty.out, empty.err) == (0, "", "nothing is waiting\n")


def test_delete_without_reading(bob: Bob, carol: Path) -> None:
    public = carol.with_suffix(".public")
    assert rookery("box", "put", bob.link, "--to", public, "--data", "-", stdin=b"spam").code == 0
    listed = rookery("box", "list", bob.link, "--id", carol, "--json").json()
    which = [str(listed["box"]), str(listed["message"])]
    assert rookery("box", "delete", bob.link, *which, "--id", carol).code == 0
    assert rookery("box", "get", bob.link, "--id", carol).out == ""


def test_a_recipient_without_keys(
    bob: Bob, carol: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hashname = keystore.load(carol).hashname
    assert main(["box", "put", str(bob.link), "--to", hashname, "--data", "x"]) == 2
    assert "--to a link with keys" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "LINK"],
        ["get", "LINK", "not-a-box", "--id", "x"],
        ["delete", "LINK", "0123", "--id", "x"],
        ["put", "LINK", "--to", "LINK", "--data", ""],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str], bob: Bob, capsys: pytest.CaptureFixture[str]) -> None:
    filled = [str(bob.link) if word == "LINK" else word for word in arguments]
    assert main(["box", *filled]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
