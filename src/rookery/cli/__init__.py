"""One module per verb; prints, exits, decides nothing."""
