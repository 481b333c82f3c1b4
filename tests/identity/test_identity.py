import random

import pytest

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.cipher_sets import DEFAULT_CSIDS, cipher_set_without_aes
from rookery.identity.cs40 import NO_AES
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity


def identity(seed: int = 1) -> Identity:
    return Identity.generate(DEFAULT_CSIDS, random.Random(seed).randbytes)


def test_an_identity_is_named_by_all_its_keys() -> None:
    """T1"""
    ours = identity()
    assert list(ours.keys) == sorted(DEFAULT_CSIDS)
    assert ours.hashname == hashname(ours.keys)
    assert {csid: local.key for csid, local in ours.local.items()} == dict(ours.keys)


def test_with_the_intermediates_of_the_others_one_key_is_enough_for_the_name() -> None:
    """T1"""
    ours = identity()
    for csid, key in ours.keys.items():
        others = ours.intermediates(csid)
        assert csid not in others
        assert hashname({csid: key}, others) == ours.hashname


def test_the_same_randomness_makes_the_same_identity() -> None:
    assert identity().hashname == identity().hashname != identity(2).hashname


def test_stored_pairs_give_the_same_identity_back() -> None:
    ours = identity()
    assert Identity(ours.pairs).hashname == ours.hashname


def test_an_identity_without_aes_says_so_in_its_messages() -> None:
    ours = Identity(identity().pairs, cipher_set_without_aes)
    body = ours.local[0x40].exchange(identity(2).keys[0x40], random.Random(3).randbytes).seal(b"")
    assert body[32] & NO_AES
    assert ours.hashname == identity().hashname


def test_no_pairs_or_broken_ones_are_no_identity() -> None:
    with pytest.raises(UsageError):
        Identity({})
    with pytest.raises(DecodeError):
        Identity({0x3A: KeyPair(bytes(32), bytes(32))})


def test_an_identity_shows_its_name_only() -> None:
    assert repr(identity()) == f"Identity({identity().hashname})"
