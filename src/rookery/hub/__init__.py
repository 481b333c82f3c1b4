"""The hub: knows every router and server, and brings a client and its router together."""
