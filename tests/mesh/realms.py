"""A realm made of fixed bytes, and members of it, for whoever needs some."""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from rookery.identity import signing
from rookery.identity.identity import Identity
from rookery.identity.realm import Authority, Realm

NOW_S = 1_800_000_000  # the Unix time of most tests
YEAR_S = 365 * 86_400
ROOT_SEED = sha256(b"root").digest()
REALM = Realm("test", signing.public(ROOT_SEED))
ROOT = Authority(REALM, ROOT_SEED)


@lru_cache(8192)
def identity(name: str, csids: tuple[int, ...] = (0x40,)) -> Identity:
    """Always the same one for a name."""
    bits = (sha256(f"{name} {count}".encode()).digest() for count in range(1_000_000))

    def random(size: int) -> bytes:
        return b"".join(next(bits) for _ in range(0, size, 32))[:size]

    return Identity.generate(csids, random)


def certify(
    who: Identity,
    name: str = "somebody",
    roles: Iterable[str] = (),
    *,
    serial: int = 1,
    from_s: int = NOW_S - 60,
    until_s: int = NOW_S + YEAR_S,
    by: Authority = ROOT,
) -> bytes:
    return by.certify(
        who.keys[0x40],
        who.intermediates(0x40),
        name=name,
        roles=roles,
        serial=serial,
        from_s=from_s,
        until_s=until_s,
    )


def issuer(
    who: Identity, *, serial: int = 1, from_s: int = NOW_S - 60, until_s: int = NOW_S + YEAR_S
) -> Authority:
    """The authority of a member that the root made an issuer."""
    own = certify(who, "issuer", ["issuer"], serial=serial, from_s=from_s, until_s=until_s)
    return Authority(REALM, signing.signing_seed(who.pairs[0x40].secret), own)
