"""Streams of a tunnel: their two halves, flow control, and fair sharing."""
