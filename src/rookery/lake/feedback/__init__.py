"""What goes back to hubs and nodes: load forecasts and cost advice, as signed files."""
