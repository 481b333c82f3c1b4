"""Identity: the key pairs of one endpoint, one per cipher set, and the hashname they make."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Self

from rookery.errors import UsageError
from rookery.identity.cipher_set import CipherSet, KeyPair, LocalKey, RandomBytes
from rookery.identity.cipher_sets import cipher_set
from rookery.identity.hashname import hashname, intermediate


class Identity:
    """Checked and loaded key pairs; `cipher_set_of` finds the set of a CSID."""

    __slots__ = ("_intermediates", "hashname", "keys", "local", "pairs")

    def __init__(
        self,
        pairs: Mapping[int, KeyPair],
        cipher_set_of: Callable[[int], CipherSet] = cipher_set,
    ) -> None:
        if not pairs:
            raise UsageError("an identity needs at least one key pair")
        ordered = sorted(pairs.items())
        self.pairs: Mapping[int, KeyPair] = MappingProxyType(dict(ordered))
        self.keys: Mapping[int, bytes] = MappingProxyType(
            {csid: pair.key for csid, pair in ordered}
        )
        self.local: Mapping[int, LocalKey] = MappingProxyType(
            {csid: cipher_set_of(csid).load(pair) for csid, pair in ordered}
        )
        self.hashname = hashname(self.keys)
        digests = {csid: intermediate(key) for csid, key in self.keys.items()}
        self._intermediates: Mapping[int, Mapping[int, bytes]] = {
            csid: MappingProxyType({other: digests[other] for other in digests if other != csid})
            for csid in digests
        }

    def intermediates(self, csid: int) -> Mapping[int, bytes]:
        """The intermediates of the other key pairs, for a handshake under `csid`."""
        return self._intermediates[csid]

    @classmethod
    def generate(cls, csids: Iterable[int], random: RandomBytes) -> Self:
        return cls({csid: cipher_set(csid).generate(random) for csid in sorted(csids)})

    def __repr__(self) -> str:
        return f"Identity({self.hashname})"
