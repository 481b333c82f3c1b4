"""Where else one can be reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.link.channels import path as path_channel
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import NetPath, Path, PeerPath, UrlPath

NET = NetPath("udp4", "192.0.2.1", 42424)
PATHS: list[Path] = [NET, UrlPath("http://192.0.2.1/"), PeerPath("a" * 52)]


def test_round_trip() -> None:
    """T3."""
    assert path_channel.parse_opening(path_channel.opening(PATHS)) == PATHS
    assert path_channel.parse_answer(path_channel.answer(3, NET)) == NET


def test_only_so_many_are_listed_or_read() -> None:
    many: list[Path] = [NetPath("udp4", "192.0.2.1", port) for port in range(1, 100)]
    listed = path_channel.opening(many)
    assert len(path_channel.parse_opening(listed)) == path_channel.PATHS_LISTED_MAX
    flood: JsonObject = {"paths": [path.json() for path in many]}
    assert len(path_channel.parse_opening(flood)) == path_channel.PATHS_LISTED_MAX


def test_unknown_kinds_and_keys_are_passed_over() -> None:
    """T7: the JavaScript peer adds a stray `host`."""
    listed = [{"type": "webrtc"}, {**NET.json(), "host": "x"}, 7]
    assert path_channel.parse_opening({"paths": listed}) == [NET]
    assert path_channel.parse_opening({}) == []
    assert path_channel.parse_answer({"c": 1}) is None


@given(st.one_of(st.integers(), st.text(), st.dictionaries(st.text(), st.text())))
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(DecodeError):
        path_channel.parse_opening({"paths": value})
    with pytest.raises(DecodeError):
        path_channel.parse_answer({"path": value})
