"""Signed link-state records: publishing, flooding, and the database of all members."""
