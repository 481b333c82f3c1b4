"""The mesh: map, matrix, history and queues, asked of the hub's own node and of the lake."""
