"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from jaxeval.bandits.fixed_budget import SequentialHalving
from jaxeval.bandits.fixed_confidence import NonAdaptive
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.bandits.replay import Replay
from jaxeval.bandits.rules import Answer, Rule
from jaxeval.bandits.simulation import Simulation, simulate, trials
from jaxeval.bandits.state import State
from jaxeval.bandits.thompson import BatchThompson, TopTwoThompson

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
    "simulate",
    "trials",
]
