"""The asyncio shells: gates, endpoint and the face of every channel."""
