"""A selection, its progress, and a simulation of many in the terminal."""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.bandits import Rule, means
from jaxeval.bandits.evaluate import Told
from jaxeval.report import folding, scores, tables, text
from jaxeval.report.selection import as_json
from jaxeval.report.selection.as_json import Result, Simulated
from jaxeval.stats import describe

_MOST_SHOWN = 4  # models in a line of progress
_MOST_ROWS = 20  # of the table, without --details


def progress(rule: Rule, event: Told, unit: str = "") -> str:
    """What happened, in a line.

    Args:
      unit: of the scores; "": not known.
    """
    spent = text.counted(event.state.evaluations, "evaluation")
    head = f"{spent} in all; {event.model}, evaluation {event.number}: "
    if event.score is None:
        return head + event.note
    known = sorted(as_json.probabilities(rule, event.state).items(), key=lambda item: -item[1])
    listed = ", ".join(f"{model} {p:.3f}" for model, p in known[:_MOST_SHOWN])
    score = scores.shown(event.score, unit) if unit else f"{event.score:g}"
    label = " ".join(filter(None, ("score", scores.label("", unit).strip() if unit else "")))
    return f"{head}{label} {score}" + (f"; P(best): {listed}" if listed else "")


def print_result(tree: Result, notes: Sequence[str] = (), details: bool = False) -> None:
    """The answer, a row a model, and what is to be known of the scores.

    Args:
      notes: of the scores' table.
      details: every model and note, all scores, and what computed it.
    """
    console = tables.console()
    console.print(f"\n{answer(tree)}", markup=False, style="bold")
    for line in (*tree.get("failed", ()), ""):
        console.print(line, markup=False, style="bold")
    head, rows = table(tree)
    shown = rows if details else _leading(tree, rows)
    tables.print_table(console, head, shown)
    if len(shown) < len(rows):
        console.print(f"{len(shown)} of {len(rows)} models; --details shows all", markup=False)
    known = [*remarks(tree), *notes]
    for note in known if details else folding.folded([("", note) for note in known], "model"):
        console.print(note, markup=False)
    for model, of in tree["scores"].items() if details else ():
        console.print(f"{model}: {', '.join(f'{score:g}' for score in of)}", markup=False)
    how = tree["signature"] if details else "--details: all scores and notes"
    console.print(f"{tree['rule']['name']} | {how}", markup=False, style="dim")


def _leading(tree: Result, rows: list[Sequence[str]]) -> list[Sequence[str]]:
    """The rows of the models that are the likeliest best ones, of many, in the given order."""
    known = tree["probability_of_best"]
    order = sorted(rows, key=lambda row: (row[0] != tree["best"], -known.get(row[0], -1.0)))
    chosen = {row[0] for row in order[:_MOST_ROWS]}
    return [row for row in rows if row[0] in chosen]


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


def remarks(tree: Result) -> Iterator[str]:
    """Which scores are better, and what to know of single models, a line each."""
    yield direction(tree)
    for model, reason in tree["excluded"].items():
        yield f"{model} was dropped: {reason}"
    for model in tree["constant"]:
        yield describe.all_equal(model, len(tree["scores"][model]))


def _guarded(tree: Result | Simulated, scores: int) -> str:
    """What to think of a selection by logits of so many scores, where some reach 0 or 1."""
    return (
        f"{tree['guarded']} of {text.counted(scores, 'score')} lie within "
        f"{tree['rule']['logit_guard']:g} of 0 or 1, where one logit outweighs all others: the "
        "answer is not to be trusted; select without --logit"
    )


def answer(tree: Result) -> str:
    """The best model, how sure that is, and what it took; first of all if nothing decides."""
    epsilon, delta = tree["rule"].get("epsilon"), tree["rule"].get("delta")
    p, replay = tree["probability"], tree["replay"]
    best = f"within {epsilon:g} of the best" if epsilon else "the best"
    spent = replay["sentence"] if replay else text.counted(tree["evaluations"], "evaluation")
    if "race" in tree:
        race = tree["race"]
        share = race["answers"] / race["all"]
        spent += f", {race['answers']} of {race['all']} answers, {share:.0%}"
    required = 1 - delta if isinstance(delta, int | float) else None
    sure = p is not None and (required is None or p >= required)
    if tree["level"]:
        head = f"Nothing decides between {text.listed(tree['level'])}; {tree['best']} is named"
        head += "" if p is None else f", with probability {p:.3f} {best}"
    elif p is None:
        head = f"{tree['best']} is chosen; how probably it is {best} is not known"
    elif sure:
        head = f"{tree['best']} is {best} with probability {p:.3f}"
    else:
        head = (
            f"No model is {best} with the required probability of {required:g}; {tree['best']} "
            f"leads with {p:.3f}"
        )
    if tree.get("failed"):
        named = head.startswith(tree["best"])
        head = f"Of the runs that finished, {head if named else head[0].lower() + head[1:]}"
    warned = f"; {_guarded(tree, sum(map(len, tree['scores'].values())))}"
    return f"{head} ({tree['reason']}; {spent}){warned if tree['guarded'] else ''}."


def print_simulation(tree: Simulated, notes: Sequence[str] = (), details: bool = False) -> None:
    """How often the best model was found and after how many evaluations; then how they ended."""
    spent, correct = tree["evaluations"], tree["correct"]
    higher = tree["rule"]["higher_is_better"]
    spread = "-" if spent["standard_error"] is None else f"{spent['standard_error']:.1f}"
    error = "-" if correct["standard_error"] is None else f"{correct['standard_error']:.1%}"
    extreme, tied = "highest" if higher else "lowest", tree["recorded_best"]
    found = f"the model of the {extreme} mean"
    if len(tied) > 1:
        found = f"one of the {len(tied)} models that share the {extreme} mean"
    warned = f"; {_guarded(tree, sum(tree['replay']['recorded'].values()))}"
    print(
        f"\n{tree['rule']['name']} found {found} in {correct['value']:.1%} (s.e. {error}) of "
        f"{text.counted(tree['repetitions'], 'selection')}, after {spent['value']:.1f} "
        f"evaluations (s.e. {spread}) on average{warned if tree['guarded'] else ''}.\n"
    )
    print(f"each selection {tree['replay']['sentence']}")
    print(
        f"evaluations: median {spent['median']:g}, least {spent['min']:g}, most {spent['max']:g}"
    )
    print(direction(tree))
    print("ended:", ", ".join(f"{n} {reason}" for reason, n in tree["reasons"].items()))
    print("chosen:", ", ".join(f"{model} {n}" for model, n in tree["best"].items() if n))
    for note in notes if details else folding.folded([("", note) for note in notes], "model"):
        print(note)
    print(tree["signature"] if details else "--details: every note, and what computed it")
