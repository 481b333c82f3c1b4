"""`rookery crow address`: routes as text and as bytes, C4."""

import json
from pathlib import Path

import pytest

from rookery.cli.main import main

SEED = r".04.10#0A.12.127.0.0.1:10009.14@chrewekui\.onion:1789.12.192.168.1.213:6789"
SEED_HEX = "040a0a0c7f00000127190e6368726577656b75692e6f6e696f6e06fd0cc0a801d51a85"


def test_text_is_printed_as_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """C4: the example that the notation comes from, with an escaped dot."""
    assert main(["crow", "address", SEED]) == 0
    assert capsys.readouterr().out == SEED_HEX + "\n"


@pytest.mark.parametrize("text", ["0c7f0000012719", "0C:7F:00:00:01:27:19", "0c 7f000001 2719"])
def test_bytes_are_printed_as_text(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """C4: also as the C++ tools print them, with colons."""
    assert main(["crow", "address", "--hex", text]) == 0
    assert capsys.readouterr().out == ".12.127.0.0.1:10009\n"


def test_every_address_of_the_vectors(capsys: pytest.CaptureFixture[str]) -> None:
    vectors = json.loads((Path(__file__).parents[2] / "vectors" / "crow.json").read_text())
    for vector in vectors["addresses_seed_rule"]:
        assert main(["crow", "address", vector["text"], "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown.keys() == {"v", "text", "hex", "size"}
        assert shown["hex"] == vector["bytes"]
        assert shown["size"] == len(vector["bytes"]) // 2
        assert main(["crow", "address", shown["text"]]) == 0
        assert capsys.readouterr().out == vector["bytes"] + "\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "either TEXT or --hex"),
        ([".1", "--hex", "01"], "either TEXT or --hex"),
        (["12.127"], "begins with '1'"),
        ([".256"], "too large"),
        (["--hex", "0"], "not hex"),
        (["--hex", "zz"], "not hex"),
        (["--hex", "00" * 256], "255 is the longest"),
    ],
)
def test_what_is_no_address(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crow", "address", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
