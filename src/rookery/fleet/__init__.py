"""The fleet without I/O: secrets, reports, placement, seats, and how a client meets its device."""
