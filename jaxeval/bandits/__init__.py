"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from typing import Any

from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.evaluate import Replay, select
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving, State
from jaxeval.errors import ConfigError, argument

__all__ = ["Answer", "BatchThompson", "NonAdaptive", "Replay", "Rule", "SequentialHalving"]
__all__ += ["State", "TopTwoThompson", "probability_of_best", "rule", "select"]


def rule(
    name: str,
    higher_is_better: bool,
    delta: float | None,
    budget: int | None,
    batch: int | None,
    seed: int,
    default_batch: int | None = None,
) -> Rule:
    """Makes a rule by name: top-two, batch, non-adaptive or sequential-halving.

    `delta` None is .05, or none for a non-adaptive rule with a budget. `default_batch` holds if
    `batch` is None and the rule has batches. ConfigError if arguments do not go together.
    """
    said = argument("rule", name)
    if name in ("non-adaptive", "sequential-halving") and batch is not None:
        raise ConfigError(f"{said}: takes no {argument('batch')}: a round is a batch")
    settings: dict[str, Any] = {"higher_is_better": higher_is_better, "seed": seed}
    if name == "sequential-halving":
        if budget is None or delta is not None:
            expected = f"expected {argument('budget', 'N')}, and no {argument('delta')}"
            raise ConfigError(f"{said}: {expected}")
        return SequentialHalving(budget=budget, **settings)
    settings["budget"] = budget
    if name == "non-adaptive":
        fixed = delta is None and budget is not None
        return NonAdaptive(delta=None if fixed else 0.05 if delta is None else delta, **settings)
    if size := batch or default_batch:
        settings["batch_size"] = size
    make = TopTwoThompson if name == "top-two" else BatchThompson
    return make(delta=0.05 if delta is None else delta, **settings)
