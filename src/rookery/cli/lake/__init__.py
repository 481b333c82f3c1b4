"""`rookery lake`: land, run, query and check what was observed."""
