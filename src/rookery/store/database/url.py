"""Database URL: what an operator writes, as SQLAlchemy wants it.

    sqlite:///hub.db                     a relative path; sqlite:////var/lib/… an absolute one
    mysql://hub@db.example/rookery       and the password in ROOKERY_DATABASE_PASSWORD,
    mysql://hub:secret@db.example/rookery    in the URL,
    mysql://hub@db.example/rookery?password_file=/run/secrets/db  or in a file

`mariadb:` is the same as `mysql:`; `?unix_socket=FILE` takes the place of a host, and with
`?ssl_ca=FILE` only a server with a certificate of that authority is spoken to.
"""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from rookery.errors import UsageError

PASSWORD_VARIABLE = "ROOKERY_DATABASE_PASSWORD"  # noqa: S105 - where it is, not what

_OPTIONS = {"unix_socket", "password_file", "ssl_ca"}


def database_url(text: str, environment: Mapping[str, str]) -> URL:
    """UsageError when it names no database that we can use; its text holds no password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError("this is no database URL; write sqlite:///FILE or mysql://…") from None
    match url.drivername:
        case "sqlite":
            return _sqlite(url)
        case "mysql" | "mariadb":
            return _mysql(url, environment)
        case other:
            raise UsageError(f"{other} is no database we know; there are sqlite and mysql")


def _sqlite(url: URL) -> URL:
    if not url.database or url.database == ":memory:" or url.host or url.query:
        raise UsageError("SQLite needs a file and nothing else: sqlite:///FILE")
    return url.set(drivername="sqlite+aiosqlite")


def _mysql(url: URL, environment: Mapping[str, str]) -> URL:
    if not url.database or not (url.host or "unix_socket" in url.query):
        raise UsageError("MySQL needs a host and a database: mysql://USER@HOST/DATABASE")
    if unknown := sorted(set(url.query) - _OPTIONS):
        raise UsageError(f"unknown in a database URL: {', '.join(unknown)}")
    password = url.password
    if isinstance(file := url.query.get("password_file"), str):
        password = _password(Path(file))
    elif password is None:
        password = environment.get(PASSWORD_VARIABLE)
    bare = url.difference_update_query(["password_file"]).set(drivername="mysql+asyncmy")
    bare = bare.update_query_dict({"charset": "utf8mb4"})
    return bare if password is None else bare.set(password=password)


def _password(file: Path) -> str:
    try:
        return file.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"no password in {file}: {type(error).__name__}") from error
