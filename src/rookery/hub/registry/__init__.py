"""The registry of devices and servers: written to the database, counted, enrolled, removed."""
