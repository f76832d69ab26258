"""What a sweep says of an architecture: how much its score hangs on its hyperparameters."""

from jaxeval.sensitivity.analysis import Analysis, analyze, difference

__all__ = ["Analysis", "analyze", "difference"]
