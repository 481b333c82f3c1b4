"""An identity on real sockets: its links, its channels, and the gates that packets pass."""
