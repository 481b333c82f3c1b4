"""Insights: what the lake found, as tables, charts and views, with lineage and freshness."""
