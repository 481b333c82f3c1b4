"""Second factors: authenticator apps, passkeys, recovery codes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0006"
down_revision = "0005"

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
    _create_codes()
    _create_passkeys()


def _create_codes() -> None:
    _create_table(
        "totp",
        sa.Column("account", _NUMBER, nullable=False, autoincrement=False),
        sa.Column("sealed", _binary(128), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("confirmed_at", sa.Double(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        _of_account("totp"),
        sa.PrimaryKeyConstraint("account"),
    )
    _create_table(
        "recovery_code",
        sa.Column("code_hash", _binary(32), nullable=False),
        sa.Column("account", _NUMBER, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        _of_account("recovery_code"),
        sa.PrimaryKeyConstraint("code_hash"),
    )
    op.create_index("ix_recovery_code_account", "recovery_code", ["account"])


def _create_passkeys() -> None:
    _create_table(
        "passkey",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("account", _NUMBER, nullable=False),
        sa.Column("credential_hash", _binary(32), nullable=False),
        sa.Column("credential", _binary(1023), nullable=False),
        sa.Column("public_key", _binary(1024), nullable=False),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
        _of_account("passkey"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("credential_hash", name="uq_passkey_credential_hash"),
    )
    op.create_index("ix_passkey_account", "passkey", ["account"])
    _create_table(
        "used_challenge",
        sa.Column("challenge_hash", _binary(32), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("challenge_hash"),
    )
    op.create_index("ix_used_challenge_expires_at", "used_challenge", ["expires_at"])


def _of_account(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_account"
    return sa.ForeignKeyConstraint(["account"], ["account.id"], name=name, ondelete="CASCADE")
