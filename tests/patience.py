"""How long a test waits for something that must come.

Only a hang takes that long: a machine that others keep busy may take its time.
"""

PATIENCE_S = 180.0
