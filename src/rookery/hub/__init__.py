"""The hub: knows every device and server, and brings a client and its device together."""
