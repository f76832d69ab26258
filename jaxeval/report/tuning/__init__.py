"""A search for the best setting: JSON, terminal and figures."""
