"""Reporters that were forgotten: which of their entries count no more."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    reporter = sa.LargeBinary().with_variant(mysql.VARBINARY(6), "mysql", "mariadb")
    op.create_table(
        "forgotten",
        sa.Column("id", number, primary_key=True, autoincrement=True),
        sa.Column("reporter", reporter, nullable=False),
        sa.Column("hashname", sa.String(64), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )
    op.create_index("ix_forgotten_at", "forgotten", ["at"])
