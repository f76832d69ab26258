"""Sensitivity of an architecture's score to its hyperparameters, from random sweeps."""
