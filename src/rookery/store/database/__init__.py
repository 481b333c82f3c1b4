"""The SQL database of a hub: connections, tables, migrations and typed rows."""
