"""The lake: what was observed, kept as tables, explained, and handed back as advice."""
