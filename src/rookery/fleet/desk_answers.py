"""What the report desk answers to a report, proved with the secret the report was proved with."""

from rookery.fleet.secrets import prove
from rookery.wire.fleet_datagrams import (
    STALE,
    UNKNOWN,
    Call,
    Fault,
    Report,
    ack_proved,
    serialize_ack,
)


def ack(report: Report, secret: bytes) -> bytes:
    """It is durable."""
    proved = ack_proved(report.reporter, report.boot, report.sequence)
    return serialize_ack(proved, prove(secret, proved))


def call(report: Report, secret: bytes, wish: int) -> bytes:
    """Somebody wishes to talk to the router."""
    bare = Call(report.reporter, report.boot, report.sequence, wish)
    return bare._replace(proof=prove(secret, bare.proved)).serialize()


def stale(report: Report, secret: bytes, boot: int) -> bytes:
    """There has been a newer boot: that one."""
    bare = Fault(STALE, report.reporter, boot, report.sequence)
    return bare._replace(proof=prove(secret, bare.proved)).serialize()


def unknown(report: Report) -> bytes:
    """Say hello. There is no secret to prove it with."""
    return Fault(UNKNOWN, report.reporter, report.boot, report.sequence).serialize()
