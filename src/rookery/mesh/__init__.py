"""The mesh without I/O: who is a member, what each way is worth, and how packets find theirs."""
