"""The hub itself: status, health, metrics and housekeeping."""
