"""Static files: read and compressed once, with a hash of all content in their URLs.

    /static/rookery.css?v=0123456789ab     cached for a year
    /static/rookery.css                    revalidated each time, answered by 304

All files share one hash, and references between them (`import … from "/static/live.js"`) carry it,
so that a page never mixes files of two releases.
"""

import gzip
import mimetypes
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
from litestar import Response, get, head
from litestar.params import FromPath

from rookery.web.accounts.access import anyone
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest

URL = "/static/"
_FOLDER = Path(__file__).parent / "static"
_HASH_CHARACTERS = 12
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_KEPT = "public, max-age=31536000, immutable"
_REVALIDATED = "public, no-cache"


class Asset(msgspec.Struct, frozen=True):
    """One file, as it is sent."""

    kind: str
    plain: bytes
    compressed: bytes


class Assets:
    """All files of a folder, in memory."""

    def __init__(self, folder: Path) -> None:
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        whole = sha256()
        for name, data in files.items():
            whole.update(b"%b\0%b" % (name.encode(), sha256(data).digest()))
        self.version = whole.hexdigest()[:_HASH_CHARACTERS]
        self._assets = {name: self._asset(name, data, files) for name, data in files.items()}

    def url(self, name: str) -> str:
        """URL of a file, with the hash; KeyError if there is no such file."""
        self._assets[name]
        return f"{URL}{name}?v={self.version}"

    def find(self, name: str) -> Asset | None:
        return self._assets.get(name)

    @property
    def compressed_bytes(self) -> int:
        """Compressed size of all files that browsers load."""
        loaded = (".js", ".css", ".svg")
        return sum(
            len(asset.compressed) for name, asset in self._assets.items() if name.endswith(loaded)
        )

    def _asset(self, name: str, data: bytes, files: dict[str, bytes]) -> Asset:
        suffix = Path(name).suffix
        if suffix in (".js", ".css") and not name.startswith("vendor/"):
            data = self._referring(data, files)
        kind = _KINDS.get(suffix) or mimetypes.guess_type(name)[0] or "text/plain"
        return Asset(kind, data, gzip.compress(data, 9, mtime=0))

    def _referring(self, data: bytes, files: dict[str, bytes]) -> bytes:
        for name in files:
            reference = f'"{URL}{name}"'.encode()
            data = data.replace(reference, f'"{URL}{name}?v={self.version}"'.encode())
        return data


@cache
def assets() -> Assets:
    """The files of the installed package."""
    return Assets(_FOLDER)


@get(URL + "{file_path:path}", opt=anyone(), include_in_schema=False)
async def static_file(request: AnyRequest, file_path: FromPath[str]) -> Response[bytes]:
    """A file of the pages."""
    asset = assets().find(file_path.removeprefix("/"))
    if asset is None:
        raise RequestRefusedError(404, "unknown", "there is no such file")
    headers = _headers(request)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(b"", status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(asset.plain, media_type=asset.kind, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(asset.compressed, media_type=asset.kind, headers=headers)


@head(URL + "{file_path:path}", opt=anyone(), include_in_schema=False)
async def static_head(request: AnyRequest, file_path: FromPath[str]) -> Response[None]:
    """Headers of a file alone."""
    asset = assets().find(file_path.removeprefix("/"))
    if asset is None:
        raise RequestRefusedError(404, "unknown", "there is no such file")
    return Response(None, media_type=asset.kind, headers=_headers(request))


def _headers(request: AnyRequest) -> dict[str, str]:
    version = assets().version
    is_named = request.query_params.get("v") == version
    return {
        "ETag": f'"{version}"',
        "Cache-Control": _KEPT if is_named else _REVALIDATED,
        "Vary": "Accept-Encoding",
    }


HANDLERS = (static_file, static_head)
