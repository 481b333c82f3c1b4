"""The spool: observations on disk, in order, until they have landed in the lake."""
