"""What every table of the lake holds: one module per stage."""
