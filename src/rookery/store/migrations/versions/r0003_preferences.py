"""What people chose for their pages."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("account", sa.Column("language", sa.String(8), nullable=True))
    op.add_column("account", sa.Column("theme", sa.String(8), nullable=True))
