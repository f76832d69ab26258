"""A selection, and a simulation of many, as JSON; docs/select.md describes it."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import numpy as np

from jaxeval.bandits import Answer, Replay, Rule, Simulation, State
from jaxeval.bandits.blocks import Blocks
from jaxeval.bandits.fixed_confidence import Confident
from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report.plain import record
from jaxeval.stats import describe


class Replayed(TypedDict):
    """What scores were drawn from that were recorded before."""

    replacement: bool
    pairing: str
    seed: int
    recorded: Mapping[str, int]
    sentence: str


class Race(TypedDict):
    """What a race over items asked for: `answers` of `all`, the answers of all models to all."""

    items: int
    block: int
    answers: int
    all: int


class Result(TypedDict):
    """The outcome of a selection; the last keys as far as they are known."""

    best: str
    probability: float | None
    reason: str
    level: Sequence[str]  # models between which nothing decides; none where one leads
    evaluations: int
    replay: Replayed | None
    probability_of_best: Mapping[str, float]
    proportions: Mapping[str, float]
    scores: Mapping[str, list[float]]
    constant: Sequence[str]
    guarded: int  # scores that --logit takes for farther from 0 or 1 than they are
    excluded: Mapping[str, str]
    rule: Mapping[str, Json]
    signature: str
    part: NotRequired[str]
    unit: NotRequired[str]
    metric: NotRequired[str | None]
    direction_assumed: NotRequired[bool]  # nothing says whether higher is better
    race: NotRequired[Race]
    failures: NotRequired[Json]  # Fisher's tests of the shares of runs that failed
    failed: NotRequired[Sequence[str]]  # what is said of these


class Simulated(TypedDict):
    """How a rule fared on recorded scores; means with their standard errors."""

    repetitions: int
    replay: Replayed
    evaluations: Mapping[str, Json]
    correct: Mapping[str, Json]
    best: Mapping[str, int]
    recorded_best: Sequence[str]  # models of the highest mean: several where they tie
    guarded: int  # recorded scores, drawn or not, that --logit takes for farther from 0 or 1
    reasons: Mapping[str, int]
    rule: Mapping[str, Json]
    signature: str
    metric: NotRequired[str | None]
    direction_assumed: NotRequired[bool]


def result(rule: Rule, state: State, answer: Answer, replay: Replay | None = None) -> Result:
    """The outcome of a selection.

    Args:
      replay: what the scores were drawn from, if they were recorded before.
    """
    spent = state.evaluations
    scores = {model: state.scores_of(model) for model in state.models}
    return {
        "best": answer.best,
        "probability": answer.probability,
        "reason": answer.reason,
        "level": list(answer.level),
        "evaluations": spent,
        "replay": None if replay is None else _replay(replay, spent),
        "probability_of_best": probabilities(rule, state),
        "proportions": {
            model: len(known) / max(1, spent)
            for model, known in zip(state.models, state.scores, strict=True)
        },
        "scores": scores,
        "guarded": sum(rule.guarded(np.array(known)) for known in scores.values()),
        "constant": [m for m, known in scores.items() if len(known) > 1 and len(set(known)) == 1],
        "excluded": dict(state.excluded),
        "rule": _rule(rule),
        "signature": text.versions(),
    }


def race(blocks: Blocks, state: State) -> Race:
    """What was asked for so far."""
    return {
        "items": blocks.items,
        "block": blocks.size,
        "answers": state.evaluations * blocks.size,
        "all": len(state.models) * blocks.items,
    }


def simulation(rule: Rule, simulated: Simulation, replay: Replay) -> Simulated:
    """How a rule fared on recorded scores."""
    low, median, high = describe.five_numbers(simulated.evaluations)[::2]
    reasons = simulated.reasons
    return {
        "repetitions": len(simulated.evaluations),
        "replay": _replay(replay),
        "evaluations": {
            **record(simulated.mean_evaluations),
            "min": low,
            "median": median,
            "max": high,
        },
        "correct": record(simulated.share_correct),
        "best": {model: simulated.best.count(model) for model in replay.scores},
        "recorded_best": list(simulated.recorded_best),
        "guarded": sum(rule.guarded(np.asarray(known)) for known in replay.scores.values()),
        "reasons": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
        "rule": _rule(rule),
        "signature": text.versions(),
    }


def probabilities(rule: Rule, state: State) -> dict[str, float]:
    """Of being the best, for rules and states that have them."""
    if not isinstance(rule, Confident) or len(state.alive) < 2:
        return {}
    moments = rule.moments(state)
    if not rule.known(moments):
        return {}
    shares = rule.probabilities(moments)
    return {state.models[k]: float(p) for k, p in zip(state.alive, shares, strict=True)}


def _rule(rule: Rule) -> dict[str, Json]:
    return {"name": type(rule).__name__, **record(rule)}


def _replay(replay: Replay, draws: int | None = None) -> Replayed:
    recorded = {model: len(values) for model, values in replay.scores.items()}
    drawn = f"{text.counted(draws, 'draw')} from" if draws is not None else "draws from"
    total = text.counted(sum(recorded.values()), "recorded score")
    without = "with replacement" if replay.replacement else "without replacement"
    sentence = f"a replay: {drawn} {total}, {without}"
    if replay.replacement:
        sentence += "; a score drawn again is no new evidence: what is said holds for these scores"
    return {
        "replacement": replay.replacement,
        "pairing": replay.pairing,
        "seed": replay.seed,
        "recorded": recorded,
        "sentence": sentence,
    }
