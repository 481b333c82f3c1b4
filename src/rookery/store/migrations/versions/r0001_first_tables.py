"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _binary(size: int) -> sa.types.TypeEngine[bytes]:
    return sa.LargeBinary().with_variant(mysql.VARBINARY(size), "mysql", "mariadb")


def _create_table(name: str, *items: sa.schema.SchemaItem) -> None:
    op.create_table(
        name,
        *items,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )


def upgrade() -> None:
    _create_settings()
    _create_accounts()
    _create_reporters()
    _create_audit()


def _create_settings() -> None:
    _create_table(
        "setting",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", _binary(8192), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    _create_table(
        "spool_position",
        sa.Column("hub", sa.String(64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("saved_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("hub"),
    )


def _create_accounts() -> None:
    _create_table(
        "account",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("login", sa.String(64), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.CheckConstraint("role IN ('user', 'operator', 'admin')", name="ck_account_role"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("login", name="uq_account_login"),
    )
    _create_table(
        "web_session",
        sa.Column("key_hash", _binary(32), nullable=False),
        sa.Column("account", _NUMBER, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("browser", sa.String(255), nullable=False),
        _of_account("web_session", "account"),
        sa.PrimaryKeyConstraint("key_hash"),
    )
    op.create_index("ix_web_session_account", "web_session", ["account"])
    op.create_index("ix_web_session_expires_at", "web_session", ["expires_at"])
    _create_table(
        "api_token",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("token_hash", _binary(32), nullable=False),
        sa.Column("account", _NUMBER, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(255), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        _of_account("api_token", "account"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash", name="uq_api_token_token_hash"),
    )
    op.create_index("ix_api_token_account", "api_token", ["account"])


def _create_reporters() -> None:
    _create_table(
        "reporter",
        sa.Column("reporter", _binary(6), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("hashname", sa.String(64), nullable=False),
        sa.Column("key", _binary(255), nullable=False),
        sa.Column("digest", _binary(32), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("boot", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("first_seen", sa.Double(), nullable=False),
        sa.Column("last_seen", sa.Double(), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("strikes", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("previous", sa.BigInteger(), nullable=False),
        sa.Column("struck_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("reporter"),
    )
    op.create_index("ix_reporter_kind", "reporter", ["kind"])
    op.create_index("ix_reporter_hashname", "reporter", ["hashname"])
    _create_table(
        "device",
        sa.Column("mac", _binary(6), nullable=False),
        sa.Column("owner", _NUMBER, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("claimed_at", sa.Double(), nullable=False),
        _of_account("device", "owner"),
        sa.PrimaryKeyConstraint("mac"),
    )
    op.create_index("ix_device_owner", "device", ["owner"])
    _create_table(
        "code",
        sa.Column("id", _binary(8), nullable=False),
        sa.Column("key", _binary(32), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("owner", _NUMBER, nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("used_by", sa.String(64), nullable=False),
        _of_account("code", "owner"),
        sa.CheckConstraint("kind IN ('router', 'server')", name="ck_code_kind"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_code_owner", "code", ["owner"])
    op.create_index("ix_code_expires_at", "code", ["expires_at"])


def _create_audit() -> None:
    _create_table(
        "audit",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("who", sa.String(64), nullable=False),
        sa.Column("what", sa.String(64), nullable=False),
        sa.Column("target", sa.String(128), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_who", "audit", ["who", "id"])
    op.create_index("ix_audit_target", "audit", ["target", "id"])


def _of_account(table: str, column: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}"
    return sa.ForeignKeyConstraint([column], ["account.id"], name=name, ondelete="CASCADE")
