"""MACs as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.fleet.mac import MAC_SIZE, mac_text, parse_mac


@pytest.mark.parametrize(
    "text",
    [
        "02:fc:00:00:00:01",
        "02:FC:00:00:00:01",
        " 02-fc-00-00-00-01\n",
        "02fc.0000.0001",
        "02FC00000001",
    ],
)
def test_every_usual_form_means_the_same(text: str) -> None:
    assert parse_mac(text) == bytes.fromhex("02fc00000001")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "02:fc:00:00:00",
        "02:fc:00:00:00:01:02",
        "02:fc-00:00:00:01",
        "02:fc:00:00:00:0g",
        "00:00:00:00:00:00",
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "02:fc:00:00:00:0\u0661",
    ],
)
def test_what_is_no_devices_mac_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        parse_mac(text)


@given(st.binary(min_size=MAC_SIZE, max_size=MAC_SIZE))
def test_what_is_printed_can_be_read(mac: bytes) -> None:
    try:
        assert parse_mac(mac_text(mac)) == mac
    except DecodeError:
        assert mac[0] & 1 or not any(mac)


@given(st.text(max_size=30))
def test_arbitrary_text_parses_or_raises_decode_error(text: str) -> None:
    try:
        assert len(parse_mac(text)) == MAC_SIZE
    except DecodeError:
        return
