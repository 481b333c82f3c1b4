"""Insights of the lake as tables, charts and views, with lineage and freshness."""
