"""The vectors of docs/protocol/feedback.md: made without our code, and what our code makes."""

import runpy
from pathlib import Path

import msgspec

from rookery.identity import signing
from rookery.identity.artifact import open_advice, open_forecast
from rookery.wire.artifact import Artifact
from rookery.wire.fleet.forecast import Forecast, ServerForecast
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice

FOLDER = Path(__file__).parents[1] / "vectors"


class ForecastVector(msgspec.Struct):
    server: str
    start_ms: int
    step_s: int
    shares: tuple[float, ...]
    confidence: float
    artifact: str


class AdviceVector(msgspec.Struct):
    realm: str
    a: str
    b: str
    start_ms: int
    end_ms: int
    factor: float
    confidence: float
    artifact: str


class Vectors(msgspec.Struct):
    secret: str
    intermediate_3a: str
    issuer: str
    issued_ms: int
    expires_ms: int
    forecast: ForecastVector
    advice: AdviceVector


VECTORS = msgspec.json.decode((FOLDER / "feedback.json").read_bytes(), type=Vectors)


def resealed(data: bytes, body: bytes) -> bytes:
    """The same artifact, made by our code."""
    parsed = Artifact.parse(data)
    unsigned = msgspec.structs.replace(parsed, body=body)
    seed = signing.signing_seed(bytes.fromhex(VECTORS.secret))
    signature = signing.sign(seed, unsigned.signed)
    return msgspec.structs.replace(unsigned, signature=signature).serialize()


def test_the_file_is_what_its_program_writes() -> None:
    made = runpy.run_path(str(FOLDER / "make_feedback.py"))["text"]()
    assert (FOLDER / "feedback.json").read_text() == made


def test_the_forecast_is_read_and_made_alike() -> None:
    told = VECTORS.forecast
    data = bytes.fromhex(told.artifact)
    learned = open_forecast(data, {VECTORS.issuer})
    server = bytes.fromhex(told.server)
    content = Forecast(
        (ServerForecast(server, told.start_ms, told.step_s, told.shares, told.confidence),)
    )
    assert learned.content == content
    assert (learned.issued_ms, learned.expires_ms) == (VECTORS.issued_ms, VECTORS.expires_ms)
    assert resealed(data, content.body()) == data


def test_the_advice_is_read_and_made_alike() -> None:
    told = VECTORS.advice
    data = bytes.fromhex(told.artifact)
    window = AdviceWindow(told.start_ms, told.end_ms, told.factor, told.confidence)
    content = Advice((LinkAdvice(bytes.fromhex(told.realm), told.a, told.b, (window,)),))
    assert open_advice(data, {VECTORS.issuer}).content == content
    assert resealed(data, content.body()) == data
