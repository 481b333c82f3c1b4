"""F1, F4: datagrams and secrets against tests/vectors/fleet.json, as docs/protocol/fleet.md."""

from pathlib import Path

import msgspec
import pytest

from rookery.fleet.enrolment import secrets
from rookery.fleet.reports.report_reader import ReportReader
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.wire.fleet import tlv
from rookery.wire.fleet.datagrams import (
    AckDatagram,
    CallDatagram,
    FaultDatagram,
    HelloDatagram,
    IssuedSecret,
    ReportDatagram,
    report_proved,
    serialize_ack,
    serialize_plain,
    serialize_report,
)
from rookery.wire.observation import Observation
from tests.vectors.make_fleet import vectors

PATH = Path(__file__).parents[2] / "vectors" / "fleet.json"


class SecretVector(msgspec.Struct):
    reporter: str
    generation: int
    secret: str


class GenerationVector(msgspec.Struct):
    reporter: str
    second: int
    renewal_s: int
    generation: int


class CodeVector(msgspec.Struct):
    text: str
    key: str


class DatagramVector(msgspec.Struct):
    kind: str
    tag: int
    reporter: str
    bytes: str
    generation: int = 0
    boot: int = 0
    sequence: int = 0
    content: str = ""
    proof: str = ""
    nonce: str = ""
    key: str = ""
    digest: str = ""
    size: int = 0
    code_id: str = ""
    code_proof: str = ""
    wish: int = 0
    code: int = 0


class IssueVector(msgspec.Struct):
    generation: int
    nonce: str
    hub_ms: int
    inner: str


class ObservationVector(msgspec.Struct):
    received_ms: int
    kind: int
    reporter: str
    boot: int
    sequence: int
    content: str
    bytes: str


class RefusedVector(msgspec.Struct):
    name: str
    bytes: str


class Vectors(msgspec.Struct):
    master: str
    hashname: str
    secrets: list[SecretVector]
    generations: list[GenerationVector]
    code: CodeVector
    claim_code: str
    datagrams: list[DatagramVector]
    issue: IssueVector
    observation: ObservationVector
    refused: list[RefusedVector]


VECTORS = msgspec.json.decode(PATH.read_bytes(), type=Vectors)
SECRET = bytes.fromhex(VECTORS.secrets[0].secret)


def of_kind(kind: str) -> list[DatagramVector]:
    return [row for row in VECTORS.datagrams if row.kind == kind]


def value_of(row: DatagramVector) -> bytes:
    (only,) = tlv.parse_all(bytes.fromhex(row.bytes))
    assert only.tag == row.tag
    return only.value


def test_the_file_is_what_its_maker_makes() -> None:
    assert msgspec.json.decode(PATH.read_bytes()) == vectors()


@pytest.mark.parametrize("row", VECTORS.secrets, ids=lambda row: str(row.generation))
def test_secrets_are_derived_f4(row: SecretVector) -> None:
    made = secrets.derive(
        bytes.fromhex(VECTORS.master),
        bytes.fromhex(row.reporter),
        bytes.fromhex(VECTORS.hashname),
        row.generation,
    )
    assert made.hex() == row.secret


@pytest.mark.parametrize("row", VECTORS.generations, ids=str)
def test_generations_are_times_f4(row: GenerationVector) -> None:
    reporter = bytes.fromhex(row.reporter)
    assert secrets.generation(reporter, row.second, row.renewal_s) == row.generation


def test_codes_and_claim_codes_f4() -> None:
    assert secrets.code_key(VECTORS.code.text).hex() == VECTORS.code.key
    assert secrets.claim_code(SECRET) == VECTORS.claim_code


