"""`rookery crow`: source-routed packets between towers, and a broker."""
