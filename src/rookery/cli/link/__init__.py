"""Verbs about keys and about links between two endpoints."""