@pytest.mark.parametrize("row", of_kind("report"), ids=lambda row: str(row.tag))
def test_reports_f3_f5(row: DatagramVector) -> None:
    data, reporter = bytes.fromhex(row.bytes), bytes.fromhex(row.reporter)
    content = bytes.fromhex(row.content)
    report = ReportDatagram.parse(data)
    assert (report.tag, report.sender, report.content) == (row.tag, reporter, content)
    lineage = report.generation, report.boot, report.sequence
    assert lineage == (row.generation, row.boot, row.sequence)
    assert secrets.is_proved(SECRET, report.proved, report.proof)
    proved = report_proved(row.tag, reporter, *lineage, content)
    assert proved == report.proved
    assert serialize_report(proved, secrets.prove(SECRET, proved)) == data


def test_plain_reports_f4() -> None:
    (row,) = of_kind("plain")
    report = ReportDatagram.parse(bytes.fromhex(row.bytes))
    assert report.proof == SECRET
    assert (report.boot, report.sequence, report.content.hex()) == (
        row.boot,
        row.sequence,
        row.content,
    )
    made = serialize_plain(row.tag, report.sender, SECRET, report.content)
    assert made.hex() == row.bytes


@pytest.mark.parametrize("row", of_kind("hello"), ids=lambda row: f"{row.tag}-{row.size}")
def test_hellos_f4(row: DatagramVector) -> None:
    hello = HelloDatagram.parse(value_of(row))
    assert [part.hex() for part in hello] == [
        row.reporter,
        row.nonce,
        row.key,
        row.digest,
        row.code_id,
        row.code_proof,
    ]
    assert hello.serialize(row.tag, row.size).hex() == row.bytes
    if hello.code_id != bytes(8):
        key = bytes.fromhex(VECTORS.code.key)
        assert secrets.code_id(key) == hello.code_id
        assert secrets.prove_code(key, hello.proved) == hello.code_proof


def test_acknowledgements_f3() -> None:
    (row,) = of_kind("ack")
    ack = AckDatagram.parse(value_of(row))
    assert (ack.sender.hex(), ack.boot, ack.sequence) == (row.reporter, row.boot, row.sequence)
    made = serialize_ack(ack.proved, secrets.prove(SECRET, ack.proved))
    assert made.hex() == row.bytes


def test_calls_f7() -> None:
    (row,) = of_kind("call")
    call = CallDatagram.parse(value_of(row))
    assert (call.boot, call.sequence, call.wish) == (row.boot, row.sequence, row.wish)
    assert call._replace(proof=secrets.prove(SECRET, call.proved)).serialize().hex() == row.bytes


@pytest.mark.parametrize("row", of_kind("fault"), ids=lambda row: str(row.code))
def test_faults_f4(row: DatagramVector) -> None:
    fault = FaultDatagram.parse(value_of(row))
    assert (fault.code, fault.boot, fault.sequence) == (row.code, row.boot, row.sequence)
    proof = secrets.prove(SECRET, fault.proved) if fault.proof else b""
    assert fault._replace(proof=proof).serialize().hex() == row.bytes


def test_what_is_sealed_f4() -> None:
    row = VECTORS.issue
    issue = IssuedSecret.parse(bytes.fromhex(row.inner))
    assert issue == IssuedSecret(row.generation, SECRET, bytes.fromhex(row.nonce), row.hub_ms)
    assert issue.serialize().hex() == row.inner


def test_observations() -> None:
    row = VECTORS.observation
    made = Observation(
        row.received_ms,
        row.kind,
        bytes.fromhex(row.reporter),
        row.boot,
        row.sequence,
        bytes.fromhex(row.content),
    )
    assert made.serialize().hex() == row.bytes
    assert Observation.parse(bytes.fromhex(row.bytes)) == made


@pytest.mark.parametrize("row", VECTORS.refused, ids=lambda row: row.name)
def test_what_the_hub_does_not_even_look_at_f1(row: RefusedVector) -> None:
    counters = ReportValidatorCounters()
    reader = ReportReader(ReportValidatorSettings(legacy_plain=True), counters, 0.0)
    assert reader.read(bytes.fromhex(row.bytes), "192.0.2.1:1", 0.0) is None
    assert counters.malformed == 1
