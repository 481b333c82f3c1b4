"""The tables: what the database of a hub holds, the same in SQLite and MySQL.

Times are wall seconds. Names compare byte by byte, in MySQL as in SQLite. Everything that is a key
is short enough for any index. Migrations are in `store/migrations`; a test compares both.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator, TypeEngine

_SIGN = 1 << 63
_SPAN = 1 << 64

metadata = MetaData(
    naming_convention={
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


class Unsigned64(TypeDecorator[int]):
    """An integer of 64 bits without a sign, in a column of 64 bits with one.

    Senders choose their boot number, so every one of them has to fit.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        return None if value is None else signed(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:
        return value if value is None or value >= 0 else value + _SPAN


def signed(value: int) -> int:
    """The same 64 bits, read with a sign."""
    return value if value < _SIGN else value - _SPAN


def binary(size: int) -> TypeEngine[bytes]:
    """Bytes that may be a key."""
    return LargeBinary().with_variant(mysql.VARBINARY(size), "mysql", "mariadb")


def _table(name: str, *items: SchemaItem) -> Table:
    return Table(
        name,
        metadata,
        *items,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )


# SQLite numbers rows by itself only in a column that is exactly INTEGER.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

setting = _table(
    "setting",
    Column("name", String(64), primary_key=True),
    Column("value", binary(8192), nullable=False),
)

spool_position = _table(
    "spool_position",
    Column("hub", String(64), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("saved_at", Double, nullable=False),
)

account = _table(
    "account",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("login", String(64), nullable=False, unique=True),
    Column("password_hash", String(255), nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("language", String(8)),  # of the pages; null: as the browser says
    Column("theme", String(8)),
    CheckConstraint("role IN ('user', 'operator', 'admin')", name="role"),
)


def _account(name: str, *, is_required: bool = True) -> Column[int]:
    owner = ForeignKey("account.id", ondelete="CASCADE")
    return Column(name, _NUMBER, owner, nullable=not is_required, index=True)


web_session = _table(
    "web_session",
    Column("key_hash", binary(32), primary_key=True),
    _account("account"),
    Column("created_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
    Column("address", String(64), nullable=False),
    Column("browser", String(255), nullable=False),
    Column("proved_at", Double),  # when the password was last confirmed; null: only at sign-in
)

api_token = _table(
    "api_token",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("token_hash", binary(32), nullable=False, unique=True),
    _account("account"),
    Column("name", String(64), nullable=False),
    Column("scopes", String(255), nullable=False),  # separated by spaces
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("used_at", Double),
)

# One authenticator app an account; its secret is sealed under a key derived from the master secret.
totp = _table(
    "totp",
    Column("account", _NUMBER, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("sealed", binary(128), nullable=False),
    Column("created_at", Double, nullable=False),
    Column(
        "confirmed_at", Double
    ),  # null: a code of it was not shown yet, so it counts for nothing
    Column("last_step", BigInteger, nullable=False),  # of the last code taken: none is taken twice
)

recovery_code = _table(
    "recovery_code",
    Column("code_hash", binary(32), primary_key=True),
    _account("account"),
    Column("created_at", Double, nullable=False),
)

passkey = _table(
    "passkey",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    _account("account"),
    Column("credential_hash", binary(32), nullable=False, unique=True),
    Column("credential", binary(1023), nullable=False),
    Column("public_key", binary(1024), nullable=False),  # COSE
    Column("counter", BigInteger, nullable=False),
    Column("name", String(64), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("used_at", Double),
)

# Challenges that were answered rightly, until they expire: none is taken twice.
used_challenge = _table(
    "used_challenge",
    Column("challenge_hash", binary(32), primary_key=True),
    Column("expires_at", Double, nullable=False, index=True),
)

fleet_entry = _table(
    "reporter",
    Column("reporter", binary(6), key="sender", primary_key=True),
    Column("kind", String(8), nullable=False, index=True),
    Column("hashname", String(64), nullable=False, index=True),
    Column("key", binary(255), nullable=False),
    Column("digest", binary(32), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("boot", Unsigned64, nullable=False),
    Column("sequence", Unsigned64, nullable=False),
    Column("window", Unsigned64, nullable=False),
    Column("first_seen", Double, nullable=False),
    Column("last_seen", Double, nullable=False),
    Column("address", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("strikes", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("previous", Unsigned64, nullable=False),
    Column("struck_at", Double, nullable=False),
)

# Entries of these keys count no more, wherever a hub still has them, if they enrolled up to then.
forgotten = _table(
    "forgotten",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("reporter", binary(6), key="sender", nullable=False),
    Column("hashname", String(64), nullable=False),
    Column("until", Double, nullable=False),
    Column("at", Double, nullable=False, index=True),
)

device = _table(
    "device",
    Column("mac", binary(6), primary_key=True),
    _account("owner"),
    Column("name", String(64), nullable=False),
    Column("claimed_at", Double, nullable=False),
)

code = _table(
    "code",
    Column("id", binary(8), primary_key=True),
    Column("key", binary(32), nullable=False),
    Column("kind", String(8), nullable=False),
    _account("owner", is_required=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
    Column("used_at", Double),
    Column("used_by", String(64), nullable=False),
    CheckConstraint("kind IN ('router', 'server')", name="kind"),
)

audit = _table(
    "audit",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False, index=True),
    Column("who", String(64), nullable=False),
    Column("what", String(64), nullable=False),
    Column("target", String(128), nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Column("address", String(64), nullable=False),
    Index("ix_audit_who", "who", "id"),
    Index("ix_audit_target", "target", "id"),
)

# One hub of several does what is to be done once; an expired lease is free for another.
lease = _table(
    "lease",
    Column("name", String(64), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("until", Double, nullable=False),
)

alert = _table(
    "alert",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("key", String(160), nullable=False),
    # The key while it is open, then null: so a key has one open alert, even if two hubs raise it.
    Column("open_key", String(160), unique=True),
    Column("scope", String(64), nullable=False),  # shared by all hubs, or one hub's own
    Column("kind", String(16), nullable=False),
    Column("severity", String(16), nullable=False),
    Column("title", String(255), nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Column("since", Double, nullable=False),
    Column("raised_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("until", Double, index=True),
    Column("acknowledged_by", String(64), nullable=False),
    Column("acknowledged_at", Double),
    Column("muted_by", String(64), nullable=False),
    Column("muted_until", Double),
    CheckConstraint("severity IN ('critical', 'warning', 'notice')", name="severity"),
    Index("ix_alert_key", "key", "id"),
)


def _alert(name: str) -> Column[int]:
    return Column(name, _NUMBER, ForeignKey("alert.id", ondelete="CASCADE"), nullable=False)


alert_event = _table(
    "alert_event",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    _alert("alert"),
    Column("at", Double, nullable=False),
    Column("what", String(16), nullable=False),
    Column("who", String(64), nullable=False),
    Column("text", String(255), nullable=False),
    Index("ix_alert_event_alert", "alert", "id"),
)

# Notifications to send; a row is deleted when it was sent or given up.
alert_delivery = _table(
    "alert_delivery",
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False, unique=True),
    _alert("alert"),
    Column("channel", String(64), nullable=False),
    Column("event", String(16), nullable=False),
    Column("body", Text, nullable=False),  # JSON, the same at each attempt
    Column("attempts", Integer, nullable=False),
    Column("due_at", Double, nullable=False, index=True),
    Index("ix_alert_delivery_alert", "alert"),
)
