"""What outlives a process: the database, the hot store and the spool of observations."""
