"""A selection, and a simulation of many, as JSON and for the terminal."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxeval.bandits import Answer, Replay, Rule, Simulation, State
from jaxeval.bandits.evaluate import Told
from jaxeval.bandits.fixed_confidence import Confident
from jaxeval.report import terminal, verdict
from jaxeval.report.plain import plain

_MOST_SHOWN = 4  # models in a line of progress


def _rule(rule: Rule) -> dict[str, Any]:
    return {"name": type(rule).__name__, **plain(dataclasses.asdict(rule))}


def _replay(replay: Replay, draws: int | None = None) -> dict[str, Any]:
    recorded = {model: len(values) for model, values in replay.scores.items()}
    drawn = f"{_many(draws, 'draw')} from" if draws is not None else "draws from"
    without = "with replacement" if replay.replacement else "without replacement"
    said = f"a replay: {drawn} {_many(sum(recorded.values()), 'recorded score')}, {without}"
    if replay.replacement:
        said += "; a score drawn again is no new evidence: what is said holds for these scores"
    return {
        "replacement": replay.replacement,
        "pairing": replay.pairing,
        "seed": replay.seed,
        "recorded": recorded,
        "sentence": said,
    }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def probabilities(rule: Rule, state: State) -> dict[str, float]:
    """Of being the best, for rules and states that have them."""
    if not isinstance(rule, Confident) or len(state.alive) < 2:
        return {}
    moments = rule.moments(state)
    if not rule.known(moments):
        return {}
    shares = rule.probabilities(moments)
    return {state.models[k]: float(p) for k, p in zip(state.alive, shares, strict=True)}


def result(
    rule: Rule, state: State, answer: Answer, replay: Replay | None = None
) -> dict[str, Any]:
    """The outcome of a selection; docs/select.md describes it.

    Args:
      replay: what the scores were drawn from, if they were recorded before.
    """
    spent, both = state.evaluations, (state.models, state.scores)
    scores = {model: state.scores_of(model) for model in state.models}
    return {
        "best": answer.best,
        "probability": answer.probability,
        "reason": answer.reason,
        "evaluations": spent,
        "replay": None if replay is None else _replay(replay, spent),
        "probability_of_best": probabilities(rule, state),
        "proportions": {m: len(told) / max(1, spent) for m, told in zip(*both, strict=True)},
        "scores": scores,
        "constant": [m for m, told in scores.items() if len(told) > 1 and len(set(told)) == 1],
        "excluded": dict(state.excluded),
        "rule": _rule(rule),
        "signature": verdict.versions(),
    }


def progress(rule: Rule, told: Told) -> str:
    """What happened, in a line."""
    head = f"{told.state.evaluations}: {told.model}, evaluation {told.number}: "
    if told.score is None:
        return head + told.note
    known = sorted(probabilities(rule, told.state).items(), key=lambda item: -item[1])
    listed = ", ".join(f"{model} {p:.3f}" for model, p in known[:_MOST_SHOWN])
    return f"{head}{told.score:g}" + (f"; best: {listed}" if listed else "")


def print_result(tree: Mapping[str, Any]) -> None:
    """A row a model, and the answer."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    rows = []
    for model, scores in tree["scores"].items():
        sd = f"{np.std(scores, ddof=1):.4g}" if len(scores) > 1 else "-"
        p = tree["probability_of_best"].get(model)
        rows.append(
            (
                model,
                str(len(scores)),
                f"{np.mean(scores):.4g}" if scores else "-",
                sd,
                "-" if p is None else f"{p:.4f}",
            )
        )
    console.print()
    terminal.print_table(console, ("model", "evaluations", "mean", "sd", "P(best)"), rows)
    for model, reason in tree["excluded"].items():
        console.print(f"{model} was given up: {reason}", markup=False)
    for model in tree["constant"]:
        equal = f"{model}: its {len(tree['scores'][model])} scores are equal, so their spread is "
        console.print(equal + "not known; do they depend on seed and split?", markup=False)
    epsilon, p = tree["rule"].get("epsilon"), tree["probability"]
    what = f"within {epsilon:g} of the best" if epsilon else "best"
    sure = "" if p is None else f", {what} with probability {p:.3f}"
    replay = tree["replay"]
    spent = replay["sentence"] if replay else _many(tree["evaluations"], "evaluation")
    delta = tree["rule"].get("delta")
    if p is not None and delta is not None and p < 1 - delta:
        asked = f"no model is {what} with the asked probability of {1 - delta:g}; leading: "
    else:
        asked = ""
    console.print(
        f"\n{asked}{tree['best']}{sure} ({tree['reason']}; {spent})", markup=False, style="bold"
    )
    console.print(f"{tree['rule']['name']} | {tree['signature']}", markup=False, style="dim")


def simulation(rule: Rule, found: Simulation, replay: Replay) -> dict[str, Any]:
    """How a rule fared on recorded scores."""
    evaluations = found.evaluations
    low, median, high = (float(v) for v in np.quantile(evaluations, [0, 0.5, 1]))
    return {
        "repetitions": len(evaluations),
        "replay": _replay(replay),
        "evaluations": {
            **plain(found.mean_evaluations),
            "min": low,
            "median": median,
            "max": high,
        },
        "correct": plain(found.share_correct),
        "best": {model: found.best.count(model) for model in replay.scores},
        "reasons": {reason: found.reasons.count(reason) for reason in sorted(set(found.reasons))},
        "rule": _rule(rule),
        "signature": verdict.versions(),
    }


def print_simulation(tree: Mapping[str, Any]) -> None:
    """Evaluations and correctness, with their standard errors."""
    spent, right = tree["evaluations"], tree["correct"]
    higher = tree["rule"]["higher_is_better"]
    spread = "-" if spent["standard_error"] is None else f"{spent['standard_error']:.1f}"
    error = "-" if right["standard_error"] is None else f"{right['standard_error']:.1%}"
    print(
        f"\n{_many(tree['repetitions'], 'selection')} by {tree['rule']['name']}, each "
        f"{tree['replay']['sentence']}"
    )
    print(
        f"evaluations: mean {spent['value']:.1f} (s.e. {spread}), "
        f"median {spent['median']:g}, {spent['min']:g} to {spent['max']:g}"
    )
    print(
        f"found the model of the {'highest' if higher else 'lowest'} mean: {right['value']:.1%} "
        f"(s.e. {error})"
    )
    print("ended:", ", ".join(f"{n} {reason}" for reason, n in tree["reasons"].items()))
    print("chosen:", ", ".join(f"{model} {n}" for model, n in tree["best"].items() if n))
    print(tree["signature"])
