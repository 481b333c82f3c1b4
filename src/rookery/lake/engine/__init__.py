"""Runs the steps: what is due, Delta logs and commits, Spark sessions and their Java."""
