"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from jaxeval.bandits import posterior
from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving
from jaxeval.bandits.simulation import Replay, Simulation, select, simulate, trials
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, argument

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
    "rule",
    "select",
    "simulate",
    "trials",
]


def rule(
    name: str,
    higher_is_better: bool,
    delta: float | None,
    budget: int | None,
    batch: int | None,
    prior: float,
    seed: int,
    default_batch: int | None = None,
) -> Rule:
    """The rule of a name: top-two, batch, non-adaptive or sequential-halving.

    Args:
      delta: None: .05, or never of a non-adaptive rule that has a budget.
      default_batch: where `batch` is None and the rule has batches.

    Raises:
      ConfigError: arguments that do not go together.
    """
    rounds = name in ("non-adaptive", "sequential-halving")
    if rounds and batch is not None:
        batch_flag = argument("batch")
        raise ConfigError(f"{argument('rule', name)}: takes no {batch_flag}: a round is a batch")
    if name == "sequential-halving":
        if budget is None or delta is not None or prior != posterior.FIESTA:
            raise ConfigError(
                f"{argument('rule', name)}: expected {argument('budget', 'N')}, and neither "
                f"{argument('delta')} nor {argument('prior')}"
            )
        return SequentialHalving(higher_is_better=higher_is_better, seed=seed, budget=budget)
    fixed = name == "non-adaptive" and delta is None and budget is not None
    kinds = {"top-two": TopTwoThompson, "batch": BatchThompson}
    size = None if rounds else batch or default_batch
    return kinds.get(name, NonAdaptive)(
        higher_is_better=higher_is_better,
        delta=None if fixed else 0.05 if delta is None else delta,
        prior=prior,
        budget=budget,
        seed=seed,
        **({} if size is None else {"batch_size": size}),
    )
