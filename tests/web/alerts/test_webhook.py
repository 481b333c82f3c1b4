"""F14: an alert is posted once, signed, to the address that was set and nowhere else."""

import hashlib
import hmac
import json
import ssl
from pathlib import Path

import pytest

from rookery.errors import UnreachableError, UsageError
from rookery.web.alerts.settings import Webhook
from rookery.web.alerts.webhook import checked_url, post, signature
from tests.patience import PATIENCE_S
from tests.web.certificates import certificate
from tests.web.receivers import HttpReceiver, http_receiver

SECRET = b"0123456789abcdef"
BODY = b'{"version":1,"delivery":"17-42-0"}'
NOW = 1_763_280_000.75


async def sent(receiver: HttpReceiver, url: str = "", timeout_s: float = PATIENCE_S) -> str:
    hook = Webhook(url or receiver.url, SECRET)
    return await post(hook, "17-42-0", BODY, now=NOW, timeout_s=timeout_s)


async def test_what_arrives_is_the_body_with_its_key_and_a_signature_that_holds() -> None:
    async with http_receiver() as receiver:
        assert await sent(receiver) == "204"
    (posted,) = receiver.posted
    assert posted.line == "POST /hook?room=1 HTTP/1.1"
    assert posted.body == BODY
    assert posted.headers["Content-Type"] == "application/json"
    assert posted.headers["Rookery-Delivery"] == "17-42-0"
    stamp, mac = (part.partition("=")[2] for part in posted.headers["Rookery-Signature"].split(","))
    signed = stamp.encode() + b"." + posted.body
    assert hmac.compare_digest(mac, hmac.new(SECRET, signed, hashlib.sha256).hexdigest())
    assert int(stamp) == int(NOW)


def test_the_signature_is_that_of_the_vector() -> None:
    """The same as in docs/protocol/http-api.md, which others are written by."""
    file = Path(__file__).parents[2] / "vectors" / "alert-webhook.json"
    vector = json.loads(file.read_text())
    made = signature(vector["secret"].encode(), vector["body"].encode(), vector["timestamp"])
    assert made == vector["signature"]
    page = Path(__file__).parents[3] / "docs" / "protocol" / "http-api.md"
    for part in (vector["secret"], vector["body"], vector["signature"]):
        assert part in page.read_text()


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 500, 503])
async def test_anything_but_success_is_a_failure_and_no_redirection_is_followed(
    status: int,
) -> None:
    async with http_receiver() as receiver:
        receiver.statuses = [status]
        with pytest.raises(UnreachableError, match=f"answered with {status}"):
            await sent(receiver)
    assert [posted.line for posted in receiver.posted] == ["POST /hook?room=1 HTTP/1.1"]


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n", b"\r\n", b"x" * 20_000]
)
async def test_what_does_not_speak_http_is_a_failure(answer: bytes) -> None:
    async with http_receiver() as receiver:
        receiver.answer = answer
        with pytest.raises(UnreachableError):
            await sent(receiver)


async def test_one_that_says_nothing_is_given_up_in_time() -> None:
    async with http_receiver() as receiver:
        receiver.is_mute = True
        with pytest.raises(UnreachableError, match=r"no answer within 0.3 s"):
            await sent(receiver, timeout_s=0.3)


async def test_a_refused_connection_is_a_failure_without_the_url() -> None:
    async with http_receiver() as receiver:
        pass
    with pytest.raises(UnreachableError) as caught:
        await sent(receiver)
    assert "room=1" not in str(caught.value)


async def test_over_tls_only_a_certificate_that_holds_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    async with http_receiver(context) as receiver:
        with pytest.raises(UnreachableError, match="certificate"):
            await sent(receiver)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert await sent(receiver) == "204"
    assert len(receiver.posted) == 1


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "chat.example/x",
            "ftp://host/",
            "file:///etc/passwd",
            "http://",
            "https://:80/",
            "http://[::1",
        ),
        *("http://host:0/", "http://host:99999/", "http://user:pw@host/", "http://host/a b"),
        *("http://host/\r\nX: y", "http://höst/", "http://host/" + "x" * 1024),
    ],
)
def test_what_is_no_webhook_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert not url or url not in str(caught.value)


def test_neither_secret_nor_address_is_shown() -> None:
    hook = Webhook("https://chat.example/hook/t0ken", SECRET)
    for text in (repr(hook), hook.channel):
        assert "t0ken" not in text
        assert "0123" not in text
