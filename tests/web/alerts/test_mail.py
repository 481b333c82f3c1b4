"""F14: an alert as mail, over TLS, to a real server; a password goes nowhere in the clear."""

import email
import email.policy
import ssl
from pathlib import Path

import msgspec
import pytest

from rookery.errors import UnreachableError, UsageError
from rookery.store.alerts.writer import AlertNotice
from rookery.web.alerts import mail
from rookery.web.alerts.mail import checked_address, message, send
from rookery.web.alerts.settings import Mailbox
from tests.patience import PATIENCE_S
from tests.web.certificates import certificate
from tests.web.receivers import mail_receiver

NOTICE = AlertNotice(
    delivery="17-42-1",
    event="raised",
    at=1_763_280_000,
    hub="h" * 52,
    url="https://hub.test/fleet/incidents/17",
    alert={
        "id": 17,
        "key": "k",
        "kind": "devices_silent",
        "severity": "critical",
        "title": "3 devices are silent: site 192.0.2.0/24\r\nBcc: all@example.org — чердак",
        "cause": "site 192.0.2.0/24",
        "entities": ["router 02:fc:00:00:00:01"],
        "note": "3 of 4",
        "since": 1_763_279_000.0,
        "until": None,
    },
)
BOX = Mailbox(
    host="127.0.0.1", port=1, sender="hub@example.org", to=("ops@example.org", "b@example.org")
)


def sealing(folder: Path) -> tuple[ssl.SSLContext, Path]:
    cert, key = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


def to(port: int, login: str = "", password: str = "") -> Mailbox:
    return msgspec.structs.replace(BOX, port=port, login=login, password=password)


async def test_mail_is_sent_after_tls_and_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, cert = sealing(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    async with mail_receiver(context) as receiver:
        box = to(receiver.port, "hub", "hush")
        assert await send(box, NOTICE, timeout_s=PATIENCE_S) == "2 of 2 recipients"
    (letter,) = receiver.letters
    assert letter.is_sealed
    assert letter.login == ("hub", "hush")
    assert (letter.sender, letter.to) == (BOX.sender, list(BOX.to))
    read = email.message_from_string(letter.data, policy=email.policy.default)
    assert read["Message-ID"].startswith("<17-42-1.")
    assert "02:fc:00:00:00:01" in letter.data
    assert NOTICE.url in letter.data


def test_a_name_cannot_add_a_header() -> None:
    made = message(BOX, NOTICE)
    assert made["Bcc"] is None
    assert "Bcc: all@example.org — чердак" in made["Subject"]
    assert made.as_bytes() == message(BOX, NOTICE).as_bytes()  # the same at each attempt


def test_a_mail_about_an_ended_alert_has_its_times() -> None:
    alert = {**NOTICE.alert, "until": 1_763_279_900.0, "cause": "", "note": ""}
    resolved = msgspec.structs.replace(NOTICE, event="resolved", alert=alert, url="")
    text = message(BOX, resolved).get_content()
    assert "until: 2025-11-16 07:58:20 UTC" in text
    assert "cause" not in text


async def test_a_certificate_that_does_not_hold_ends_it(tmp_path: Path) -> None:
    context, _ = sealing(tmp_path)
    async with mail_receiver(context) as receiver:
        with pytest.raises(UnreachableError, match="certificate"):
            await send(to(receiver.port, "hub", "hush"), NOTICE, timeout_s=PATIENCE_S)
    assert receiver.letters == []


async def test_on_loopback_it_may_go_without() -> None:
    async with mail_receiver() as receiver:
        await send(to(receiver.port), NOTICE, timeout_s=PATIENCE_S)
    assert [letter.is_sealed for letter in receiver.letters] == [False]


async def test_elsewhere_it_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if the server were not on loopback, of which there is no other in a test.
    monkeypatch.setattr(mail, "_is_loopback", lambda _host: False)
    async with mail_receiver() as receiver:
        with pytest.raises(UnreachableError, match="no STARTTLS"):
            await send(to(receiver.port), NOTICE, timeout_s=PATIENCE_S)
    assert receiver.letters == []


async def test_an_error_has_the_servers_text_and_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, cert = sealing(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    async with mail_receiver(context) as receiver:
        with pytest.raises(UnreachableError, match="535 no") as caught:
            await send(to(receiver.port, "hub", "wrong secret"), NOTICE, timeout_s=PATIENCE_S)
        assert "wrong secret" not in str(caught.value)
        receiver.refusal = "452 full"
        with pytest.raises(UnreachableError, match="452 full"):
            await send(to(receiver.port), NOTICE, timeout_s=PATIENCE_S)
    assert "hush" not in repr(to(1, "hub", "hush"))


@pytest.mark.parametrize(
    "text", ["", "ops", "@", "ops@", "a@b\r\nBcc: c@d", "ö@example.org", "a b@c"]
)
def test_some_texts_are_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="no address of mail"):
        checked_address(text)
