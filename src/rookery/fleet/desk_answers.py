"""What the report desk answers to a report, proved with the secret the report was proved with."""

from hashlib import blake2s

from rookery.fleet.secrets import prove_by
from rookery.wire.fleet_datagrams import (
    STALE,
    UNKNOWN,
    Call,
    Fault,
    Report,
    ack_proved,
    serialize_ack,
)


def ack(report: Report, prover: blake2s) -> bytes:
    """It is durable."""
    proved = ack_proved(report.reporter, report.boot, report.sequence)
    return serialize_ack(proved, prove_by(prover, proved))


def call(report: Report, prover: blake2s, wish: int) -> bytes:
    """Somebody wishes to talk to the router."""
    bare = Call(report.reporter, report.boot, report.sequence, wish)
    return bare._replace(proof=prove_by(prover, bare.proved)).serialize()


def stale(report: Report, prover: blake2s, boot: int) -> bytes:
    """There has been a newer boot: that one."""
    bare = Fault(STALE, report.reporter, boot, report.sequence)
    return bare._replace(proof=prove_by(prover, bare.proved)).serialize()


def unknown(report: Report) -> bytes:
    """Say hello. There is no secret to prove it with."""
    return Fault(UNKNOWN, report.reporter, report.boot, report.sequence).serialize()
