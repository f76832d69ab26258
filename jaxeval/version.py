"""The version, which pages, records and saved models name."""

VERSION = "0.1.0"
