"""Hubs and impostors with certificates, for the command line to meet."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.certificate import Credential, new_key
from tests.cli.program import Outcome, rookery, running

PASSWORD = b"correct horse battery\n"


class AutoHub(NamedTuple):
    """One with an authority of its own."""

    url: str
    fingerprint: str  # as it printed it
    link: str


@contextmanager
def auto_hub(folder: Path, http: str = "127.0.0.1:0") -> Iterator[AutoHub]:
    places = ["--http", http, "--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]
    with running("hub", "--data", folder, "--tls", "auto", *places) as hub:
        line = hub.line()
        paths = {path["type"]: path for path in json.loads(line)["paths"]}
        line_of_authority = hub.error_line().strip()
        assert line_of_authority.startswith("certificate authority SHA256:")
        yield AutoHub(str(paths["http"]["url"]).rstrip("/"), line_of_authority.split()[-1], line)


def sign_in(url: str, data: Path, *options: str | Path) -> Outcome:
    arguments = ("login", url, "--login", "ann", "--data", data, *options)
    return rookery(*arguments, stdin=PASSWORD)


class _Impostor(BaseHTTPRequestHandler):
    shown = b""
    posted: list[str]

    def do_GET(self) -> None:
        is_asked = self.path == "/authority.pem" and self.shown
        self.send_response(200 if is_asked else 404)
        self.end_headers()
        if is_asked:
            self.wfile.write(self.shown)

    def do_POST(self) -> None:
        self.posted.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def impostor(
    folder: Path,
    authority: CertificateAuthority,
    *,
    names: tuple[str, ...] = ("127.0.0.1",),
    ago_s: float = 0.0,
    server: str = "",
    shown: bytes = b"",
) -> Iterator[str]:
    """Something that answers with a certificate of that authority, made so long ago.

    Nothing must ever be posted to it: what is posted has a password in it.
    """
    key = new_key()
    made = authority.issue(
        key.public_key(), names, time.time() - ago_s, server=server, lifetime_s=86_400
    )
    file = folder / "impostor.pem"
    file.write_bytes(Credential(key, (made, authority.certificate)).serialize())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    posted: list[str] = []
    handler = type("Impostor", (_Impostor,), {"shown": shown, "posted": posted})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    listener.socket = context.wrap_socket(
        listener.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.server_port}"
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
    assert posted == []
