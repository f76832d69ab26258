"""Trains many members of one Task in one compiled program; knows nothing of language."""
