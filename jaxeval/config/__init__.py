"""TOML files -> validated frozen dataclasses, with all errors reported at once."""
