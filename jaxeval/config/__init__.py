"""TOML files -> validated frozen dataclasses, with all errors told at once."""
