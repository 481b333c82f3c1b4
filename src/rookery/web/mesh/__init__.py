"""The mesh: map, matrix, history and queues, from the hub's mesh node and the lake."""
