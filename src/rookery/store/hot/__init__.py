"""The hot store: state that changes with every report, in memory or in Redis."""
