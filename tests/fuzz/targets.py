"""The table of fuzz targets: one for every parser, or the reason why it has none."""

from functools import cache
from random import Random
from urllib.parse import urlsplit

from rookery.errors import UsageError
from rookery.fleet import authority, contents, rpc_message
from rookery.fleet import entry as entries
from rookery.fleet.desk_reader import DeskReader
from rookery.fleet.desk_settings import DeskCounters, DeskSettings
from rookery.fleet.reporter_state import ReporterState
from rookery.fleet.rpc_message import ErrorObject, RpcError
from rookery.fleet.sealed_stream import SealedStream
from rookery.identity import artifact
from rookery.identity.cipher_set import Session
from rookery.identity.identity import Identity
from rookery.link import handshake
from rookery.link.channels import box, box_seal, message_id, peer, sock, stream, thtp, ws
from rookery.link.channels import path as path_channel
from rookery.mesh import advice_answer, bench
from rookery.mesh.files import request as file_request
from rookery.mesh.files.fault import CopyError
from rookery.mesh.files.path import FilePath
from rookery.mesh.invitation import Invitation
from rookery.mesh.join import JoinAnswer, JoinRequest
from rookery.mesh.proxy import answer as proxy_answer
from rookery.mesh.proxy import datagram_frame, socks
from rookery.mesh.proxy import opening as proxy_opening
from rookery.runtime import control_lines, keystore, resolve
from rookery.runtime.gates import address, framing, websocket
from rookery.runtime.tls.authority import CertificateAuthority, read_authority
from rookery.runtime.tls.certificate import Credential, SigningRequest, read_key
from rookery.store import snapshot
from rookery.web.factors import base64url, cbor, cose, webauthn
from rookery.web.factors.authenticator_data import AuthenticatorData
from tests.fuzz import crow_broker
from tests.fuzz.target import Fuzzed, Target, again, heads, packets, pieces, texts
from tests.fuzz.wire_targets import WIRE

_CSIDS = (0x1A, 0x2A, 0x3A, 0x40)


@cache
def identity(seed: int) -> Identity:
    return Identity.generate(_CSIDS, Random(seed).randbytes)


@cache
def session(csid: int) -> Session:
    """As both ends have one after a handshake."""
    alice, bob = (identity(seed).local[csid] for seed in (1, 2))
    random = Random(3).randbytes
    sending, receiving = alice.exchange(bob.key, random), bob.exchange(alice.key, random)
    return receiving.session(bob.open(sending.seal(b"inner")))


def _message(csid: int) -> Fuzzed:
    return lambda data: identity(1).local[csid].open(data)


def _channel(csid: int) -> Fuzzed:
    return lambda data: session(csid).open(bytes(16), data)


def _contents(data: bytes) -> object:
    return contents.decode(data[0] if data else 0, data[1:])


def _desk(data: bytes) -> object:
    return DeskReader(DeskSettings(), DeskCounters(), 0.0).read(data, "192.0.2.1:1", 0.0)


def _accepted() -> framing.Accepted:
    return framing.Accepted(lambda: websocket.AcceptedSocket("/", lambda: {}))


def _dialled(data: bytes) -> object:
    return websocket.DialledSocket(urlsplit("http://host/")).feed(data)


def _inner(data: bytes) -> object:
    return handshake.Handshake.parse_inner(0x40, data).hashname


def _bound(head: dict[str, object]) -> object:
    return sock.parse_address(head, "src")


