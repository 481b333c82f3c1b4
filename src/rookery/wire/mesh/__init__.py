"""The mesh on the wire: statements of a realm, frames between members, packets of tunnels."""
