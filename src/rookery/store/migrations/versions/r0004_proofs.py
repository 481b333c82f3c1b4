"""When somebody who is signed in gave their password again."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("web_session", sa.Column("proved_at", sa.Double(), nullable=True))
