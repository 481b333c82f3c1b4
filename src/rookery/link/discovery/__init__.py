"""How endpoints find each other: announcements, routers, and the paths that peers advertise."""
