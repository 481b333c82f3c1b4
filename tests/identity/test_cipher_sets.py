import sys

import pytest

from rookery.errors import UsageError
from rookery.identity.cipher_sets import (
    DEFAULT_CSIDS,
    KNOWN_CSIDS,
    cipher_set,
    cipher_set_without_aes,
)


def test_two_rookery_endpoints_share_40_as_their_highest_set() -> None:
    assert max(DEFAULT_CSIDS) == max(KNOWN_CSIDS) == 0x40
    assert 0x1A not in DEFAULT_CSIDS


@pytest.mark.parametrize("csid", KNOWN_CSIDS)
def test_every_known_set_is_in_the_table(csid: int) -> None:
    assert cipher_set(csid).csid == cipher_set_without_aes(csid).csid == csid


@pytest.mark.parametrize("csid", [0, 0x1B, 0x41, 0xFF, 0x100])
def test_an_unknown_set_is_a_usage_error(csid: int) -> None:
    with pytest.raises(UsageError, match="40, 3a, 2a, 1a"):
        cipher_set(csid)


def test_without_its_extra_1a_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import rookery.identity

    monkeypatch.delattr(rookery.identity, "cs1a", raising=False)
    monkeypatch.setitem(sys.modules, "rookery.identity.cs1a", None)
    with pytest.raises(UsageError, match=r"rookery\[legacy\]"):
        cipher_set(0x1A)
