"""The mesh without I/O: members, what each path costs, and the routes of packets."""