OTHERS = {
    "fleet.authority:decode": Target(again(authority.decode, authority.encode)),
    "fleet.contents:decode": Target(_contents),
    "fleet.desk_reader:DeskReader.read": Target(_desk),
    "fleet.entry:decode": Target(entries.decode),
    "fleet.reporter_state:ReporterState.parse": Target(
        again(ReporterState.parse, ReporterState.serialize)
    ),
    "fleet.rpc_message:ErrorObject.parse": Target(ErrorObject.parse, (RpcError,)),
    "fleet.rpc_message:parse": Target(rpc_message.parse, (RpcError,)),
    "fleet.sealed_stream:SealedStream.feed": Target(
        lambda data: SealedStream.accept(identity(1), Random(4).randbytes).feed(data)
    ),
    "identity.artifact:open_forecast": Target(lambda data: artifact.open_forecast(data, ())),
    "identity.artifact:open_advice": Target(lambda data: artifact.open_advice(data, ())),
    "identity.cs1a:LocalKey1a.open": Target(_message(0x1A)),
    "identity.cs1a:Session1a.open": Target(_channel(0x1A)),
    "identity.cs2a:LocalKey2a.open": Target(_message(0x2A)),
    "identity.cs2a:Session2a.open": Target(_channel(0x2A)),
    "identity.cs3a:LocalKey3a.open": Target(_message(0x3A)),
    "identity.cs3a:Session3a.open": Target(_channel(0x3A)),
    "identity.cs40:LocalKey40.open": Target(_message(0x40)),
    "identity.cs40_session:Session40.open": Target(_channel(0x40)),
    "link.channels.box:Outbox.parse": Target(heads(box.Outbox.parse)),
    "link.channels.box:Inbox.parse": Target(heads(box.Inbox.parse)),
    "link.channels.box:CommandReader.feed": Target(
        packets(lambda head, body: box.CommandReader().feed(head, body))
    ),
    "link.channels.box:parse_boxes": Target(box.parse_boxes),
    "link.channels.box:parse_box_id": Target(texts(box.parse_box_id), (UsageError,)),
    "link.channels.box_seal:unseal": Target(lambda data: box_seal.unseal(identity(1), data)),
    "link.channels.message_id:parse_id": Target(texts(message_id.parse_id)),
    "link.channels.path:parse_opening": Target(heads(path_channel.parse_opening)),
    "link.channels.path:parse_answer": Target(heads(path_channel.parse_answer)),
    "link.channels.peer:parse_opening": Target(packets(peer.parse_opening)),
    "link.channels.sock:parse_open": Target(heads(sock.parse_open)),
    "link.channels.sock:parse_address": Target(heads(_bound)),
    "link.channels.sock:parse_bound": Target(heads(sock.parse_bound)),
    "link.channels.stream:parse_options": Target(stream.parse_options),
    "link.channels.stream:Reassembler.feed": Target(
        packets(lambda head, body: stream.Reassembler().feed(head, body))
    ),
    "link.channels.thtp:RequestHead.parse": Target(heads(thtp.RequestHead.parse)),
    "link.channels.thtp:ResponseHead.parse": Target(heads(thtp.ResponseHead.parse)),
    "link.channels.thtp:Parser.feed": Target(
        lambda data: thtp.Parser(thtp.RequestHead.parse).feed(data)
    ),
    "link.channels.ws:Reassembler.feed": Target(
        packets(lambda head, body: ws.Reassembler().feed(head, body))
    ),
    "link.handshake:Handshake.parse_inner": Target(_inner),
    "link.handshake:parse_csid": Target(texts(handshake.parse_csid)),
    "mesh.advice_answer:parse_answer": Target(advice_answer.parse_answer),
    "mesh.bench:Answer.parse": Target(bench.Answer.parse),
    "mesh.bench:BenchRequest.parse": Target(heads(bench.BenchRequest.parse)),
    "mesh.bench:parse_received": Target(bench.parse_received),
    "mesh.bench:parse_ways": Target(bench.parse_ways),
    "mesh.files.path:FilePath.parse": Target(texts(FilePath.parse)),
    "mesh.files.request:parse_request": Target(heads(file_request.parse_request), (CopyError,)),
    "mesh.invitation:Invitation.parse": Target(texts(Invitation.parse)),
    "mesh.join:JoinRequest.parse": Target(packets(JoinRequest.parse)),
    "mesh.join:JoinAnswer.parse": Target(packets(JoinAnswer.parse)),
    "mesh.proxy.answer:Answer.parse": Target(proxy_answer.Answer.parse),
    "mesh.proxy.datagram_frame:Deframer.feed": Target(
        pieces(lambda: datagram_frame.Deframer().feed)
    ),
    "mesh.proxy.opening:parse_opening": Target(heads(proxy_opening.parse_opening)),
    "mesh.proxy.socks:parse_datagram": Target(socks.parse_datagram),
    "runtime.control_lines:parse_request": Target(control_lines.parse_request),
    "runtime.control_lines:parse_answer": Target(control_lines.parse_answer),
    "runtime.gates.address:parse_address": Target(texts(address.parse_address), (UsageError,)),
    "runtime.gates.framing:Chunks.feed": Target(pieces(lambda: framing.Chunks().feed)),
    "runtime.gates.framing:Frames.feed": Target(pieces(lambda: framing.Frames().feed)),
    "runtime.gates.framing:Accepted.feed": Target(lambda data: _accepted().feed(data)),
    "runtime.gates.websocket:DialledSocket.feed": Target(_dialled),
    "runtime.gates.websocket:AcceptedSocket.feed": Target(
        lambda data: websocket.AcceptedSocket("/", lambda: {}).feed(data)
    ),
    "runtime.keystore:parse": Target(keystore.parse),
    "runtime.resolve:parse_link": Target(texts(resolve.parse_link), (UsageError,)),
    "runtime.tls.authority:CertificateAuthority.parse": Target(
        again(CertificateAuthority.parse, CertificateAuthority.serialize)
    ),
    "runtime.tls.authority:read_authority": Target(read_authority),
    "runtime.tls.certificate:Credential.parse": Target(Credential.parse),
    "runtime.tls.certificate:SigningRequest.parse": Target(SigningRequest.parse),
    "runtime.tls.certificate:read_key": Target(read_key),
    "store.snapshot:parse": Target(snapshot.parse),
    "web.factors.authenticator_data:AuthenticatorData.parse": Target(AuthenticatorData.parse),
    "web.factors.base64url:decode": Target(texts(base64url.decode)),
    "web.factors.cbor:parse": Target(cbor.parse),
    "web.factors.cbor:parse_from": Target(lambda data: cbor.parse_from(data, 0)),
    "web.factors.cose:parse_key": Target(cose.parse_key),
    "web.factors.webauthn:read_client_data": Target(webauthn.read_client_data),
}

