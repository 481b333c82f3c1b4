"""Artifacts that can be trusted: signed by an identity, believed for its hashname's sake.

    data = seal(Forecast(servers), identity, issued_ms=…, expires_ms=…)      the lake
    learned = open_forecast(data, trusted)                                  the reader

Only named issuers are trusted: the hashname follows from the keys in the file, the signature from
the same keys, so that knowing the hashname is enough.
"""

from collections.abc import Collection
from typing import Generic, TypeVar

import msgspec

from rookery.errors import AuthenticationError, DecodeError, RemoteError, UsageError
from rookery.identity import signing
from rookery.identity.hashname import hashname
from rookery.identity.identity import Identity
from rookery.wire import artifact as kinds
from rookery.wire.artifact import Artifact
from rookery.wire.fleet.forecast import Forecast
from rookery.wire.mesh.advice import Advice
from rookery.wire.mesh.certificate import CSID_40

CLOCK_SKEW_MS = 300_000  # how far the issuer's clock may be ahead of ours

_Content = TypeVar("_Content", Forecast, Advice)


class TrustedArtifact(msgspec.Struct, Generic[_Content], frozen=True):
    """The content of a trusted issuer's file, and how long it is valid."""

    issuer: str  # hashname
    issued_ms: int
    expires_ms: int
    content: _Content

    def is_current(self, now_ms: float) -> bool:
        return self.issued_ms - CLOCK_SKEW_MS <= now_ms < self.expires_ms


def seal(
    content: Forecast | Advice, identity: Identity, *, issued_ms: int, expires_ms: int
) -> bytes:
    """The signed file; UsageError if no reader would accept it."""
    try:
        return _sealed(content, identity, issued_ms, expires_ms)
    except RemoteError as error:
        raise UsageError(f"this cannot be sealed: {error}") from error


def _sealed(
    content: Forecast | Advice, identity: Identity, issued_ms: int, expires_ms: int
) -> bytes:
    if CSID_40 not in identity.keys:
        raise UsageError("only an identity with keys of cipher set 40 signs artifacts")
    kinds.check_lifetime(issued_ms, expires_ms)
    unsigned = Artifact(
        kinds.FORECAST if isinstance(content, Forecast) else kinds.ADVICE,
        issued_ms,
        expires_ms,
        identity.keys[CSID_40],
        dict(identity.intermediates(CSID_40)),
        content.body(),
    )
    seed = signing.signing_seed(identity.pairs[CSID_40].secret)
    signature = signing.sign(seed, unsigned.signed)
    data = msgspec.structs.replace(unsigned, signature=signature).serialize()
    # What does not verify here would not verify anywhere.
    if isinstance(content, Forecast):
        open_forecast(data, (identity.hashname,))
    else:
        open_advice(data, (identity.hashname,))
    return data


def open_forecast(data: bytes, trusted: Collection[str]) -> TrustedArtifact[Forecast]:
    """A forecast by a trusted issuer, or RemoteError; its validity period is not checked."""
    artifact, issuer = _checked(data, kinds.FORECAST, trusted)
    content = Forecast.parse(artifact.body)
    return TrustedArtifact(issuer, artifact.issued_ms, artifact.expires_ms, content)


def open_advice(data: bytes, trusted: Collection[str]) -> TrustedArtifact[Advice]:
    """Cost advice by a trusted issuer, or RemoteError; its validity period is not checked."""
    artifact, issuer = _checked(data, kinds.ADVICE, trusted)
    content = Advice.parse(artifact.body)
    return TrustedArtifact(issuer, artifact.issued_ms, artifact.expires_ms, content)


def _checked(data: bytes, kind: int, trusted: Collection[str]) -> tuple[Artifact, str]:
    """The body is read only after this: what strangers send costs no more than a signature."""
    artifact = Artifact.parse(data)
    if artifact.kind != kind:
        raise DecodeError(f"an artifact of kind {artifact.kind}, not {kind}")
    issuer = hashname({CSID_40: artifact.key}, artifact.intermediates)
    if issuer not in trusted:
        raise AuthenticationError(f"issued by {issuer}, who is not trusted here")
    signing.verify(signing.signing_key(artifact.key), artifact.signed, artifact.signature)
    return artifact, issuer
