"""Packets of a tunnel: built, sent, received, acknowledged, and sent again."""
