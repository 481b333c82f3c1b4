"""Crow's transports: where crow packets enter and leave a tower."""
