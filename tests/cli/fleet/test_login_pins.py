"""`rookery login` against hubs with an authority of their own: asked once, then held to it (M7)."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rookery.client.known_hubs import FILE_NAME
from rookery.runtime.tls.authority import CertificateAuthority
from tests.cli.fleet.tls_hub import auto_hub, impostor, sign_in
from tests.cli.program import PROGRAM, rookery, running
from tests.patience import PATIENCE_S

AUTHORITY = CertificateAuthority.make("abcdefgh", time.time() - 30 * 86_400)


def test_an_unknown_authority_is_pinned_by_its_fingerprint_and_a_changed_one_refused(
    tmp_path: Path,
) -> None:
    ann = tmp_path / "ann"
    with auto_hub(tmp_path / "hub") as hub:
        unknown = sign_in(hub.url, ann, "--register")
        assert unknown.code == 4
        assert f"sign in with --fingerprint {hub.fingerprint}" in unknown.complaint()
        other = CertificateAuthority.make("other", time.time()).fingerprint
        wrong = sign_in(hub.url, ann, "--register", "--fingerprint", other)
        assert wrong.code == 4
        assert f"shows the authority {hub.fingerprint}" in wrong.complaint()
        assert not (ann / FILE_NAME).exists()

        assert sign_in(hub.url, ann, "--register", "--fingerprint", hub.fingerprint).code == 0
        assert (ann / FILE_NAME).stat().st_mode & 0o777 == 0o600
        assert rookery("devices", "--data", ann).code == 0
        assert rookery("login", "--logout", "--data", ann).code == 0
        assert sign_in(hub.url, ann).code == 0  # the pin outlives the sign-in

    place = urlsplit(hub.url).netloc
    with auto_hub(tmp_path / "swapped", place) as swapped:
        assert swapped.fingerprint != hub.fingerprint
        for refused in (
            sign_in(swapped.url, ann),
            rookery("devices", "--data", ann),
            rookery("rpc", "02:fc:00:00:00:01", "system.uptime", "--data", ann),
            rookery("connect", "02:fc:00:00:00:01", "--data", ann),
        ):
            assert refused.code == 4
            output = refused.complaint()
            assert f"THE AUTHORITY OF {swapped.url} HAS CHANGED" in output
            assert hub.fingerprint in output
            assert "--fingerprint SHA256:" in output
        on_purpose = sign_in(swapped.url, ann, "--register", "--fingerprint", swapped.fingerprint)
        assert on_purpose.code == 0
        assert rookery("devices", "--data", ann).code == 0

    with auto_hub(tmp_path / "swapped", place) as again:  # a restart keeps the authority
        assert again.fingerprint == swapped.fingerprint
        assert rookery("devices", "--data", ann).code == 0


def asked_at_a_terminal(url: str, data: Path, answer: str, *options: str) -> tuple[int, str]:
    """What the program says to a person who answers like that, and its exit code."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    done = subprocess.run(
        [PROGRAM, "login", url, "--login", "ann", "--data", data, *options],
        stdin=theirs,
        capture_output=True,
        env={**os.environ, "ROOKERY_PASSWORD": "correct horse battery"},
        timeout=PATIENCE_S,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    return done.returncode, done.stderr.decode()


def test_a_person_is_asked_once(tmp_path: Path) -> None:
    ann = tmp_path / "ann"
    with auto_hub(tmp_path / "hub") as hub:
        code, output = asked_at_a_terminal(hub.url, ann, "no\n", "--register")
        assert code == 4
        assert hub.fingerprint in output
        assert not (ann / FILE_NAME).exists()
        code, output = asked_at_a_terminal(hub.url, ann, "yes\n", "--register")
        assert code == 0
        assert hub.fingerprint in output
        assert urlsplit(hub.url).netloc in json.loads((ann / FILE_NAME).read_text())["hubs"]
        code, output = asked_at_a_terminal(hub.url, ann, "")
        assert code == 0
        assert "SHA256" not in output


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"ago_s": 2 * 86_400}, ("has expired", "have it renewed there")),
        ({"ago_s": -3 * 86_400}, ("is not valid yet", "set the clock right")),
        ({"names": ("192.0.2.1",)}, ("is for another name or address", "--tls-name")),
        ({"server": "s" * 52}, ("certificate of a server, not of the hub",)),
    ],
)
def test_an_invalid_certificate_is_one_line(
    made: dict[str, object], said: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_bytes(AUTHORITY.pem)
    with impostor(tmp_path, AUTHORITY, **made) as url:  # type: ignore[arg-type]
        refused = sign_in(url, tmp_path / "ann", "--ca", tmp_path / "ca.pem")
    assert refused.code == 4
    for text in said:
        assert text in refused.complaint()


def test_an_authority_that_shows_no_certificate_needs_a_file(tmp_path: Path) -> None:
    with impostor(tmp_path, AUTHORITY) as url:
        for options in ((), ("--fingerprint", AUTHORITY.fingerprint)):
            refused = sign_in(url, tmp_path / "ann", *options)
            assert refused.code == 4
            assert "--ca FILE" in refused.complaint()


def test_showing_the_authority_of_another_is_not_enough(tmp_path: Path) -> None:
    """In between, with a certificate of its own: the fingerprint that it shows is the right one."""
    own = CertificateAuthority.make("abcdefgh", time.time())
    with impostor(tmp_path, own, shown=AUTHORITY.pem) as url:
        refused = sign_in(url, tmp_path / "ann", "--fingerprint", AUTHORITY.fingerprint)
        assert refused.code == 4
        assert not (tmp_path / "ann").exists()
        code, output = asked_at_a_terminal(url, tmp_path / "ann", "yes\n")
        assert code == 4
        assert "yes/no" not in output
        assert not (tmp_path / "ann").exists()


def test_a_port_without_tls_is_named_as_such(tmp_path: Path) -> None:
    places = [f"--{kind}=127.0.0.1:0" for kind in ("http", "udp", "tcp")]
    with running("hub", "--data", tmp_path / "hub", *places) as hub:
        paths = {path["type"]: path for path in json.loads(hub.line())["paths"]}
        url = str(paths["http"]["url"]).replace("http:", "https:").rstrip("/")
        refused = sign_in(url, tmp_path / "ann")
    assert refused.code == 4
    assert "speaks no TLS" in refused.complaint()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fingerprint", "SHA256:12"), "64 hexadecimal digits"),
        (("--fingerprint", "SHA256:" + "AB" * 32, "--ca", "x"), "give one of them"),
    ],
)
def test_options_that_will_not_do_are_refused(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    refused = sign_in("https://127.0.0.1:9", tmp_path, *options)
    assert refused.code == 2
    assert said in refused.complaint()


def test_a_damaged_file_of_known_hubs_is_not_begun_anew(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{")
    refused = sign_in("https://127.0.0.1:9", tmp_path)
    assert refused.code == 2
    assert "is damaged" in refused.complaint()
