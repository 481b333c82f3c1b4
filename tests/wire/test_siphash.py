from pathlib import Path

import msgspec
import pytest

from rookery.wire import base32
from rookery.wire.siphash import siphash_js


class Case(msgspec.Struct):
    hashname: str
    key_hex: str
    message_hex: str
    digest_hex: str


class Cases(msgspec.Struct):
    cases: list[Case]


class Chain(msgspec.Struct):
    hashname: str
    secret_hex: str
    depth: int
    chain_base32: list[str]


class Vectors(msgspec.Struct):
    siphash_js_flavour: Cases
    chat_id_chain: Chain


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[1] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)


@pytest.mark.parametrize(
    "case", VECTORS.siphash_js_flavour.cases, ids=lambda case: case.message_hex
)
def test_public_digests(case: Case) -> None:
    """T7"""
    key = base32.decode(case.hashname)[:16]
    assert key == bytes.fromhex(case.key_hex)
    assert siphash_js(key, bytes.fromhex(case.message_hex)) == bytes.fromhex(case.digest_hex)


def test_the_ids_of_a_public_chat_follow_one_another() -> None:
    """T3, T7"""
    chain = VECTORS.chat_id_chain
    key = base32.decode(chain.hashname)[:16]
    digest, ids = bytes.fromhex(chain.secret_hex), []
    for _ in range(1 + chain.depth):
        digest = siphash_js(key, digest)
        ids.append(base32.encode(digest))
    assert ids == chain.chain_base32


def test_the_algorithm_is_siphash_2_4() -> None:
    """The authors' own example, with this flavour's byte orders undone."""
    key = bytes(range(16))
    swapped = b"".join(key[at : at + 4][::-1] for at in range(0, 16, 4))
    assert siphash_js(swapped, bytes(range(15))).hex() == "a129ca6149be45e5"
