"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving
from jaxeval.bandits.simulation import Replay, Simulation, select, simulate, trials
from jaxeval.bandits.state import State

__all__ = [
    "Answer",
    "BatchThompson",
    "NonAdaptive",
    "Replay",
    "Rule",
    "SequentialHalving",
    "Simulation",
    "State",
    "TopTwoThompson",
    "probability_of_best",
    "select",
    "simulate",
    "trials",
]
