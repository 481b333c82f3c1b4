"""Shared by hubs, servers, agents and clients: sealed connections, listeners, the hub uplink."""
