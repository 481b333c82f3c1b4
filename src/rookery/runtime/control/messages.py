r"""Lines of the control socket: one JSON request a line, rows back, and an end to each answer.

{"v":1,"do":"ping","node":"bob","timeout_s":2.0}\n
                    {"v":1,"is":"ping","to":{…},"reach":"direct","rtt_ms":0.4,…}\n
                    {"v":1,"is":"end","ok":true,"code":null,"error":""}\n
{"v":1,"do":"ping","node":"nobody"}\n
                    {"v":1,"is":"end","ok":false,"code":"unknown-node","error":"…"}\n
"""

from enum import Enum

import msgspec

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.link.channels.sock import SockAddress
from rookery.mesh.bench import BYTES_MAX, SECONDS_MAX
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.runtime.node.snapshot import VERSION, ListenerKind, Row, Snapshot
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.stream_opening import SERVICE_SIZE_MAX

REQUEST_SIZE_MAX = 1 << 12
ROW_SIZE_MAX = 1 << 20

TIMEOUT_S_DEFAULT = 5.0
TIMEOUT_S_MAX = 60.0
PROBES_DEFAULT = 3
PROBES_MAX = 10
NODE_SIZE_MAX = 64
LISTENERS_MAX = 8
AUTO = "auto"
SECONDS_DEFAULT = 5.0


class ControlCommand(Enum):
    """What can be asked for."""

    STATUS = "status"
    PEERS = "peers"
    ROUTES = "routes"
    MEMBERS = "members"
    COUNTERS = "counters"
    PING = "ping"
    TRACE = "trace"
    EXPLAIN = "explain"
    GRAPH = "graph"
    NETCHECK = "netcheck"
    LISTENERS = "doors"
    STREAM = "stream"
    BENCH = "bench"
    QUEUES = "queues"
    QUEUE = "queue"
    QUEUE_ADD = "queue-add"
    QUEUE_CANCEL = "queue-cancel"


class ControlErrorCode(Enum):
    """Why there is no answer; programs may rely on these."""

    BAD_REQUEST = "bad-request"
    UNKNOWN_VERSION = "unknown-version"
    UNKNOWN_NODE = "unknown-node"
    AMBIGUOUS_NODE = "ambiguous-node"
    UNREACHABLE = "unreachable"
    DENIED = "denied"
    BUSY = "busy"
    FAILED = "failed"


class ListenerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A listener to open; fields that its kind does not use are ignored."""

    kind: ListenerKind
    exit: str  # as `node` of a request, or "auto"
    listen: SockAddress  # of a reverse one only the port counts: its exit's rules say the address
    to: SockAddress | None = None  # tcp, udp, reverse
    line: str = ""  # serial
    credentials: ProxyCredentials | None = None  # socks, http


class ControlRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question; what its kind has no use for is not looked at."""

    do: ControlCommand
    v: int = VERSION
    node: str = ""  # hashname, the beginning of one, or a name: all about a node
    source: str = msgspec.field(name="from", default="")  # explain: likewise; empty: this node
    timeout_s: float = TIMEOUT_S_DEFAULT  # ping, trace
    probes: int = PROBES_DEFAULT  # trace
    listeners: tuple[ListenerRequest, ...] = msgspec.field(name="doors", default=())
    service: str = ""  # stream
    meta: JsonObject = {}  # stream
    seconds: float = SECONDS_DEFAULT  # bench, each way
    bytes: int = BYTES_MAX  # bench, each way at most
    text: str = ""  # queue-add
    qos: int = 1  # queue-add
    expires_s: float | None = None  # queue-add
    id: int | None = None  # queue-cancel; None: all


class ControlEnd(msgspec.Struct, frozen=True, tag_field="is", tag="end"):
    """The last line of an answer."""

    ok: bool = True
    code: ControlErrorCode | None = None
    error: str = ""


class _MessageVersion(msgspec.Struct):
    v: int


