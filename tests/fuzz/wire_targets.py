"""Targets for `wire`."""

import msgspec

from rookery.errors import DecodeError, UsageError
from rookery.wire import (
    advice,
    artifact,
    base32,
    beside,
    certificate,
    chunking,
    cloak,
    crow_address,
    crow_channel,
    crow_message,
    crow_node,
    crow_packet,
    crow_pubsub,
    echo,
    file_frames,
    flood,
    forecast,
    forward,
    frame,
    gstuff,
    lob,
    mac,
    observation,
    observed,
    opening,
    outbox_reader,
    outbox_request,
    path,
    ping,
    probe,
    record,
    renewal,
    revocation,
    statement,
    telemetry,
    tlv,
    tunnel,
    tunnel_reader,
    uri,
)
from rookery.wire import fleet_datagrams as fleet
from tests.fuzz.target import Target, again, framed, heads, pieces, texts

_STREAM_SIZE_MAX = 1 << 16


def _observed(data: bytes) -> object:
    return observed.decode(data[0] if data else 0, data[1:])


def _path(data: bytes) -> object:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("no JSON") from error
    return path.parse_path(value)


def _request(data: bytes) -> object:
    return outbox_request.parse_request(data, 0, len(data))


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
    "advice:Advice.parse": Target(advice.Advice.parse),
    "artifact:Artifact.parse": Target(again(artifact.Artifact.parse, artifact.Artifact.serialize)),
    "base32:decode": Target(texts(_base32)),
    "beside:BesideFrame.parse": Target(
        framed(beside.BesideFrame.parse, beside.BesideFrame.serialize)
    ),
    "certificate:Certificate.parse": Target(
        again(certificate.Certificate.parse, certificate.Certificate.content)
    ),
    "certificate:parse_issuer": Target(certificate.parse_issuer),
    "chunking:Dechunker.feed": Target(pieces(lambda: chunking.Dechunker(_STREAM_SIZE_MAX).feed)),
    "cloak:reveal": Target(cloak.reveal),
    "crow_address:parse": Target(texts(_address), (UsageError,)),
    "crow_channel:parse_channel_frame": Target(
        again(crow_channel.parse_channel_frame, lambda value: value.serialize())
    ),
    "crow_message:Consume.parse": Target(
        again(crow_message.Consume.parse, crow_message.Consume.serialize)
    ),
    "crow_node:NodePacket.parse": Target(
        again(crow_node.NodePacket.parse, crow_node.NodePacket.serialize)
    ),
    "crow_packet:Packet.parse": Target(
        again(crow_packet.Packet.parse, crow_packet.Packet.serialize)
    ),
    "crow_packet:Packet.parse_v0": Target(
        again(crow_packet.Packet.parse_v0, crow_packet.Packet.serialize_v0)
    ),
    "crow_pubsub:Query.parse": Target(again(crow_pubsub.Query.parse, crow_pubsub.Query.serialize)),
    "crow_pubsub:parse": Target(again(crow_pubsub.parse, lambda value: value.serialize())),
    "crow_pubsub:parse_legacy": Target(crow_pubsub.parse_legacy),
    "echo:EchoRequest.parse": Target(again(echo.EchoRequest.parse, echo.EchoRequest.serialize)),
    "echo:EchoReply.parse": Target(again(echo.EchoReply.parse, echo.EchoReply.serialize)),
    "file_frames:FrameReader.feed": Target(lambda data: file_frames.FrameReader().feed(data)),
    "fleet_datagrams:Report.parse": Target(fleet.Report.parse),
    "fleet_datagrams:Report.read": Target(fleet.Report.read),
    "fleet_datagrams:Hello.parse": Target(fleet.Hello.parse),
    "fleet_datagrams:SealedSecret.parse": Target(fleet.SealedSecret.parse),
    "fleet_datagrams:Issue.parse": Target(again(fleet.Issue.parse, fleet.Issue.serialize)),
    "fleet_datagrams:Ack.parse": Target(fleet.Ack.parse),
    "fleet_datagrams:Call.parse": Target(fleet.Call.parse),
    "fleet_datagrams:Fault.parse": Target(fleet.Fault.parse),
    "flood:Statements.parse": Target(framed(flood.Statements.parse, flood.Statements.serialize)),
    "flood:parse_digest": Target(framed(flood.parse_digest, lambda value: value.serialize())),
    "flood:Summary.parse": Target(framed(flood.Summary.parse, flood.Summary.serialize)),
    "flood:Want.parse": Target(framed(flood.Want.parse, flood.Want.serialize)),
    "forecast:Forecast.parse": Target(forecast.Forecast.parse),
    "forward:Forward.parse": Target(
        framed(forward.Forward.parse, lambda value: (value.head(), value.body()))
    ),
    "forward:PathError.parse": Target(again(forward.PathError.parse, forward.PathError.serialize)),
    "frame:Deframer.feed": Target(pieces(lambda: frame.Deframer().feed)),
    "gstuff:Deframer.feed": Target(
        pieces(lambda: gstuff.Deframer(gstuff.V1, _STREAM_SIZE_MAX).feed)
    ),
    "lob:Packet.parse": Target(again(lob.Packet.parse, lob.Packet.serialize)),
    "mac:parse_mac": Target(texts(_mac)),
    "observation:Observation.parse": Target(
        again(observation.Observation.parse, observation.Observation.serialize)
    ),
    "observed:decode": Target(_observed),
    "opening:Opening.parse": Target(opening.Opening.parse),
    "outbox_reader:OutboxReader.feed": Target(pieces(lambda: outbox_reader.OutboxReader().feed)),
    "outbox_reader:parse_frame": Target(outbox_reader.parse_frame),
    "outbox_request:parse_request": Target(_request),
    "path:parse_path": Target(_path),
    "ping:Ping.parse": Target(framed(ping.Ping.parse)),
    "ping:Pong.parse": Target(framed(ping.Pong.parse)),
    "probe:Probe.parse": Target(framed(probe.Probe.parse)),
    "probe:Probed.parse": Target(framed(probe.Probed.parse)),
    "record:Record.parse": Target(again(record.Record.parse, record.Record.serialize)),
    "renewal:RenewalFrame.parse": Target(
        framed(renewal.RenewalFrame.parse, renewal.RenewalFrame.serialize)
    ),
    "revocation:Revocation.parse": Target(
        again(revocation.Revocation.parse, revocation.Revocation.content)
    ),
    "statement:Statement.parse": Target(
        again(statement.Statement.parse, statement.Statement.serialize)
    ),
    "telemetry:decode": Target(telemetry.decode),
    "tlv:parse_all": Target(tlv.parse_all),
    "tlv:TlvReader.feed": Target(pieces(lambda: tlv.TlvReader().feed)),
    "tunnel:TunnelPacket.parse": Target(
        framed(tunnel.TunnelPacket.parse, tunnel.TunnelPacket.serialize)
    ),
    "tunnel_reader:parse_usual": Target(tunnel_reader.parse_usual),
    "tunnel_reader:parse_frames": Target(
        lambda data: tunnel_reader.parse_frames(memoryview(data), 0)
    ),
    "uri:LinkAddress.parse": Target(texts(uri.LinkAddress.parse)),
    "uri:LinkAddress.of_json": Target(heads(uri.LinkAddress.of_json)),
}
