"""T3: ids of chat and box."""

import json
from pathlib import Path

import pytest

from rookery.errors import DecodeError
from rookery.link.channels.message_id import digest, format_id, parse_id

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "telehash.json").read_text())


def test_the_digest_is_the_javascript_peers() -> None:
    """T7"""
    for case in VECTORS["siphash_js_flavour"]["cases"]:
        message = bytes.fromhex(case["message_hex"])
        assert digest(case["hashname"], message).hex() == case["digest_hex"]


def test_an_id_is_thirteen_characters_for_eight_bytes() -> None:
    assert parse_id(format_id(b"8 bytes!")) == b"8 bytes!"
    for wrong in ("", "aszkws5hqbam", "aszkws5hqbamoaa", "ASZKWS5HQBAMO", "aszkws5hqbamp"):
        with pytest.raises(DecodeError):
            parse_id(wrong)
