"""The registry of routers and servers: written to the database, counted, enrolled, removed."""
