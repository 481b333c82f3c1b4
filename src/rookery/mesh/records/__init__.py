"""Signed link-state records: publishing ours, flooding, and the database of everybody's."""
