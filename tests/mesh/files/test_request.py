"""The opening of a stream to `files`: what it may say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.path import FilePath
from rookery.mesh.files.request import FileRequest, GetFileRequest, PutFileRequest, parse_request
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.file_frames import FILE_SIZE_MAX, TransferHave

DIGEST = "0a" * 32
PATH = FilePath("docs", ("a", "b"))
GET = GetFileRequest(PATH, TransferHave(7, DIGEST))


@pytest.mark.parametrize(
    "request_", [GET, PutFileRequest(PATH, 0), PutFileRequest(PATH, FILE_SIZE_MAX)]
)
def test_a_request_reads_back_as_it_was_written(request_: FileRequest) -> None:
    assert parse_request({**request_.meta(), "colour": "blue"}) == request_


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"do": "delete", "path": "docs/a"},
        {"do": "put", "path": "docs/a"},
        {"do": "put", "path": 7, "size": 1},
        {"do": "put", "path": "docs/a", "size": -1},
        {"do": "put", "path": "docs/a", "size": True},
        {"do": "put", "path": "docs/a", "size": FILE_SIZE_MAX + 1},
        {"do": "get", "path": "docs/a", "have": 0},
        {"do": "get", "path": "docs/a", "have": 0, "digest": "no"},
    ],
)
def test_anything_else_is_none(meta: JsonObject) -> None:
    with pytest.raises(DecodeError):
        parse_request(meta)


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "docs/../a", "docs/a\0", "docs"])
def test_a_path_that_is_not_allowed_is_called_so(path: str) -> None:
    with pytest.raises(CopyError) as caught:
        parse_request({"do": "put", "path": path, "size": 1})
    assert caught.value.fault is FileFault.PATH


values = st.none() | st.booleans() | st.integers() | st.text(max_size=9)


@given(st.dictionaries(st.sampled_from(["do", "path", "size", "have", "digest"]), values))
def test_arbitrary_metadata_is_a_request_or_refused(meta: JsonObject) -> None:
    try:
        parse_request(meta)
    except (DecodeError, CopyError):
        return
