"""How alembic runs here: on the connection that `migration` gives it, inside its transaction."""

from alembic import context
from sqlalchemy import Connection

from rookery.store.tables import metadata

connection = context.config.attributes["connection"]
assert isinstance(connection, Connection)
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
