"""Forwarding against tests/vectors/mesh-forwarding.json, which docs/protocol describes."""

import runpy
from pathlib import Path

import msgspec
import pytest

from rookery.errors import RemoteError
from rookery.mesh.routing.forwarding import Forwarder, RouteNodes
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.echo import EchoReply, EchoRequest
from rookery.wire.mesh.forward import (
    DatagramClass,
    Forward,
    ForwardKind,
    PathError,
    PathErrorReason,
)
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.octets import Octets, Parts

FOLDER = Path(__file__).parents[2] / "vectors"


class Frame(msgspec.Struct):
    name: str
    route: list[str]
    payload: str
    head: str
    body: str


class Got(msgspec.Struct):
    head: str
    body: str


class Sends(Got):
    to: str


class Step(msgspec.Struct):
    name: str
    usable: list[str]
    relays: bool
    avoid: list[str]
    detour: list[str] | None
    got: Got
    sends: Sends | None


class Refused(Got):
    reason: str


class Vectors(msgspec.Struct):
    nodes: dict[str, str]
    frames: list[Frame]
    steps: list[Step]
    refused: list[Refused]


VECTORS = msgspec.json.decode((FOLDER / "mesh-forwarding.json").read_bytes(), type=Vectors)
HERE, NEIGHBOUR = bytes.fromhex(VECTORS.nodes["b"]), bytes.fromhex(VECTORS.nodes["a"])


class Site:
    """Node b as one step has it."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self.avoided: list[str] = []
        self.sent: list[Sends] = []

    def usable(self, neighbour: NodeId) -> bool:
        return neighbour.hex() in self._step.usable

    def sound(self, neighbour: NodeId) -> bool:
        return self.usable(neighbour)

    def send(
        self, neighbour: NodeId, head: bytes, parts: Parts, datagram_class: DatagramClass
    ) -> bool:
        self.sent.append(Sends(head.hex(), b"".join(parts).hex(), neighbour.hex()))
        return True

    def detour(self, destination: NodeId, avoid: frozenset[NodeId]) -> RouteNodes | None:
        self.avoided = sorted(node.hex() for node in avoid)
        detour = self._step.detour
        return None if detour is None else tuple(map(bytes.fromhex, detour))

    def deliver(self, kind: ForwardKind, arrival: Arrival, payload: Octets, now: float) -> None:
        raise AssertionError("no step ends here")

    def is_busy(self, neighbour: NodeId) -> bool:
        return False

    def may_relay(self, previous: NodeId) -> bool:
        return self._step.relays


def test_the_vectors_are_those_that_the_description_makes() -> None:
    made = runpy.run_path(str(FOLDER / "make_mesh_forwarding.py"))
    described = {name: made[name]() for name in ("frames", "steps", "refused")}
    kept = msgspec.to_builtins(VECTORS)
    assert {name: kept[name] for name in described} == described
    assert {name: node.hex() for name, node in made["NODES"].items()} == kept["nodes"]


@pytest.mark.parametrize("vector", VECTORS.frames, ids=lambda vector: vector.name)
def test_a_frame_is_read_and_written_as_described(vector: Frame) -> None:
    frame = Forward.parse(bytes.fromhex(vector.head), bytes.fromhex(vector.body))
    assert [node.hex() for node in frame.route] == vector.route
    assert frame.payload.hex() == vector.payload
    assert (frame.head().hex(), frame.body().hex()) == (vector.head, vector.body)


def test_the_fields_of_the_frames_are_as_described() -> None:
    frames = [
        Forward.parse(bytes.fromhex(vector.head), bytes.fromhex(vector.body))
        for vector in VECTORS.frames
    ]
    packet, marked, request, reply, error = frames
    assert (packet.hop_limit, packet.cursor, packet.repairs, packet.is_marked) == (16, 1, 0, False)
    assert (marked.hop_limit, marked.cursor, marked.repairs, marked.is_marked) == (13, 4, 1, True)
    assert [frame.kind for frame in frames] == [
        ForwardKind.PACKET,
        ForwardKind.PACKET,
        ForwardKind.ECHO_REQUEST,
        ForwardKind.ECHO_REPLY,
        ForwardKind.PATH_ERROR,
    ]
    assert [frame.datagram_class for frame in (packet, marked, error)] == list(DatagramClass)
    token = EchoRequest.parse(bytes(request.payload)).token
    assert EchoReply.parse(bytes(reply.payload)) == EchoReply(token, 1500)
    assert PathError.parse(bytes(error.payload)).reason is PathErrorReason.NO_WAY


@pytest.mark.parametrize("vector", VECTORS.steps, ids=lambda vector: vector.name)
def test_a_step_is_as_described(vector: Step) -> None:
    site = Site(vector)
    got = vector.got
    Forwarder(HERE, site).received(NEIGHBOUR, bytes.fromhex(got.head), bytes.fromhex(got.body), 0.0)
    assert site.sent == ([] if vector.sends is None else [vector.sends])
    assert site.avoided == vector.avoid


@pytest.mark.parametrize("vector", VECTORS.refused, ids=lambda vector: vector.reason)
def test_a_frame_is_refused_as_described(vector: Refused) -> None:
    forwarder = Forwarder(HERE, Site(VECTORS.steps[0]))
    with pytest.raises(RemoteError) as refused:
        forwarder.received(NEIGHBOUR, bytes.fromhex(vector.head), bytes.fromhex(vector.body), 0.0)
    assert str(refused.value) == vector.reason
