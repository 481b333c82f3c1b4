"""The asyncio face of every channel type."""
