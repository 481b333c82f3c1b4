"""Targets for `wire`."""

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire import artifact, base32, observation, observation_content
from rookery.wire.crow import address as crow_address
from rookery.wire.crow import channel, gstuff, message, node, packet, pubsub
from rookery.wire.fleet import datagrams as fleet
from rookery.wire.fleet import forecast, mac, telemetry, tlv
from rookery.wire.link import chunking, cloak, framing, lob, path, renewal, uri
from rookery.wire.mesh import (
    advice,
    certificate,
    companion,
    echo,
    file_frames,
    flood,
    forward,
    ping,
    probe,
    record,
    revocation,
    statement,
    stream_opening,
    tunnel_packet,
    tunnel_reader,
)
from rookery.wire.outbox import reader, request
from tests.fuzz.target import Target, again, framed, heads, pieces, texts

_STREAM_SIZE_MAX = 1 << 16


def _observed(data: bytes) -> object:
    return observation_content.decode(data[0] if data else 0, data[1:])


def _path(data: bytes) -> object:
    """As a peer's and as this machine's user's."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("no JSON") from error
    own = path.parse_own_path(value)
    assert isinstance(own, path.UnixPath) or own == path.parse_path(value)
    return own


def _request(data: bytes) -> object:
    return request.parse_request(data, 0, len(data))


def _address(text: str) -> None:
    address = crow_address.parse(text)
    assert crow_address.parse(crow_address.format(address)) == address


def _mac(text: str) -> None:
    value = mac.parse_mac(text)
    assert mac.parse_mac(mac.mac_text(value)) == value


def _base32(text: str) -> None:
    value = base32.decode(text)
    assert base32.decode(base32.encode(value)) == value


WIRE = {
    "mesh.advice:Advice.parse": Target(advice.Advice.parse),
    "artifact:Artifact.parse": Target(again(artifact.Artifact.parse, artifact.Artifact.serialize)),
    "base32:decode": Target(texts(_base32)),
    "mesh.companion:CompanionFrame.parse": Target(
        framed(companion.CompanionFrame.parse, companion.CompanionFrame.serialize)
    ),
    "mesh.certificate:Certificate.parse": Target(
        again(certificate.Certificate.parse, certificate.Certificate.content)
    ),
    "mesh.certificate:parse_issuer": Target(certificate.parse_issuer),
    "link.chunking:Dechunker.feed": Target(
        pieces(lambda: chunking.Dechunker(_STREAM_SIZE_MAX).feed)
    ),
    "link.cloak:reveal": Target(cloak.reveal),
    "crow.address:parse": Target(texts(_address), (UsageError,)),
    "crow.channel:parse_channel_frame": Target(
        again(channel.parse_channel_frame, lambda value: value.serialize())
    ),
    "crow.message:Consume.parse": Target(again(message.Consume.parse, message.Consume.serialize)),
    "crow.node:NodePacket.parse": Target(again(node.NodePacket.parse, node.NodePacket.serialize)),
    "crow.packet:CrowPacket.parse": Target(
        again(packet.CrowPacket.parse, packet.CrowPacket.serialize)
    ),
    "crow.packet:CrowPacket.parse_v0": Target(
        again(packet.CrowPacket.parse_v0, packet.CrowPacket.serialize_v0)
    ),
    "crow.pubsub:PubSubQuery.parse": Target(
        again(pubsub.PubSubQuery.parse, pubsub.PubSubQuery.serialize)
    ),
    "crow.pubsub:parse": Target(again(pubsub.parse, lambda value: value.serialize())),
    "crow.pubsub:parse_legacy": Target(pubsub.parse_legacy),
    "mesh.echo:EchoRequest.parse": Target(
        again(echo.EchoRequest.parse, echo.EchoRequest.serialize)
    ),
    "mesh.echo:EchoReply.parse": Target(again(echo.EchoReply.parse, echo.EchoReply.serialize)),
    "mesh.file_frames:FrameReader.feed": Target(lambda data: file_frames.FrameReader().feed(data)),
    "fleet.datagrams:ReportDatagram.parse": Target(fleet.ReportDatagram.parse),
    "fleet.datagrams:ReportDatagram.read": Target(fleet.ReportDatagram.read),
    "fleet.datagrams:HelloDatagram.parse": Target(fleet.HelloDatagram.parse),
    "fleet.datagrams:SealedSecret.parse": Target(fleet.SealedSecret.parse),
    "fleet.datagrams:IssuedSecret.parse": Target(
        again(fleet.IssuedSecret.parse, fleet.IssuedSecret.serialize)
    ),
    "fleet.datagrams:AckDatagram.parse": Target(fleet.AckDatagram.parse),
    "fleet.datagrams:CallDatagram.parse": Target(fleet.CallDatagram.parse),
    "fleet.datagrams:FaultDatagram.parse": Target(fleet.FaultDatagram.parse),
    "mesh.flood:Statements.parse": Target(
        framed(flood.Statements.parse, flood.Statements.serialize)
    ),
    "mesh.flood:parse_digest": Target(framed(flood.parse_digest, lambda value: value.serialize())),
    "mesh.flood:Summary.parse": Target(framed(flood.Summary.parse, flood.Summary.serialize)),
    "mesh.flood:Want.parse": Target(framed(flood.Want.parse, flood.Want.serialize)),
    "fleet.forecast:Forecast.parse": Target(forecast.Forecast.parse),
    "mesh.forward:Forward.parse": Target(
        framed(forward.Forward.parse, lambda value: (value.head(), value.body()))
    ),
    "mesh.forward:PathError.parse": Target(
        again(forward.PathError.parse, forward.PathError.serialize)
    ),
    "link.framing:Deframer.feed": Target(pieces(lambda: framing.Deframer().feed)),
    "crow.gstuff:GstuffDeframer.feed": Target(
        pieces(lambda: gstuff.GstuffDeframer(gstuff.V1, _STREAM_SIZE_MAX).feed)
    ),
    "link.lob:Packet.parse": Target(again(lob.Packet.parse, lob.Packet.serialize)),
    "fleet.mac:parse_mac": Target(texts(_mac)),
    "observation:Observation.parse": Target(
        again(observation.Observation.parse, observation.Observation.serialize)
    ),
    "observation_content:decode": Target(_observed),
    "mesh.stream_opening:StreamOpening.parse": Target(stream_opening.StreamOpening.parse),
    "outbox.reader:OutboxFrameReader.feed": Target(pieces(lambda: reader.OutboxFrameReader().feed)),
    "outbox.reader:parse_frame": Target(reader.parse_frame),
    "outbox.request:parse_request": Target(_request),
    "link.path:parse_own_path": Target(_path),
    "link.path:parse_path": Target(_path),
    "mesh.ping:Ping.parse": Target(framed(ping.Ping.parse)),
    "mesh.ping:Pong.parse": Target(framed(ping.Pong.parse)),
    "mesh.probe:Probe.parse": Target(framed(probe.Probe.parse)),
    "mesh.probe:Probed.parse": Target(framed(probe.Probed.parse)),
    "mesh.record:Record.parse": Target(again(record.Record.parse, record.Record.serialize)),
    "link.renewal:RenewalFrame.parse": Target(
        framed(renewal.RenewalFrame.parse, renewal.RenewalFrame.serialize)
    ),
    "mesh.revocation:Revocation.parse": Target(
        again(revocation.Revocation.parse, revocation.Revocation.content)
    ),
    "mesh.statement:Statement.parse": Target(
        again(statement.Statement.parse, statement.Statement.serialize)
    ),
    "fleet.telemetry:decode": Target(telemetry.decode),
    "fleet.tlv:parse_all": Target(tlv.parse_all),
    "fleet.tlv:TlvReader.feed": Target(pieces(lambda: tlv.TlvReader().feed)),
    "mesh.tunnel_packet:TunnelPacket.parse": Target(
        framed(tunnel_packet.TunnelPacket.parse, tunnel_packet.TunnelPacket.serialize)
    ),
    "mesh.tunnel_reader:parse_usual": Target(tunnel_reader.parse_usual),
    "mesh.tunnel_reader:parse_frames": Target(
        lambda data: tunnel_reader.parse_frames(memoryview(data), 0)
    ),
    "link.uri:LinkAddress.parse": Target(texts(uri.LinkAddress.parse)),
    "link.uri:LinkAddress.of_json": Target(heads(uri.LinkAddress.of_json)),
}
