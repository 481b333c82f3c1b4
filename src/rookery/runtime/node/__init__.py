"""A member of a realm on real sockets, and what it says about itself."""
