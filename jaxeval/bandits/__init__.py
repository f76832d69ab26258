"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax."""

from collections.abc import Callable
from typing import Any

from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.rules import Answer, Rule, SequentialHalving, State
from jaxeval.bandits.running import Replay, select
from jaxeval.errors import ConfigError, argument

__all__ = ["Answer", "BatchThompson", "NonAdaptive", "Replay", "Rule", "SequentialHalving"]
__all__ += ["State", "TopTwoThompson", "rule", "select"]
_RULES: dict[str, Callable[..., Rule]] = {
    "top-two": TopTwoThompson,
    "batch": BatchThompson,
    "non-adaptive": NonAdaptive,
    "sequential-halving": SequentialHalving,
}


def rule(
    name: str,
    higher_is_better: bool,
    delta: float | None,
    budget: int | None,
    batch: int | None,
    seed: int,
    default_batch: int | None = None,
) -> Rule:
    """Makes a rule by name.

    `delta` None is .05, or none for a non-adaptive rule with a budget. `default_batch` holds if
    `batch` is None and the rule has batches. ConfigError if arguments do not go together.
    """
    said, in_rounds = argument("rule", name), name in ("non-adaptive", "sequential-halving")
    if in_rounds and batch is not None:
        raise ConfigError(f"{said}: takes no {argument('batch')}: a round is a batch")
    if name == "sequential-halving" and (budget is None or delta is not None):
        expected = f"expected {argument('budget', 'N')}, and no {argument('delta')}"
        raise ConfigError(f"{said}: {expected}")
    settings: dict[str, Any] = {"higher_is_better": higher_is_better, "seed": seed}
    settings["budget"] = budget
    if delta is not None or (name == "non-adaptive" and budget is not None):
        settings["delta"] = delta
    if not in_rounds and (size := batch or default_batch):
        settings["batch_size"] = size
    return _RULES[name](**settings)
