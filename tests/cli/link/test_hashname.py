"""`rookery hashname`: the fingerprint that the vectors and our own keys have."""

import json
import os

import pytest

from rookery.cli.main import main
from rookery.identity.identity import Identity
from rookery.wire import base32


def test_keys_make_their_hashname(capsys: pytest.CaptureFixture[str]) -> None:
    """T1."""
    identity = Identity.generate([0x40, 0x3A], os.urandom)
    keys = [f"{csid:02x}={base32.encode(key)}" for csid, key in identity.keys.items()]
    assert main(["hashname", *keys]) == 0
    assert capsys.readouterr().out == f"{identity.hashname}\n"
    assert main(["hashname", *reversed(keys), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"v": 1, "hashname": identity.hashname}


@pytest.mark.parametrize("key", ["3a", "3a=", "3a=UPPER", "xx=aaaa", "3=aaaa", "=aaaa"])
def test_what_is_no_key_is_refused(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hashname", key]) == 2
    assert capsys.readouterr().err.startswith("rookery: ")
