"""One module per channel type: its heads, its rules, no I/O."""
