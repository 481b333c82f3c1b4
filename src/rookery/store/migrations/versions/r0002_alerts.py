"""Alerts, what became of them, and who looks."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _create_table(name: str, *items: sa.schema.SchemaItem) -> None:
    op.create_table(
        name,
        *items,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )


def upgrade() -> None:
    _create_table(
        "lease",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    _create_alerts()
    _create_events()
    _create_deliveries()


def _create_alerts() -> None:
    _create_table(
        "alert",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(160), nullable=False),
        sa.Column("open_key", sa.String(160), nullable=True),
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("raised_at", sa.Double(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=True),
        sa.Column("acknowledged_by", sa.String(64), nullable=False),
        sa.Column("acknowledged_at", sa.Double(), nullable=True),
        sa.Column("muted_by", sa.String(64), nullable=False),
        sa.Column("muted_until", sa.Double(), nullable=True),
        sa.CheckConstraint(
            "severity IN ('critical', 'warning', 'notice')", name="ck_alert_severity"
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("open_key", name="uq_alert_open_key"),
    )
    op.create_index("ix_alert_key", "alert", ["key", "id"])
    op.create_index("ix_alert_until", "alert", ["until"])


def _create_events() -> None:
    _create_table(
        "alert_event",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("alert", _NUMBER, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("what", sa.String(16), nullable=False),
        sa.Column("who", sa.String(64), nullable=False),
        sa.Column("text", sa.String(255), nullable=False),
        _of_alert("alert_event"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_alert_event_alert", "alert_event", ["alert", "id"])


def _create_deliveries() -> None:
    _create_table(
        "alert_delivery",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("alert", _NUMBER, nullable=False),
        sa.Column("channel", sa.String(64), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        _of_alert("alert_delivery"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key", name="uq_alert_delivery_key"),
    )
    op.create_index("ix_alert_delivery_alert", "alert_delivery", ["alert"])
    op.create_index("ix_alert_delivery_due_at", "alert_delivery", ["due_at"])


def _of_alert(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_alert"
    return sa.ForeignKeyConstraint(["alert"], ["alert.id"], name=name, ondelete="CASCADE")
