"""A selection, and a simulation of many, as JSON and for the terminal."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxeval.bandits import Rule, Simulation, State
from jaxeval.bandits.evaluate import Told
from jaxeval.bandits.fixed_confidence import Confident
from jaxeval.report import terminal, verdict
from jaxeval.report.plain import plain

_MOST_SHOWN = 4  # models in a line of progress


def _rule(rule: Rule) -> dict[str, Any]:
    return {"name": type(rule).__name__, **plain(dataclasses.asdict(rule))}


def probabilities(rule: Rule, state: State) -> dict[str, float]:
    """Of being the best, for rules and states that have them."""
    ready = isinstance(rule, Confident) and len(state.alive) > 1
    if not ready or min(len(state.scores[k]) for k in state.alive) < Confident().initial:
        return {}
    assert isinstance(rule, Confident)
    found = rule.probabilities(rule.moments(state))
    return {state.models[k]: float(p) for k, p in zip(state.alive, found, strict=True)}


def result(rule: Rule, state: State) -> dict[str, Any]:
    """The outcome of a selection; docs/select.md describes it."""
    answer = rule.answer(state)
    assert answer is not None
    spent, both = state.evaluations, (state.models, state.scores)
    return {
        "best": answer.best,
        "probability": answer.probability,
        "reason": answer.reason,
        "evaluations": spent,
        "probability_of_best": probabilities(rule, state),
        "proportions": {m: len(told) / max(1, spent) for m, told in zip(*both, strict=True)},
        "scores": {m: state.scores_of(m) for m in state.models},
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
    epsilon, p = tree["rule"].get("epsilon"), tree["probability"]
    what = f"within {epsilon:g} of the best" if epsilon else "best"
    sure = "" if p is None else f", {what} with probability {p:.3f}"
    console.print(
        f"\n{tree['best']}{sure} ({tree['reason']}, {tree['evaluations']} evaluations)",
        markup=False,
        style="bold",
    )
    console.print(f"{tree['rule']['name']} | {tree['signature']}", markup=False, style="dim")


def simulation(rule: Rule, found: Simulation, scores: Mapping[str, Any]) -> dict[str, Any]:
    """How a rule fared on recorded scores."""
    evaluations = found.evaluations
    low, median, high = (float(v) for v in np.quantile(evaluations, [0, 0.5, 1]))
    return {
        "repetitions": len(evaluations),
        "evaluations": {
            **plain(found.mean_evaluations),
            "min": low,
            "median": median,
            "max": high,
        },
        "correct": plain(found.share_correct),
        "best": {model: found.best.count(model) for model in scores},
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
    print(f"\n{tree['repetitions']} selections by {tree['rule']['name']}")
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
