"""Keys of a link: handshakes, the exchange they lead to, and the renewal of its keys."""