# No parsers, but what strangers' packets drive.
MACHINES = {"crow.broker_node:BrokerNode": Target(crow_broker.run)}
TARGETS = {**MACHINES, **{f"wire.{name}": target for name, target in WIRE.items()}, **OTHERS}

EXCEPT = {
    "identity.cipher_set:Session.open": "a protocol; each set has its own",
    "identity.cipher_set:LocalKey.open": "a protocol; each set has its own",
    "identity.cs40_session:Opening40.open": "a phase of Session40, which is fuzzed",
    "link.exchange:Exchange.open": "passes on to the session of its set",
    "runtime.gates.framing:Framing.feed": "a protocol; each framing has its own",
    "link.channels.sock_rules:Rule.parse": "an operator's own setting",
    "mesh.files.folder:FolderRule.parse": "an operator's own setting",
    "mesh.proxy.rules:SerialRule.parse": "an operator's own setting",
    "runtime.channels.thtp_proxy:Origin.parse": "an operator's own setting",
    "crow.patterns:Patterns.open": "a table of names, which it does not read",
    "crow.themes:Themes.open": "a table of names, which it does not read",
    "runtime.crow.threshold:Threshold.read": "calls both parsers of crow packets",
    "runtime.gates.tls:TlsLayer.feed": "OpenSSL reads it",
}
