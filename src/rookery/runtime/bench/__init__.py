"""Bench: how much goes through to a member and back, how quickly, and which ways it takes.

`service` is the member that is asked, `run` the one that asks, `report` what it says in the end.
The limits are those of `rookery.mesh.bench`.
"""
