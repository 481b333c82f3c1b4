"""How the hub brings a device and a client together at a seat of a server; without I/O."""
