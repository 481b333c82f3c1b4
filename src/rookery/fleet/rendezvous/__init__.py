"""How the hub brings a router and a client together at a seat of a server; without I/O."""
