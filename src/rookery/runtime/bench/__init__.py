"""Bench: how much goes through to a member and back, how quickly, and over which paths.

`service` is the member that is asked, `run` the one that asks, `report` what it says in the end.
The limits are those of `rookery.mesh.bench`.
"""
