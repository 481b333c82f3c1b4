"""Request: the metadata with which a stream to service `files` is opened.

{"do":"get","path":"docs/a.txt","have":0,"digest":"…"}     send me this, from where I am
{"do":"put","path":"inbox/a.txt","size":1234}              take this
"""

from collections.abc import Mapping

import msgspec

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.path import FilePath
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.file_frames import Digest, Size, TransferHave


class GetFileRequest(msgspec.Struct, frozen=True):
    """`have` is what the member has of it already."""

    path: FilePath
    have: TransferHave

    def meta(self) -> JsonObject:
        return {
            "do": "get",
            "path": str(self.path),
            "have": self.have.size,
            "digest": self.have.digest,
        }


class PutFileRequest(msgspec.Struct, frozen=True):
    path: FilePath
    size: int

    def meta(self) -> JsonObject:
        return {"do": "put", "path": str(self.path), "size": self.size}


FileRequest = GetFileRequest | PutFileRequest


class _GetFileMeta(msgspec.Struct, tag_field="do", tag="get"):
    path: str
    have: Size
    digest: Digest


class _PutFileMeta(msgspec.Struct, tag_field="do", tag="put"):
    path: str
    size: Size


def parse_request(meta: Mapping[str, object]) -> FileRequest:
    """What a stream was opened for; DecodeError, or CopyError for a path that is not allowed."""
    try:
        parsed: _GetFileMeta | _PutFileMeta = msgspec.convert(
            dict(meta), _GetFileMeta | _PutFileMeta
        )
    except msgspec.ValidationError as error:
        raise DecodeError(f"no request for a file: {error}") from error
    try:
        path = FilePath.parse(parsed.path)
    except DecodeError as error:
        raise CopyError(FileFault.PATH) from error
    if isinstance(parsed, _GetFileMeta):
        return GetFileRequest(path, TransferHave(parsed.have, parsed.digest))
    return PutFileRequest(path, parsed.size)
