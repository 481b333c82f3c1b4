"""Request: the metadata with which a stream to service `files` is opened.

{"do":"get","path":"docs/a.txt","have":0,"digest":"…"}     send me this, from where I am
{"do":"put","path":"inbox/a.txt","size":1234}              take this
"""

from collections.abc import Mapping

import msgspec

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.path import FilePath
from rookery.wire.file_frames import Digest, Have, Size
from rookery.wire.lob import JsonObject


class Get(msgspec.Struct, frozen=True):
    """`have` is what the member has of it already."""

    path: FilePath
    have: Have

    def meta(self) -> JsonObject:
        return {
            "do": "get",
            "path": str(self.path),
            "have": self.have.size,
            "digest": self.have.digest,
        }


class Put(msgspec.Struct, frozen=True):
    path: FilePath
    size: int

    def meta(self) -> JsonObject:
        return {"do": "put", "path": str(self.path), "size": self.size}


Request = Get | Put


class _Get(msgspec.Struct, tag_field="do", tag="get"):
    path: str
    have: Size
    digest: Digest


class _Put(msgspec.Struct, tag_field="do", tag="put"):
    path: str
    size: Size


def parse_request(meta: Mapping[str, object]) -> Request:
    """What a stream was opened for; DecodeError, or CopyError for a path that is not allowed."""
    try:
        asked: _Get | _Put = msgspec.convert(dict(meta), _Get | _Put)
    except msgspec.ValidationError as error:
        raise DecodeError(f"no request for a file: {error}") from error
    try:
        path = FilePath.parse(asked.path)
    except DecodeError as error:
        raise CopyError(FileFault.PATH) from error
    if isinstance(asked, _Get):
        return Get(path, Have(asked.have, asked.digest))
    return Put(path, asked.size)
