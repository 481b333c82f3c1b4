"""Link addresses: how to reach an endpoint, as a URI, as JSON or as a bare hashname.

    link://192.0.2.1:42424/?cs3a=<base32 key>&paths=<base32 of a JSON path>&hashname=<hashname>
    {"hashname":"…","keys":{"3a":"<base32>"},"paths":[{"type":"udp4","ip":"192.0.2.1","port":42424}]}
    <hashname>

The link of a hub also has `stream=40`, or `"stream":"40"`: its sealed streams take that cipher set,
and whoever has it, too, uses no other.

Host and port of a URI stand for a path over every transport. A host that is a name is kept
for a layer that can resolve it. Whether keys and hashname agree is not checked here.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from ipaddress import ip_address
from typing import Self
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import msgspec

from rookery.errors import DecodeError
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import (
    NetPath,
    Path,
    UrlPath,
    is_local,
    net_path,
    parse_own_path,
    parse_path,
)
from rookery.wire.siphash import DIGEST_SIZE, KEY_SIZE, siphash_js

DEFAULT_PORT = 42424
TEXT_SIZE_MAX = 8192
KEYS_MAX = 8
PATHS_MAX = 32

_HASHNAME_SIZE = 52
_HOST_SIZE_MAX = 253
_KEY_NAME = re.compile("cs[0-9a-f]{2}")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(JsonObject).decode


class LinkAddress(msgspec.Struct, frozen=True):
    """The known paths, keys and hashname of an endpoint."""

    hashname: str | None = None
    keys: dict[int, bytes] = {}  # by CSID
    paths: tuple[Path, ...] = ()
    host: str = ""  # a name that is still to be resolved; `host_paths` takes the result
    port: int = DEFAULT_PORT
    fragment: str = ""
    stream: int = 0  # CSID that its sealed streams take, of a hub; 0: the link does not say

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URI, JSON link or hashname, or raise DecodeError."""
        if len(text) > TEXT_SIZE_MAX:
            raise DecodeError(f"a link address of {len(text)} characters")
        text = text.strip()
        if text.startswith("{"):
            return cls._parse_json(text)
        if "://" in text:
            return cls._parse_uri(text)
        return cls(_hashname(text))

    @classmethod
    def of_json(cls, link: Mapping[str, object], *, is_own: bool = False) -> Self:
        """Read a JSON link; paths of unknown transports are left out.

        `is_own` if it came from this machine's user: then sockets of the machine count as well.
        """
        hashname, keys, paths = link.get("hashname"), link.get("keys"), link.get("paths")
        return cls(
            None if hashname is None else _hashname(hashname),
            _keys({} if keys is None else keys),
            _paths([] if paths is None else paths, parse_own_path if is_own else parse_path),
            stream=_stream(link.get("stream")),
        )

    @classmethod
    def _parse_json(cls, text: str) -> Self:
        try:
            link = _decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise DecodeError("the link is not a JSON object") from error
        return cls.of_json(link, is_own=True)

    @classmethod
    def _parse_uri(cls, text: str) -> Self:
        parts, host, port = _split(text)
        query = parse_qsl(parts.query)
        keys = {name[2:]: value for name, value in query if _KEY_NAME.fullmatch(name)}
        paths = [_path_json(value) for name, value in query if name == "paths"]
        hashname = dict(query).get("hashname")
        at_host = host_paths(host, port) if host else ()
        return cls(
            None if hashname is None else _hashname(hashname),
            _keys(keys),
            tuple(dict.fromkeys((*at_host, *_paths(paths, parse_own_path)))),
            "" if any(isinstance(path, NetPath) for path in at_host) else host,
            port,
            parts.fragment,
            _stream(dict(query).get("stream")),
        )

    def elsewhere(self) -> Self:
        """Without what means something on this machine only: what others may be told."""
        paths = tuple(path for path in self.paths if not is_local(path))
        return msgspec.structs.replace(self, paths=paths)

    def json(self) -> JsonObject:
        link: JsonObject = {} if self.hashname is None else {"hashname": self.hashname}
        link["keys"] = {f"{csid:02x}": base32.encode(key) for csid, key in _ordered(self.keys)}
        link["paths"] = [path.json() for path in self.paths]
        if self.stream:
            link["stream"] = f"{self.stream:02x}"
        return link

    def uri(self) -> str:
        """One URI with all of it; the first path with an address becomes its host and port."""
        host, port = self.host, self.port
        if not host:
            first = next((path for path in self.paths if isinstance(path, NetPath)), None)
            host, port = (first.ip, first.port) if first else ("", port)
        implied = host_paths(host, port) if host else ()
        others = [path.json() for path in self.paths if path not in implied]
        uri = with_keys(f"link://{_authority(host, port)}/", self.keys)
        if self.hashname is not None:
            uri = _with_query(uri, [("hashname", self.hashname)])
        if self.stream:
            uri = _with_query(uri, [("stream", f"{self.stream:02x}")])
        uri = with_paths(uri, others)
        return f"{uri}#{self.fragment}" if self.fragment else uri


