"""Tunnels as asyncio programs use them: streams, transports and quotas."""
