"""The table of fuzz targets: one for every parser, or the reason why it has none."""

from functools import cache
from random import Random
from urllib.parse import urlsplit

from rookery.errors import UsageError
from rookery.fleet import entry as entries
from rookery.fleet.rendezvous import seat_authority
from rookery.fleet.reports import observation_contents
from rookery.fleet.reports.report_reader import ReportReader
from rookery.fleet.reports.sender_state import SenderState
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.fleet.rpc import message
from rookery.fleet.rpc.message import RpcError, RpcErrorObject
from rookery.fleet.sealed_stream import SealedStream
from rookery.identity import artifact
from rookery.identity.cipher_set import CipherSession
from rookery.identity.identity import Identity
from rookery.link.channels import box, box_seal, message_id, peer, sock, stream, thtp, ws
from rookery.link.channels import path as path_channel
from rookery.link.session import handshake
from rookery.mesh import bench
from rookery.mesh.files import request as file_request
from rookery.mesh.files.fault import CopyError
from rookery.mesh.files.path import FilePath
from rookery.mesh.membership.invitation import Invitation
from rookery.mesh.membership.join import JoinAnswer, JoinRequest
from rookery.mesh.proxy import answer as proxy_answer
from rookery.mesh.proxy import datagram_frame, socks
from rookery.mesh.proxy import opening as proxy_opening
from rookery.mesh.quality import advice_answer
from rookery.runtime.control import messages
from rookery.runtime.endpoint import keystore, resolve
from rookery.runtime.endpoint.gates import framing, websocket
from rookery.runtime.net import address
from rookery.runtime.tls.authority import CertificateAuthority, read_authority
from rookery.runtime.tls.certificate import Credential, SigningRequest, read_key
from rookery.store.hot import snapshot
from rookery.web.accounts.factors import base64url, cbor, cose, webauthn
from rookery.web.accounts.factors.authenticator_data import AuthenticatorData
from rookery.wire.fleet import tags, tlv
from rookery.wire.link.lob import Packet
from tests.fuzz import crow_broker
from tests.fuzz.target import Fuzzed, Target, again, heads, packets, pieces, texts
from tests.fuzz.wire_targets import WIRE

_CSIDS = (0x1A, 0x2A, 0x3A, 0x40)


@cache
def identity(seed: int) -> Identity:
    return Identity.generate(_CSIDS, Random(seed).randbytes)


@cache
def session(csid: int) -> CipherSession:
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
    return observation_contents.decode(data[0] if data else 0, data[1:])


def _desk(data: bytes) -> object:
    return ReportReader(ReportValidatorSettings(), ReportValidatorCounters(), 0.0).read(
        data, "192.0.2.1:1", 0.0
    )


def _accepted() -> framing.AcceptedFraming:
    return framing.AcceptedFraming(lambda: websocket.AcceptedWebSocket("/", lambda: {}))


def _dialled(data: bytes) -> object:
    return websocket.DialledWebSocket(urlsplit("http://host/")).feed(data)


def _inner(data: bytes) -> object:
    return handshake.Handshake.parse_inner(0x40, data).hashname


def _stream(data: bytes) -> object:
    """A stranger's bytes, what his handshake holds under 40 and as an offer, or an answer."""
    alice, bob, random = identity(1), identity(2), Random(4).randbytes
    if data[:1] == b"\x03":
        dialler = SealedStream.dial(bob, alice.hashname, alice.keys, 1 << 40, random)
        return dialler.feed(data[1:])
    if data[:1] in (b"\x01", b"\x02"):
        csid, inner = 0x40, data[1:]
        if data[:1] == b"\x02":
            offering = handshake.Handshake(
                0x2A, bob.keys[0x2A], bob.intermediates(0x2A), 4, data[1:]
            )
            csid, inner = 0x2A, offering.inner()
        body = bob.local[csid].exchange(alice.keys[csid], random).seal(inner)
        data = tlv.serialize(tags.KEY, Packet(bytes([csid]), body).serialize())
    return SealedStream.accept(alice, random).feed(data)


def _bound(head: dict[str, object]) -> object:
    return sock.parse_address(head, "src")


