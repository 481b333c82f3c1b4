"""How alembic runs here: on the connection that `migration` gives it, inside its transaction."""

from alembic import context
from sqlalchemy import Connection

from rookery.store.database.tables import metadata

connection = context.config.attributes["connection"]
assert isinstance(connection, Connection)
# MySQL warns about alembic's name for a primary key, and one row needs none.
context.configure(
    connection=connection, target_metadata=metadata, render_as_batch=True, version_table_pk=False
)
with context.begin_transaction():
    context.run_migrations()
