"""A realm's folder on disk, who signs for it, and how new members join."""
