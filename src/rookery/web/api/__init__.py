"""The JSON API, version 1: one module for each noun."""
