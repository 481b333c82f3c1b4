"""A simulated realm: its members, topology, attackers and invariants."""
