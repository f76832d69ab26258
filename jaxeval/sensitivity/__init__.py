"""What a sweep says of an architecture: how much its score depends on its hyperparameters."""

from jaxeval.sensitivity.analysis import Analysis, Estimate, analyze, difference

__all__ = ["Analysis", "Estimate", "analyze", "difference"]
