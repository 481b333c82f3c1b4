"""From landing to clean tables: validation rules, clock correction and deduplication."""
