"""The transports: where packets enter and leave the process."""
