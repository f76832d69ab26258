"""What a sweep says of an architecture: how much its score depends on its hyperparameters."""

from jaxeval.sensitivity.analysis import Analysis, Difference, analyze, difference

__all__ = ["Analysis", "Difference", "analyze", "difference"]
