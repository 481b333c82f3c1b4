"""F4: derived secrets, kept for a while."""

from rookery.fleet.enrolment import secrets
from rookery.fleet.enrolment.secret_cache import SecretCache
from rookery.fleet.entry import FleetEntry
from rookery.wire import base32

NAME = base32.encode(bytes(32))
MASTER = bytes(32)


def entry(number: int, hashname: str = NAME) -> FleetEntry:
    mac = number.to_bytes(6, "big")
    return FleetEntry(mac, "router", hashname, b"", b"", 0, 0, 0, 0, 0.0, 0.0)


def test_a_secret_is_kept_for_one_generation_and_one_name_f4() -> None:
    cache, known = SecretCache(MASTER, 10), entry(1)
    secret = cache.derive(known.sender, NAME, 5)
    assert secret == secrets.derive(MASTER, known.sender, bytes(32), 5)
    assert cache.kept(known, 5) is None
    prover = cache.prover(known, 5)
    assert secrets.prove_by(prover, b"report") == secrets.prove(secret, b"report")
    cache.keep(known, 5, prover)
    kept = cache.kept(known, 5)
    assert kept is not None
    assert kept.prover is prover
    assert cache.kept(known, 6) is None
    assert cache.kept(entry(1, base32.encode(bytes(31) + b"\x01")), 5) is None


def test_it_has_a_bound_and_forgets_the_oldest() -> None:
    cache = SecretCache(MASTER, 10)
    for number in range(1000):
        cache.keep(entry(number), 1, secrets.prover(bytes(32)))
        assert len(cache) <= 10
    assert cache.kept(entry(999), 1) is not None
    assert cache.kept(entry(989), 1) is None


def test_a_newer_secret_replaces_an_older_one_wherever_it_is() -> None:
    cache = SecretCache(MASTER, 4)
    for number in (1, 2, 3, 1):
        cache.keep(entry(number), number, secrets.prover(bytes(32)))
    newer = secrets.prover(bytes(32))
    cache.keep(entry(2), 9, newer)
    kept = cache.kept(entry(2), 9)
    assert kept is not None
    assert kept.prover is newer
    assert cache.kept(entry(2), 2) is None
