"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from typing import Any

from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving, State
from jaxeval.bandits.running import Replay, select
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
    settings["budget"] = budget
    if name == "sequential-halving":
        if budget is None or delta is not None:
            expected = f"expected {argument('budget', 'N')}, and no {argument('delta')}"
            raise ConfigError(f"{said}: {expected}")
        return SequentialHalving(**settings)
    if delta is not None or (name == "non-adaptive" and budget is not None):
        settings["delta"] = delta
    if (size := batch or default_batch) and name != "non-adaptive":
        settings["batch_size"] = size
    if name == "non-adaptive":
        return NonAdaptive(**settings)
    return (TopTwoThompson if name == "top-two" else BatchThompson)(**settings)
