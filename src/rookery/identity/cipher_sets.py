"""The table of cipher sets. The highest that two endpoints share is the one they use."""

from rookery.errors import UsageError
from rookery.identity import cs40
from rookery.identity.cipher_set import CipherSet

# By number: a set's module takes memory, up to a megabyte, and is loaded with the first such key.
NACL_CSID = 0x3A
RSA_CSID = 0x2A
LEGACY_CSID = 0x1A  # by number: its module needs an extra

DEFAULT_CSIDS = (cs40.CSID, NACL_CSID)
KNOWN_CSIDS = (*DEFAULT_CSIDS, RSA_CSID, LEGACY_CSID)


def cipher_set(csid: int) -> CipherSet:
    """The cipher set of that id; UsageError when there is none, or its extra is missing."""
    match csid:
        case cs40.CSID:
            return cs40.CipherSet40()
        case _ if csid == NACL_CSID:
            return _nacl()
        case _ if csid == RSA_CSID:
            return _rsa()
        case _ if csid == LEGACY_CSID:
            return _legacy()
        case _:
            raise UsageError(f"no cipher set {csid:02x}; known are {_known()}")


def cipher_set_without_aes(csid: int) -> CipherSet:
    """The same on a CPU without AES instructions: asks peers for ChaCha20-Poly1305."""
    flags = cs40.NO_AES | cs40.RENEWS
    return cs40.CipherSet40(flags) if csid == cs40.CSID else cipher_set(csid)


def _nacl() -> CipherSet:
    from rookery.identity import cs3a

    return cs3a.CipherSet3a()


def _rsa() -> CipherSet:
    from rookery.identity import cs2a

    return cs2a.CipherSet2a()


def _legacy() -> CipherSet:
    try:
        from rookery.identity import cs1a
    except ImportError as error:
        raise UsageError("cipher set 1a needs ecdsa, too: pip install 'rookery[legacy]'") from error
    return cs1a.CipherSet1a()


def _known() -> str:
    return ", ".join(f"{csid:02x}" for csid in KNOWN_CSIDS)
