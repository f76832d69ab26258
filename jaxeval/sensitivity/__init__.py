"""Sensitivity of an architecture's score to its hyperparameters, from random sweeps."""

from jaxeval.sensitivity.analysis import Analysis, Estimate, analyze, difference

__all__ = ["Analysis", "Estimate", "analyze", "difference"]
