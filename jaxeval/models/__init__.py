"""Flax modules and the pure functions under them: cells, recurrence, CRF, character encoders."""
