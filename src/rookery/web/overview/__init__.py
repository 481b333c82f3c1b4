"""The overview of the fleet, and the search."""
