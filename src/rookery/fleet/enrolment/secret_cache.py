"""Secret cache: derived secrets of the senders heard last, so that most proofs cost one hash.

They are kept ready to prove with: see `secrets.prover`.
"""

from hashlib import blake2s

from rookery.fleet.enrolment import secrets
from rookery.fleet.entry import FleetEntry
from rookery.wire import base32


class KeptSecret:
    """Of one sender, who has proved that it knows it; and from where it did so last."""

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
        """The secret, if it is at hand."""
        sender = entry.sender
        kept = self._young.get(sender)
        if kept is None:
            kept = self._old.get(sender)
        if kept is None or kept.generation != generation or kept.hashname != entry.hashname:
            return None
        return kept

    def derive(self, sender: bytes, hashname: str, generation: int) -> bytes:
        """Without a look at what is kept."""
        return secrets.derive(self._master, sender, base32.decode(hashname), generation)

    def prover(self, entry: FleetEntry, generation: int) -> blake2s:
        """What proves by the secret, made anew."""
        return secrets.prover(self.derive(entry.sender, entry.hashname, generation))

    def keep(self, entry: FleetEntry, generation: int, prover: blake2s) -> None:
        """Only what was proved is worth it: anybody can name senders and generations."""
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._old.pop(entry.sender, None)
        self._young[entry.sender] = KeptSecret(generation, entry.hashname, prover)
