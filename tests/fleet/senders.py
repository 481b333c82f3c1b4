"""Identities for senders and hubs: keys of their own in 40, and one RSA key for all.

RSA keys take long to make and to load, and of senders' only the digest is ever used.
"""

from functools import cache

from rookery.identity.cipher_set import CipherSet, KeyPair, LocalKey, RandomBytes
from rookery.identity.cipher_sets import RSA_CSID, cipher_set
from rookery.identity.identity import Identity
from tests.fleet.identities import DIALLER

CS40 = 0x40


class _LoadedRsa:
    """Cipher set 2a with one key pair, which is loaded already."""

    csid = RSA_CSID

    def generate(self, random: RandomBytes) -> KeyPair:
        return DIALLER.pairs[RSA_CSID]

    def load(self, pair: KeyPair) -> LocalKey:
        return DIALLER.local[RSA_CSID]

    def check_key(self, key: bytes) -> None:
        cipher_set(RSA_CSID).check_key(key)


@cache
def _set_of(csid: int) -> CipherSet:
    return _LoadedRsa() if csid == RSA_CSID else cipher_set(csid)


def identity_of(random: RandomBytes) -> Identity:
    pairs = {csid: _set_of(csid).generate(random) for csid in (CS40, RSA_CSID)}
    return Identity(pairs, _set_of)
