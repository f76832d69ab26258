"""Runs and their experiments: summaries, figures, the page, what is said while they train."""
