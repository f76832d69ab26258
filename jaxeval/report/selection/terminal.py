"""A selection, its progress, and a simulation of many in the terminal."""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.bandits import Rule, means
from jaxeval.bandits.evaluate import Told
from jaxeval.report import scores, tables, text
from jaxeval.report.selection import as_json
from jaxeval.report.selection.as_json import Result, Simulated
from jaxeval.stats import describe

_MOST_SHOWN = 4  # models in a line of progress


def progress(rule: Rule, event: Told, unit: str = "") -> str:
    """What happened, in a line.

    Args:
      unit: of the scores; "": not known.
    """
    head = f"{event.state.evaluations}: {event.model}, evaluation {event.number}: "
    if event.score is None:
        return head + event.note
    known = sorted(as_json.probabilities(rule, event.state).items(), key=lambda item: -item[1])
    listed = ", ".join(f"{model} {p:.3f}" for model, p in known[:_MOST_SHOWN])
    score = scores.shown(event.score, unit) if unit else f"{event.score:g}"
    return f"{head}{score}" + (f"; best: {listed}" if listed else "")


def print_result(tree: Result) -> None:
    """A row a model, and the answer."""
    console = tables.console()
    console.print()
    tables.print_table(console, *table(tree))
    for note in notes(tree):
        console.print(note, markup=False)
    console.print(f"\n{answer(tree)}", markup=False, style="bold")
    console.print(f"{tree['rule']['name']} | {tree['signature']}", markup=False, style="dim")


def table(tree: Result) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Head, and a row a model."""
    known = tree["probability_of_best"]
    unit = tree.get("unit", "")
    rows = [_row(model, of, known.get(model), unit) for model, of in tree["scores"].items()]
    label = scores.label("", unit).strip()
    mean, sd = (f"{name} {label}".strip() for name in ("mean", "sd"))
    return ("model", "evaluations", mean, sd, "P(best)"), rows


def _row(model: str, of: list[float], p: float | None, unit: str) -> Sequence[str]:
    probability = "-" if p is None else f"{p:.4f}"
    if not of:
        return model, "0", "-", "-", probability
    factor, mean = scores.factor(unit), means.mean(np.array(of))
    shown = scores.shown(mean, unit) if unit else f"{mean:.4g}"
    # not `stats.describe`: its intervals import scipy.stats, as long as an evaluation takes
    sd = "-" if len(of) < 2 else f"{factor * np.std(np.array(of) - of[0], ddof=1):.4g}"
    return model, str(len(of)), shown, sd, probability


def direction(tree: Result | Simulated) -> str:
    """Which scores are better."""
    better = text.direction(
        bool(tree["rule"]["higher_is_better"]), tree.get("direction_assumed", False)
    )
    return f"{tree.get('metric') or 'score'}: {better}"


def notes(tree: Result) -> Iterator[str]:
    """Which scores are better, and what to know of single models, a line each."""
    yield direction(tree)
    for model, reason in tree["excluded"].items():
        yield f"{model} was dropped: {reason}"
    for model in tree["constant"]:
        yield describe.all_equal(model, len(tree["scores"][model]))
    if tree["level"]:
        yield f"{text.listed(tree['level'])} are level; the first is named"
    if tree["guarded"]:
        yield guarded(tree, sum(map(len, tree["scores"].values())))


def guarded(tree: Result | Simulated, scores: int) -> str:
    """What to think of a selection by logits of so many scores, where some reach 0 or 1."""
    return (
        f"{tree['guarded']} of {text.counted(scores, 'score')} lie within "
        f"{tree['rule']['logit_guard']:g} of 0 or 1, where one logit outweighs all others: the "
        "answer is not to be trusted; select without --logit"
    )


def answer(tree: Result) -> str:
    """The best model, how sure that is, and what it took."""
    epsilon, delta = tree["rule"].get("epsilon"), tree["rule"].get("delta")
    p, replay = tree["probability"], tree["replay"]
    best = f"within {epsilon:g} of the best" if epsilon else "best"
    probability = "" if p is None else f", {best} with probability {p:.3f}"
    spent = replay["sentence"] if replay else text.counted(tree["evaluations"], "evaluation")
    if "race" in tree:
        race = tree["race"]
        share = race["answers"] / race["all"]
        spent += f", {race['answers']} of {race['all']} answers, {share:.0%}"
    required = 1 - delta if isinstance(delta, int | float) else None
    unsure = p is not None and required is not None and p < required
    head = (
        f"no model is {best} with the required probability of {required:g}; leading: "
        if unsure
        else ""
    )
    return f"{head}{tree['best']}{probability} ({tree['reason']}; {spent})"


def print_simulation(tree: Simulated) -> None:
    """Evaluations and correctness, with their standard errors."""
    spent, correct = tree["evaluations"], tree["correct"]
    higher = tree["rule"]["higher_is_better"]
    spread = "-" if spent["standard_error"] is None else f"{spent['standard_error']:.1f}"
    error = "-" if correct["standard_error"] is None else f"{correct['standard_error']:.1%}"
    print(
        f"\n{text.counted(tree['repetitions'], 'selection')} by {tree['rule']['name']}, each "
        f"{tree['replay']['sentence']}"
    )
    print(
        f"evaluations: mean {spent['value']:.1f} (s.e. {spread}), "
        f"median {spent['median']:g}, {spent['min']:g} to {spent['max']:g}"
    )
    print(direction(tree))
    extreme, tied = "highest" if higher else "lowest", tree["recorded_best"]
    found = f"the model of the {extreme} mean"
    if len(tied) > 1:
        found = f"one of the {len(tied)} models that share the {extreme} mean"
    print(f"found {found}: {correct['value']:.1%} (s.e. {error})")
    if tree["guarded"]:
        print(guarded(tree, sum(tree["replay"]["recorded"].values())))
    print("ended:", ", ".join(f"{n} {reason}" for reason, n in tree["reasons"].items()))
    print("chosen:", ", ".join(f"{model} {n}" for model, n in tree["best"].items() if n))
    print(tree["signature"])
