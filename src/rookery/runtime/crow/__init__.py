"""The asyncio shells of crow: towers, gates and the broker."""
