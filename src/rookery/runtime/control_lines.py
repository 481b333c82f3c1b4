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
from rookery.link.channels.sock import Address
from rookery.mesh.bench import BYTES_MAX, SECONDS_MAX
from rookery.mesh.proxy.credentials import Credentials
from rookery.runtime.snapshot import VERSION, DoorKind, Row, Snapshot
from rookery.wire.lob import JsonObject
from rookery.wire.opening import SERVICE_SIZE_MAX

REQUEST_SIZE_MAX = 1 << 12
ROW_SIZE_MAX = 1 << 20

TIMEOUT_S_DEFAULT = 5.0
TIMEOUT_S_MAX = 60.0
PROBES_DEFAULT = 3
PROBES_MAX = 10
NODE_SIZE_MAX = 64
DOORS_MAX = 8
AUTO = "auto"
SECONDS_DEFAULT = 5.0


class Do(Enum):
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
    DOORS = "doors"
    STREAM = "stream"
    BENCH = "bench"
    QUEUES = "queues"
    QUEUE = "queue"
    QUEUE_ADD = "queue-add"
    QUEUE_CANCEL = "queue-cancel"


class Code(Enum):
    """Why there is no answer; programs may rely on these."""

    BAD_REQUEST = "bad-request"
    UNKNOWN_VERSION = "unknown-version"
    UNKNOWN_NODE = "unknown-node"
    AMBIGUOUS_NODE = "ambiguous-node"
    UNREACHABLE = "unreachable"
    DENIED = "denied"
    BUSY = "busy"
    FAILED = "failed"


class DoorWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A door to be opened; what its kind has no use for is not looked at."""

    kind: DoorKind
    exit: str  # as `node` of a request, or "auto"
    listen: Address  # of a reverse one only the port counts: its exit's rules say the address
    to: Address | None = None  # tcp, udp, reverse
    line: str = ""  # serial
    credentials: Credentials | None = None  # socks, http


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question; what its kind has no use for is not looked at."""

    do: Do
    v: int = VERSION
    node: str = ""  # hashname, the beginning of one, or a name: all about a node
    source: str = msgspec.field(name="from", default="")  # explain: likewise; empty: this node
    timeout_s: float = TIMEOUT_S_DEFAULT  # ping, trace
    probes: int = PROBES_DEFAULT  # trace
    doors: tuple[DoorWanted, ...] = ()  # doors
    service: str = ""  # stream
    meta: JsonObject = {}  # stream
    seconds: float = SECONDS_DEFAULT  # bench, each way
    bytes: int = BYTES_MAX  # bench, each way at most
    text: str = ""  # queue-add
    qos: int = 1  # queue-add
    expires_s: float | None = None  # queue-add
    id: int | None = None  # queue-cancel; None: all


class End(msgspec.Struct, frozen=True, tag_field="is", tag="end"):
    """The last line of an answer."""

    ok: bool = True
    code: Code | None = None
    error: str = ""


class _Version(msgspec.Struct):
    v: int


_ERRORS: dict[Code, type[RookeryError]] = {
    Code.UNREACHABLE: UnreachableError,
    Code.FAILED: UnreachableError,
    Code.DENIED: DeniedError,
    Code.BUSY: CongestionError,
}

_request_decoder = msgspec.json.Decoder(Request)
_version_decoder = msgspec.json.Decoder(_Version)
_answer_decoder: msgspec.json.Decoder[Row | End] = msgspec.json.Decoder(Row | End)
_encoder = msgspec.json.Encoder()


def parse_request(line: bytes) -> Request | End:
    """What a client asks, or how the answer to something that is no question ends."""
    try:
        version = _version_decoder.decode(line).v
        if version != VERSION:
            text = f"version {version} is not known here; use {VERSION}"
            return End(False, Code.UNKNOWN_VERSION, text)
        return _checked(_request_decoder.decode(line))
    except msgspec.ValidationError as error:
        return End(False, Code.BAD_REQUEST, str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return End(False, Code.BAD_REQUEST, "a request is one JSON object on one line")


def _checked(request: Request) -> Request | End:
    wrong = ""
    if not 0 < request.timeout_s <= TIMEOUT_S_MAX:
        wrong = f"timeout_s must be above 0 and at most {TIMEOUT_S_MAX:g}"
    elif not 0 < request.probes <= PROBES_MAX:
        wrong = f"probes must be 1 to {PROBES_MAX}"
    elif not 0 <= request.qos <= 2:
        wrong = "qos must be 0, 1 or 2"
    elif max(len(request.node), len(request.source)) > NODE_SIZE_MAX:
        wrong = f"node and from must have at most {NODE_SIZE_MAX} characters"
    elif request.do is Do.STREAM and not 0 < len(request.service.encode()) <= SERVICE_SIZE_MAX:
        wrong = f"service must have 1 to {SERVICE_SIZE_MAX} bytes"
    elif not 0 < request.seconds <= SECONDS_MAX:
        wrong = f"seconds must be above 0 and at most {SECONDS_MAX:g}"
    elif not 0 < request.bytes <= BYTES_MAX:
        wrong = f"bytes must be 1 to {BYTES_MAX}"
    elif request.do is Do.DOORS and not 0 < len(request.doors) <= DOORS_MAX:
        wrong = f"doors must be 1 to {DOORS_MAX}"
    return End(False, Code.BAD_REQUEST, wrong) if wrong else request


def request_line(request: Request) -> bytes:
    return _encoder.encode(request) + b"\n"


def answer_line(row: Row | End) -> bytes:
    """One line of an answer, version and all."""
    return _encoder.encode(as_json(row)) + b"\n"


def parse_answer(line: bytes) -> Row | End:
    """What the node answers; DecodeError when that makes no sense here."""
    try:
        return _answer_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the node answers in another way than expected: {error}") from error


def as_json(row: Row | Snapshot | End) -> dict[str, object]:
    """A row as the socket and `--json` show it."""
    return {"v": VERSION, **msgspec.to_builtins(row)}


def end_of(error: RookeryError) -> End:
    """How an answer ends that an error ended."""
    match error:
        case UsageError():
            code = Code.BAD_REQUEST
        case UnreachableError():
            code = Code.UNREACHABLE
        case DeniedError():
            code = Code.DENIED
        case CongestionError():
            code = Code.BUSY
        case _:
            code = Code.FAILED
    return End(False, code, str(error))


def error_of(end: End) -> RookeryError:
    """The same on the client's side; what is not its own kind was asked wrongly."""
    assert end.code is not None
    return _ERRORS.get(end.code, UsageError)(end.error)
