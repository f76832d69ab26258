"""Which setting of a search space is best, with few evaluations; no jax."""

from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.tuning.history import Evaluation, History, Result, Setting
from jaxeval.tuning.tuner import Tuner

__all__ = ["Evaluation", "EvaluationFailed", "History", "Result", "Setting", "Tuner"]
