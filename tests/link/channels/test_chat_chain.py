"""T3: the chain of ids that one participant uses up in a chat."""

import json
from pathlib import Path

import pytest

from rookery.errors import CongestionError
from rookery.link.channels.chat_chain import IdChain, steps

VECTOR = json.loads((Path(__file__).parents[2] / "vectors" / "telehash.json").read_text())[
    "chat_id_chain"
]
HASHNAME = VECTOR["hashname"]
DIGESTS = VECTOR["chain_base32"]


def chain() -> IdChain:
    return IdChain(HASHNAME, bytes.fromhex(VECTOR["secret_hex"]), VECTOR["depth"])


def test_ids_come_in_the_javascript_peers_order() -> None:
    """T7: the vector `chat_id_chain`; its first digest is never used as an id."""
    ids = chain()
    assert ids.profile_id == ids.last == DIGESTS[-1]
    assert [ids.take() for _ in range(4)] == DIGESTS[-2:0:-1]
    with pytest.raises(CongestionError):
        ids.take()
    assert ids.last == DIGESTS[1]


def test_an_id_has_an_age_once_it_is_in_use() -> None:
    ids = chain()
    assert ids.age(DIGESTS[-1]) == 0
    assert ids.age(DIGESTS[-2]) is None
    ids.take()
    assert ids.age(DIGESTS[-2]) == 1
    assert ids.age(DIGESTS[0]) is None


def test_steps_lead_from_a_newer_id_to_an_older_and_never_back() -> None:
    assert steps(HASHNAME, DIGESTS[4], DIGESTS[5]) == 1
    assert steps(HASHNAME, DIGESTS[0], DIGESTS[5]) == 5
    assert steps(HASHNAME, DIGESTS[3], DIGESTS[3]) == 0
    assert steps(HASHNAME, DIGESTS[5], DIGESTS[4]) is None
    assert steps(HASHNAME, DIGESTS[0], DIGESTS[5], steps_max=4) is None
    stranger = "anptpctxorixfzzj6dwwncwz3vzeessbhuokkfsdlx2upxw4qocq"
    assert steps(stranger, DIGESTS[4], DIGESTS[5]) is None
