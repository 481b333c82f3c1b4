"""Options of a hub about alerts: checked before it starts, secrets nowhere in the open (F14)."""

from pathlib import Path

import pytest

from rookery.cli.fleet.alert_options import AlertOptions
from rookery.cli.fleet.alerts import mute_seconds
from rookery.errors import UsageError

SECRET = {"ROOKERY_ALERT_SECRET": "0123456789abcdef"}
MAIL = AlertOptions(mail=("ops@example.org",), smtp="smtp://mail.example", sender="hub@example.org")


def test_without_options_there_is_no_channel() -> None:
    settings = AlertOptions().settings({})
    assert (settings.channels, settings.least) == ((), "warning")


def test_webhooks_from_both_places_once_each_with_the_secret() -> None:
    options = AlertOptions(webhooks=("https://a.example/x", "https://b.example/"))
    environment = SECRET | {"ROOKERY_ALERT_WEBHOOKS": "https://b.example/ http://127.0.0.1:9/h"}
    settings = options.settings(environment)
    assert [each.url for each in settings.webhooks] == [
        *("https://a.example/x", "https://b.example/", "http://127.0.0.1:9/h"),
    ]
    assert {each.secret for each in settings.webhooks} == {b"0123456789abcdef"}
    assert len(set(settings.channels)) == 3


def test_a_secret_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("fedcba9876543210\n")
    options = AlertOptions(webhooks=("https://a.example/x",), secret_file=file)
    assert options.settings(SECRET).webhooks[0].secret == b"fedcba9876543210"


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (AlertOptions(webhooks=("https://a.example/x",)), {}, "needs a secret"),
        (
            AlertOptions(webhooks=("https://a.example/x",)),
            {"ROOKERY_ALERT_SECRET": "short"},
            "needs a secret",
        ),
        (AlertOptions(webhooks=("ftp://a.example/x",)), SECRET, "http or https"),
        (
            AlertOptions(webhooks=("https://a.example/x",), secret_file=Path("/nowhere/at/all")),
            SECRET,
            "no secret in",
        ),
        (AlertOptions(mail=("ops@example.org",)), {}, "together"),
        (AlertOptions(smtp="smtp://mail.example"), {}, "together"),
        (AlertOptions(after_s=0.5), {}, "--alert-after"),
        (AlertOptions(after_s=float("nan")), {}, "--alert-after"),
    ],
)
def test_what_cannot_work_is_said_at_once(
    options: AlertOptions, environment: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        options.settings(environment)


def test_mail_takes_server_sender_and_recipients() -> None:
    mailbox = MAIL.settings({}).mailbox
    assert mailbox is not None
    assert (mailbox.host, mailbox.port, mailbox.is_tls) == ("mail.example", 587, False)
    assert (mailbox.sender, mailbox.to) == ("hub@example.org", ("ops@example.org",))
    sealed = AlertOptions(mail=MAIL.mail, smtp="smtps://hub@mail.example", sender=MAIL.sender)
    mailbox = sealed.settings({"ROOKERY_SMTP_PASSWORD": "hush"}).mailbox
    assert mailbox is not None
    assert (mailbox.port, mailbox.is_tls) == (465, True)
    assert (mailbox.login, mailbox.password) == ("hub", "hush")


@pytest.mark.parametrize(
    "smtp", ["mail.example", "http://mail.example", "smtp://", "smtp://h:x", "smtp://a:pw@h/"]
)
def test_what_is_no_mail_server_is_refused_and_no_password_repeated(smtp: str) -> None:
    options = AlertOptions(mail=MAIL.mail, smtp=smtp, sender=MAIL.sender)
    with pytest.raises(UsageError) as caught:
        options.settings({})
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("45m", 2700), ("8h", 28_800), ("1d", 86_400), ("90", 90), ("0", 0)]
)
def test_spans(text: str, seconds: float) -> None:
    assert mute_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-1h", "1w", "٣h", "٣", "9" * 12])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no length of time"):
        mute_seconds(text)