def host_paths(host: str, port: int) -> tuple[Path, ...]:
    """A path over every transport; a name has only its URL until it is resolved."""
    url = UrlPath(f"http://{_authority(host, port)}")
    try:
        ip = str(ip_address(host))
    except ValueError:
        return (url,)
    return (net_path("udp", ip, port), net_path("tcp", ip, port), url)


def with_keys(uri: str, keys: Mapping[int, bytes]) -> str:
    """The URI with public keys added to its query, lowest CSID first."""
    pairs = [(f"cs{csid:02x}", base32.encode(key)) for csid, key in _ordered(keys)]
    return _with_query(uri, pairs)


def with_paths(uri: str, paths: Iterable[JsonObject]) -> str:
    """The URI with paths in their JSON form added to its query."""
    return _with_query(uri, [("paths", base32.encode(_encode(path))) for path in paths])


def with_fragment(uri: str, hashname: str, secret: bytes) -> str:
    """The URI with a secret tied to the hashname of the endpoint it leads to."""
    base, _, _ = uri.partition("#")
    return f"{base}#{base32.encode(secret + _fragment_proof(hashname, secret))}"


def fragment_secret(fragment: str, hashname: str) -> bytes:
    """The secret inside a fragment made by `with_fragment`, or DecodeError."""
    data = base32.decode(fragment)
    secret, proof = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if not compare_digest(_fragment_proof(hashname, secret), proof):
        raise DecodeError("the fragment was not made for this hashname")
    return secret


def _fragment_proof(hashname: str, secret: bytes) -> bytes:
    return siphash_js(base32.decode(hashname)[:KEY_SIZE], secret)


def _split(text: str) -> tuple[SplitResult, str, int]:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise DecodeError("the link is not a URI") from error
    if len(host) > _HOST_SIZE_MAX or port == 0:
        raise DecodeError("the host or port of the link is out of range")
    return parts, host, port or DEFAULT_PORT


def _with_query(uri: str, pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return uri
    base, mark, fragment = uri.partition("#")
    return base + ("&" if "?" in base else "?") + urlencode(pairs) + mark + fragment


def _authority(host: str, port: int) -> str:
    if not host:
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _ordered(keys: Mapping[int, bytes]) -> list[tuple[int, bytes]]:
    return sorted(keys.items())


def _hashname(value: object) -> str:
    if not isinstance(value, str) or len(value) != _HASHNAME_SIZE:
        raise DecodeError("not a hashname, a URI or a JSON link")
    base32.decode(value)
    return value


def _keys(value: object) -> dict[int, bytes]:
    if not isinstance(value, dict) or len(value) > KEYS_MAX:
        raise DecodeError(f"keys must be a JSON object of up to {KEYS_MAX}")
    keys = {}
    for csid, key in value.items():
        if not isinstance(csid, str) or not isinstance(key, str) or not key:
            raise DecodeError("a key must be base32 text")
        keys[_csid(csid)] = base32.decode(key)
    return keys


def _stream(value: object) -> int:
    if value is None:
        return 0
    if not isinstance(value, str):
        raise DecodeError("a CSID is two hex digits")
    return _csid(value)


def _csid(text: str) -> int:
    try:
        data = bytes.fromhex(text)
    except ValueError as error:
        raise DecodeError("a CSID is two hex digits") from error
    if data.hex() != text or len(data) != 1 or data == b"\0":
        raise DecodeError("a CSID is two hex digits")
    return data[0]


def _path_json(text: str) -> object:
    try:
        return _decode(base32.decode(text))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DecodeError("a path of the URI is not JSON") from error


def _paths(value: object, parse: Callable[[object], Path]) -> tuple[Path, ...]:
    if not isinstance(value, list) or len(value) > PATHS_MAX:
        raise DecodeError(f"paths must be a JSON array of up to {PATHS_MAX}")
    paths = []
    for item in value:
        try:
            paths.append(parse(item))
        except DecodeError:
            continue  # a transport that is unknown here
    return tuple(paths)
