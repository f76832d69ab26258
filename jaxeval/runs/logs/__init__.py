"""Readers of logs of evaluations; no program is imported, and nothing in a log is run."""
