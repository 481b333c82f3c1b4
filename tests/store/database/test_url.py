"""What an operator may write, and what is said to a wrong one."""

from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.store.database.url import database_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqlite:///hub.db", "sqlite+aiosqlite:///hub.db"),
        ("sqlite:////var/hub.db", "sqlite+aiosqlite:////var/hub.db"),
        ("mysql://u:p@h/d", "mysql+asyncmy://u:p@h/d?charset=utf8mb4"),
        ("mariadb://u:p@h:1/d", "mysql+asyncmy://u:p@h:1/d?charset=utf8mb4"),
        ("mysql://u@h/d", "mysql+asyncmy://u:elsewhere@h/d?charset=utf8mb4"),
        (
            "mysql://u:p@/d?unix_socket=/run/s",
            "mysql+asyncmy://u:p@/d?charset=utf8mb4&unix_socket=%2Frun%2Fs",
        ),
    ],
)
def test_urls_are_understood(text: str, expected: str) -> None:
    url = database_url(text, {"ROOKERY_DATABASE_PASSWORD": "elsewhere"})
    assert url.render_as_string(hide_password=False) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hub.db",
        "postgresql://u:secret@h/d",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///hub.db?mode=secret",
        "sqlite://host/hub.db",
        "mysql://u:secret@h",
        "mysql://u:secret@/d",
        "mysql://u:secret@h:port/d",
        "mysql://u:secret@h/d?echo=1",
        "mysql+pymysql://u:secret@h/d",
    ],
)
def test_other_urls_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        database_url(text, {})
    assert "secret" not in str(caught.value)


def test_a_password_file_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no password in"):
        database_url(f"mysql://u@h/d?password_file={tmp_path / 'none'}", {})
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="no password in"):
        database_url(f"mysql://u@h/d?password_file={tmp_path / 'bytes'}", {})