OTHERS = {
    "fleet.rendezvous.seat_authority:decode": Target(
        again(seat_authority.decode, seat_authority.encode)
    ),
    "fleet.reports.observation_contents:decode": Target(_contents),
    "fleet.reports.report_reader:ReportReader.read": Target(_desk),
    "fleet.entry:decode": Target(entries.decode),
    "fleet.reports.sender_state:SenderState.parse": Target(
        again(SenderState.parse, SenderState.serialize)
    ),
    "fleet.rpc.message:RpcErrorObject.parse": Target(RpcErrorObject.parse, (RpcError,)),
    "fleet.rpc.message:parse": Target(message.parse, (RpcError,)),
    "fleet.sealed_stream:SealedStream.feed": Target(_stream),
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
    "link.channels.box:OutboxOpening.parse": Target(heads(box.OutboxOpening.parse)),
    "link.channels.box:InboxOpening.parse": Target(heads(box.InboxOpening.parse)),
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
    "link.channels.stream:StreamReassembler.feed": Target(
        packets(lambda head, body: stream.StreamReassembler().feed(head, body))
    ),
    "link.channels.thtp:RequestHead.parse": Target(heads(thtp.RequestHead.parse)),
    "link.channels.thtp:ResponseHead.parse": Target(heads(thtp.ResponseHead.parse)),
    "link.channels.thtp:ThtpParser.feed": Target(
        lambda data: thtp.ThtpParser(thtp.RequestHead.parse).feed(data)
    ),
    "link.channels.ws:WsReassembler.feed": Target(
        packets(lambda head, body: ws.WsReassembler().feed(head, body))
    ),
    "link.session.handshake:Handshake.parse_inner": Target(_inner),
    "link.session.handshake:parse_csid": Target(texts(handshake.parse_csid)),
    "mesh.quality.advice_answer:parse_answer": Target(advice_answer.parse_answer),
    "mesh.bench:BenchAnswer.parse": Target(bench.BenchAnswer.parse),
    "mesh.bench:BenchRequest.parse": Target(heads(bench.BenchRequest.parse)),
    "mesh.bench:parse_received": Target(bench.parse_received),
    "mesh.bench:parse_paths": Target(bench.parse_paths),
    "mesh.files.path:FilePath.parse": Target(texts(FilePath.parse)),
    "mesh.files.request:parse_request": Target(heads(file_request.parse_request), (CopyError,)),
    "mesh.membership.invitation:Invitation.parse": Target(texts(Invitation.parse)),
    "mesh.membership.join:JoinRequest.parse": Target(packets(JoinRequest.parse)),
    "mesh.membership.join:JoinAnswer.parse": Target(packets(JoinAnswer.parse)),
    "mesh.proxy.answer:ProxyAnswer.parse": Target(proxy_answer.ProxyAnswer.parse),
    "mesh.proxy.datagram_frame:DatagramDeframer.feed": Target(
        pieces(lambda: datagram_frame.DatagramDeframer().feed)
    ),
    "mesh.proxy.opening:parse_opening": Target(heads(proxy_opening.parse_opening)),
    "mesh.proxy.socks:parse_datagram": Target(socks.parse_datagram),
    "runtime.control.messages:parse_request": Target(messages.parse_request),
    "runtime.control.messages:parse_answer": Target(messages.parse_answer),
    "runtime.net.address:parse_address": Target(texts(address.parse_address), (UsageError,)),
    "runtime.endpoint.gates.framing:ChunkFraming.feed": Target(
        pieces(lambda: framing.ChunkFraming().feed)
    ),
    "runtime.endpoint.gates.framing:LengthFraming.feed": Target(
        pieces(lambda: framing.LengthFraming().feed)
    ),
    "runtime.endpoint.gates.framing:AcceptedFraming.feed": Target(
        lambda data: _accepted().feed(data)
    ),
    "runtime.endpoint.gates.websocket:DialledWebSocket.feed": Target(_dialled),
    "runtime.endpoint.gates.websocket:AcceptedWebSocket.feed": Target(
        lambda data: websocket.AcceptedWebSocket("/", lambda: {}).feed(data)
    ),
    "runtime.endpoint.keystore:parse": Target(keystore.parse),
    "runtime.endpoint.resolve:parse_link": Target(texts(resolve.parse_link), (UsageError,)),
    "runtime.tls.authority:CertificateAuthority.parse": Target(
        again(CertificateAuthority.parse, CertificateAuthority.serialize)
    ),
    "runtime.tls.authority:read_authority": Target(read_authority),
    "runtime.tls.certificate:Credential.parse": Target(Credential.parse),
    "runtime.tls.certificate:SigningRequest.parse": Target(SigningRequest.parse),
    "runtime.tls.certificate:read_key": Target(read_key),
    "store.hot.snapshot:parse": Target(snapshot.parse),
    "web.accounts.factors.authenticator_data:AuthenticatorData.parse": Target(
        AuthenticatorData.parse
    ),
    "web.accounts.factors.base64url:decode": Target(texts(base64url.decode)),
    "web.accounts.factors.cbor:parse": Target(cbor.parse),
    "web.accounts.factors.cbor:parse_from": Target(lambda data: cbor.parse_from(data, 0)),
    "web.accounts.factors.cose:parse_key": Target(cose.parse_key),
    "web.accounts.factors.webauthn:read_client_data": Target(webauthn.read_client_data),
}

# No parsers, but what strangers' packets drive.
MACHINES = {"crow.pubsub.broker_node:BrokerNode": Target(crow_broker.run)}
TARGETS = {**MACHINES, **{f"wire.{name}": target for name, target in WIRE.items()}, **OTHERS}

EXCEPT = {
    "identity.cipher_set:CipherSession.open": "a protocol; each set has its own",
    "identity.cipher_set:LocalKey.open": "a protocol; each set has its own",
    "identity.cs40_session:Opening40.open": "a phase of Session40, which is fuzzed",
    "link.session.exchange:Exchange.open": "passes on to the session of its set",
    "runtime.endpoint.gates.framing:Framing.feed": "a protocol; each framing has its own",
    "link.channels.sock_rules:SockRule.parse": "an operator's own setting",
    "mesh.files.folder:FolderRule.parse": "an operator's own setting",
    "mesh.proxy.rules:SerialRule.parse": "an operator's own setting",
    "runtime.endpoint.channels.thtp_proxy:HttpOrigin.parse": "an operator's own setting",
    "crow.pubsub.patterns:Patterns.open": "a table of names, which it does not read",
    "crow.pubsub.themes:Themes.open": "a table of names, which it does not read",
    "runtime.crow.gates.codec:CrowGateCodec.read": "calls both parsers of crow packets",
    "runtime.endpoint.gates.tls:TlsLayer.feed": "OpenSSL reads it",
}