_ERRORS: dict[ControlErrorCode, type[RookeryError]] = {
    ControlErrorCode.UNREACHABLE: UnreachableError,
    ControlErrorCode.FAILED: UnreachableError,
    ControlErrorCode.DENIED: DeniedError,
    ControlErrorCode.BUSY: CongestionError,
}

_request_decoder = msgspec.json.Decoder(ControlRequest)
_version_decoder = msgspec.json.Decoder(_MessageVersion)
_answer_decoder: msgspec.json.Decoder[Row | ControlEnd] = msgspec.json.Decoder(Row | ControlEnd)
_encoder = msgspec.json.Encoder()


def parse_request(line: bytes) -> ControlRequest | ControlEnd:
    """What a client asks, or how the answer to something that is no question ends."""
    try:
        version = _version_decoder.decode(line).v
        if version != VERSION:
            text = f"version {version} is not known here; use {VERSION}"
            return ControlEnd(False, ControlErrorCode.UNKNOWN_VERSION, text)
        return _checked(_request_decoder.decode(line))
    except msgspec.ValidationError as error:
        return ControlEnd(False, ControlErrorCode.BAD_REQUEST, str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ControlEnd(
            False, ControlErrorCode.BAD_REQUEST, "a request is one JSON object on one line"
        )


def _checked(request: ControlRequest) -> ControlRequest | ControlEnd:
    wrong = ""
    if not 0 < request.timeout_s <= TIMEOUT_S_MAX:
        wrong = f"timeout_s must be above 0 and at most {TIMEOUT_S_MAX:g}"
    elif not 0 < request.probes <= PROBES_MAX:
        wrong = f"probes must be 1 to {PROBES_MAX}"
    elif not 0 <= request.qos <= 2:
        wrong = "qos must be 0, 1 or 2"
    elif max(len(request.node), len(request.source)) > NODE_SIZE_MAX:
        wrong = f"node and from must have at most {NODE_SIZE_MAX} characters"
    elif (
        request.do is ControlCommand.STREAM
        and not 0 < len(request.service.encode()) <= SERVICE_SIZE_MAX
    ):
        wrong = f"service must have 1 to {SERVICE_SIZE_MAX} bytes"
    elif not 0 < request.seconds <= SECONDS_MAX:
        wrong = f"seconds must be above 0 and at most {SECONDS_MAX:g}"
    elif not 0 < request.bytes <= BYTES_MAX:
        wrong = f"bytes must be 1 to {BYTES_MAX}"
    elif request.do is ControlCommand.LISTENERS and not 0 < len(request.listeners) <= LISTENERS_MAX:
        wrong = f"doors must be 1 to {LISTENERS_MAX}"
    return ControlEnd(False, ControlErrorCode.BAD_REQUEST, wrong) if wrong else request


def request_line(request: ControlRequest) -> bytes:
    return _encoder.encode(request) + b"\n"


def answer_line(row: Row | ControlEnd) -> bytes:
    """One line of an answer, version and all."""
    return _encoder.encode(as_json(row)) + b"\n"


def parse_answer(line: bytes) -> Row | ControlEnd:
    """What the node answers; DecodeError when that makes no sense here."""
    try:
        return _answer_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the node answers in another way than expected: {error}") from error


def as_json(row: Row | Snapshot | ControlEnd) -> dict[str, object]:
    """A row as the socket and `--json` show it."""
    return {"v": VERSION, **msgspec.to_builtins(row)}


def end_of(error: RookeryError) -> ControlEnd:
    """How an answer ends that an error ended."""
    match error:
        case UsageError():
            code = ControlErrorCode.BAD_REQUEST
        case UnreachableError():
            code = ControlErrorCode.UNREACHABLE
        case DeniedError():
            code = ControlErrorCode.DENIED
        case CongestionError():
            code = ControlErrorCode.BUSY
        case _:
            code = ControlErrorCode.FAILED
    return ControlEnd(False, code, str(error))


def error_of(end: ControlEnd) -> RookeryError:
    """The same on the client's side; what is not its own kind was asked wrongly."""
    assert end.code is not None
    return _ERRORS.get(end.code, UsageError)(end.error)
