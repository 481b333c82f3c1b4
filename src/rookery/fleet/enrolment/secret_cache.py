"""Secret cache: derived secrets of recent senders, so that most proofs cost one hash.

They are kept ready to prove with: see `secrets.prover`.
"""

from hashlib import blake2s

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetEntry
from rookery.wire import base32


class KeptSecret:
    """A secret that its sender has proved to know, and the address it last did so from."""

    __slots__ = ("address", "address_text", "generation", "hashname", "prover")

    def __init__(self, generation: int, hashname: str, prover: blake2s) -> None:
        self.generation = generation
        self.hashname = hashname
        self.prover = prover
        self.address = b""  # as the system has it: to write it out costs more than to compare it
        self.address_text = ""


class SecretCache:
    """At most `kept_max` of them, one for each sender; forgets by halves."""

    __slots__ = ("_half", "_master", "_old", "_young")

    def __init__(self, master: bytes, kept_max: int) -> None:
        assert len(master) == secrets.MASTER_SIZE
        self._master = master
        self._half = kept_max // 2
        self._young: dict[bytes, KeptSecret] = {}
        self._old: dict[bytes, KeptSecret] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def kept(self, entry: FleetEntry, generation: int) -> KeptSecret | None:
        """The cached secret, or None."""
        sender = entry.sender
        kept = self._young.get(sender)
        if kept is None:
            kept = self._old.get(sender)
        if kept is None or kept.generation != generation or kept.hashname != entry.hashname:
            return None
        return kept

    def derive(self, sender: bytes, hashname: str, generation: int) -> bytes:
        """Derive a secret, bypassing the cache."""
        return secrets.derive(self._master, sender, base32.decode(hashname), generation)

    def prover(self, entry: FleetEntry, generation: int) -> blake2s:
        """A new prover for the secret."""
        return secrets.prover(self.derive(entry.sender, entry.hashname, generation))

    def keep(self, entry: FleetEntry, generation: int, prover: blake2s) -> None:
        """Cache a secret once it was proved: unproved senders and generations may be made up."""
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._old.pop(entry.sender, None)
        self._young[entry.sender] = KeptSecret(generation, entry.hashname, prover)
