"""The link graph, route computation and choice, source-routed forwarding, and probes of routes."""
