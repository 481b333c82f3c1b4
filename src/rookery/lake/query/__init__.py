"""Reads a lake without Spark: SQL by DuckDB, status of tables, and consistency checks."""
