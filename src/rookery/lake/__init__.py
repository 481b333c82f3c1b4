"""The lake: observations as tables, from landing to insights, and advice made from them."""
