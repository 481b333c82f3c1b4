"""`rookery login` over TLS: whom it believes, and what it says when it does not (M7)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.program import Outcome, rookery, running
from tests.web.certificates import certificate


@contextmanager
def tls_hub(folder: Path, certificate_folder: Path) -> Iterator[str]:
    """A hub with a certificate; its URL."""
    certificate_folder.mkdir(exist_ok=True)
    cert, key = certificate(certificate_folder)
    places = [f"--{kind}=127.0.0.1:0" for kind in ("http", "udp", "tcp")]
    with running("hub", "--data", folder, *places, "--tls-cert", cert, "--tls-key", key) as hub:
        paths = {path["type"]: path for path in json.loads(hub.line())["paths"]}
        yield str(paths["http"]["url"]).rstrip("/")


def sign_in(url: str, data: Path, *options: str | Path) -> Outcome:
    arguments = ("login", url, "--login", "ann", "--data", data, *options)
    return rookery(*arguments, stdin=b"correct horse battery\n")


def test_an_authority_is_given_once_and_kept_with_the_sign_in(tmp_path: Path) -> None:
    ann, ours, other = tmp_path / "ann", tmp_path / "ours", tmp_path / "other"
    other.mkdir()
    foreign, _ = certificate(other)
    with tls_hub(tmp_path / "hub", ours) as url:
        unknown = sign_in(url, ann, "--register")
        assert unknown.code == 4
        assert "give it as --ca FILE" in unknown.complaint()
        wrong = sign_in(url, ann, "--register", "--ca", foreign)
        assert wrong.code == 4
        assert "HAS CHANGED" in wrong.complaint()
        assert not (ann / "hub.json").exists()

        assert sign_in(url, ann, "--register", "--ca", ours / "cert.pem").code == 0
        assert rookery("devices", "--data", ann).code == 0
        assert sign_in(url, ann).code == 0  # the authority is still known

        named = url.replace("127.0.0.1", "localhost")
        elsewhere = sign_in(named, ann, "--ca", ours / "cert.pem")
        assert elsewhere.code == 4
        assert "the name or address that its certificate is for" in elsewhere.complaint()

        (ann / "hub.json").write_text(
            json.dumps(
                json.loads((ann / "hub.json").read_text()) | {"authority": foreign.read_text()}
            )
        )
        changed = rookery("devices", "--data", ann)
        assert changed.code == 4
        assert "HAS CHANGED" in changed.complaint()


def test_plain_http_beyond_this_machine_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    refused = sign_in("http://192.0.2.1:8420", tmp_path)
    assert refused.code == 2
    assert "would show password and token" in refused.complaint()


def test_a_file_without_a_certificate_is_no_authority(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing\n")
    refused = sign_in("https://127.0.0.1:9", tmp_path, "--ca", tmp_path / "empty.pem")
    assert refused.code == 2
    assert "holds no certificate" in refused.complaint()
