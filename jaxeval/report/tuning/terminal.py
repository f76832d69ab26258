"""The outcome of a search in the terminal: the answer first."""

import collections
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jaxeval.report import folding, scores, tables, text
from jaxeval.report.tuning import as_json, importance, progress
from jaxeval.report.tuning.as_json import Best, Metric, Result
from jaxeval.stats.results import Interval
from jaxeval.tuning import history as histories

if TYPE_CHECKING:
    from rich.console import Console

_MOST_SHOWN = 10  # settings of the table
_MOST_CAUSES = 5  # of failures


def print_result(tree: Result, details: bool = False) -> None:
    """The answer, the best settings, a line a hyperparameter of the one taken, what failed.

    Args:
      details: also the noise, the optimism, and what computed it all.
    """
    console = tables.console()
    console.print()
    console.print(sentence(tree), markup=False, style="bold")
    console.print()
    head, rows = table(tree)
    tables.print_table(console, head, rows, ())
    if len(scored(tree)) > len(rows):
        console.print(f"the best {len(rows)} of {len(scored(tree))} settings", markup=False)
    _print_taken(console, tree)
    for line in [*losses(tree), *([*notes(tree), *worth(tree)] if details else ())]:
        console.print(line, markup=False)
    search = tree["search"]
    how = tree["signature"] if details else "--details: noise and optimism"
    console.print(
        f"{search['method']}, seed {search['seed']}, {text.duration(tree['seconds'])}, "
        f"{tree['reason']} | {how}",
        markup=False,
        style="dim",
    )


def _print_taken(console: "Console", tree: Result) -> None:
    """A line a hyperparameter of the setting that is taken."""
    best, of = tree["best"], tree["posterior"]
    if best is None:
        return
    console.print()
    if of is None:
        known = [(name, progress.value(value)) for name, value in best["values"].items()]
        tables.print_table(console, ("hyperparameter", "value"), known, (0, 1))
        return
    explained = {row["name"]: f"{row['total']:.2f}" for row in of["importance"]}
    rows = [(*row, explained.get(row[0], "-")) for row in importance.neighbourhood(of)]
    head = ("hyperparameter", "value", "not told apart from it", "importance (model)")
    tables.print_table(console, head, rows, (0, 1, 2))


class Scored(NamedTuple):
    """A setting of the table.

    Attributes:
      scores: of all its seeds.
      stopped: steps that it had, of how many, where halving stopped it.
    """

    number: int
    values: Mapping[str, Any]
    scores: list[float]
    stopped: Sequence[int] | None = None


def scored(tree: Result) -> list[Scored]:
    """The settings that can be taken, best mean first; all with scores where none can."""
    pooled: dict[str, Scored] = {}
    failed = set()
    for e in cast(Sequence[Mapping[str, Any]], tree["evaluations"]):
        identity = histories.identity(e["values"])
        if "failure" in e:
            failed.add(identity)
        if "scores" in e:
            new = Scored(e["number"], e["values"], [], e.get("stopped"))
            pooled.setdefault(identity, new).scores.extend(e["scores"])
    able = [of for name, of in pooled.items() if name not in failed and of.stopped is None]
    sign = -1.0 if tree["higher_is_better"] else 1.0
    return sorted(able or pooled.values(), key=lambda of: sign * statistics.fmean(of.scores))


def table(tree: Result) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Head, and a row for each of the best settings; their steps where they were stopped."""
    chosen = scored(tree)[:_MOST_SHOWN]
    names = [name for name in _names(tree) if any(name in of.values for of in chosen)]
    steps = ["steps"] if any(of.stopped for of in chosen) else []
    head = ["setting", "seeds", *steps, scores.label(tree["metric"], tree["unit"]), *names]
    rows: list[Sequence[str]] = [
        [
            str(of.number),
            str(len(of.scores)),
            *("{} of {}".format(*of.stopped) if of.stopped else "all" for _ in steps),
            scores.shown(statistics.fmean(of.scores), tree["unit"]),
            *(progress.value(of.values.get(name, "-")) for name in names),
        ]
        for of in chosen
    ]
    return head, rows


def _names(tree: Result) -> list[str]:
    space = tree["search"]["space"]
    assert isinstance(space, Mapping)
    return list(space)


def losses(tree: Result) -> Iterator[str]:
    """What failed, and what was stopped."""
    what = progress.unit(bool(tree["search"]["adaptive"]))
    for count, cause in causes(tree["failures"]):
        yield f"{text.counted(count, what)} failed: {cause}"
    yield from _stopped(tree)
    again: Any = tree["retrained"] or {}
    for count, cause in causes(collections.Counter(again.get("failures", ()))):
        yield f"retrained: {text.counted(count, 'fresh seed')} failed: {cause}"


def notes(tree: Result) -> Iterator[str]:
    """What noise does to the order of the table."""
    noise, df, seeds = tree["noise"], tree["noise_df"], tree["search"]["seeds"]
    assert isinstance(seeds, int)
    if not noise:
        return
    said = f"sd of one seed's score: {scores.shown(noise, tree['unit'])}"
    said += f" ({text.counted(df, 'degree')} of freedom)"
    if df >= as_json.LEAST_DF and not tree["search"]["adaptive"] and len(scored(tree)) > 1:
        # of a difference of two means of `seeds` scores each
        least = as_json.two_sided(df) * (2 / seeds) ** 0.5 * noise
        said += (
            "; two settings chosen beforehand differ by more than that noise if they are "
            f"{scores.shown(least, tree['unit'])} apart; two that are picked from the table for "
            "being far apart may be so by chance"
        )
    yield said


def _stopped(tree: Result) -> Iterator[str]:
    """How many settings had not their whole training."""
    evaluations = cast(Sequence[Mapping[str, Any]], tree["evaluations"])
    steps = [e["stopped"][0] for e in evaluations if "stopped" in e]
    if steps:
        after = " to ".join(map(str, sorted({min(steps), max(steps)})))
        said = text.counted(len(steps), "setting")
        taken = "" if tree["best"] is None or tree["best"]["stopped"] else ", and cannot be taken"
        yield f"{said} stopped early by halving (step {after}){taken}"


def causes(failures: Mapping[str, int]) -> list[tuple[int, str]]:
    """The most frequent causes of failures, those that differ in numbers alone as one.

    Args:
      failures: cause -> how many.

    Returns:
      (how many, cause); the last may be all others.
    """
    groups = folding.alike(failures)
    shown, others = groups[:_MOST_CAUSES], groups[_MOST_CAUSES:]
    if others:
        count = sum(group[0] for group in others)
        shown.append((count, f"{text.counted(len(others), 'other cause')}; --json has all"))
    return shown


def sentence(tree: Result) -> str:
    """The setting to take, what it is worth, and what is not shown, in a sentence."""
    best = tree["best"]
    if best is None:
        return f"No setting has a score ({tree['reason']})."
    metric = Metric(tree["metric"], tree["unit"])
    spent = text.counted(tree["trials"], progress.unit(bool(tree["search"]["adaptive"])))
    by = "posterior mean" if tree["search"]["method"] == "gp" else "mean"
    seen = progress.score(best["scores"], metric)
    return (
        f"Take setting {best['numbers'][0]}, the best {by} of {spent}: {seen} in the search"
        f"{_halved(best)}; {_fresh(tree)}; {_unsure(tree)}."
    )


def _halved(best: Best) -> str:
    """Of how few steps its score is, where no setting had its whole training."""
    if best["stopped"] is None:
        return ""
    steps, of = best["stopped"]
    return f" after {steps} of {of} steps, as halving stopped every setting"


def _fresh(tree: Result) -> str:
    """What the setting that is taken is worth with seeds that no choice has seen."""
    again: Any = tree["retrained"]
    if again is None or not again["parts"]:
        why = "" if tree["seeded"] else " (--command has no {seed})"
        failed = "no fresh seed has a score" if again else f"not trained again{why}"
        return f"{failed}, so what it is worth is not known"
    means = [
        f"{part} {scores.shown(of['mean'], tree['unit'])}"
        + (
            _interval(of["mean_interval"], tree["unit"], short=True)
            or (" each (do they depend on the seed?)" if of["n"] > 1 else "")
        )
        for part, of in again["parts"].items()
    ]
    count = max(of["n"] for of in again["parts"].values())
    gives = "gives" if count == 1 else "give"
    return f"{text.counted(count, 'fresh seed')} {gives} {', '.join(means)}"


def _unsure(tree: Result) -> str:
    """What is not known of the other settings."""
    of = tree["posterior"]
    if len(scored(tree)) < 2:
        return "there is no other with a score"
    if tree["noise"] is None:
        return "no difference between settings can be called real: none has two scores that differ"
    if of is None:
        return "whether it is better than the others was not tested"
    others = len(of["alike"]) - 1
    many = f"{others} {'other is' if others == 1 else 'others are'} not"
    known = "" if of["noise_known"] else ", which knows the noise of a score by its prior alone"
    return f"{many if others else 'all others are'} told apart from it by the model{known}"


def worth(tree: Result) -> Iterator[str]:
    """The setting that is taken with fresh seeds, and how far the search's scores lie above."""
    again: Any = tree["retrained"]
    if again is None:
        return
    for part, summary in again["parts"].items():
        mean = scores.shown(summary["mean"], tree["unit"])
        interval = _interval(summary["mean_interval"], tree["unit"])
        seeds = text.counted(summary["n"], "fresh seed")
        sd = f", sd {scores.shown(summary['sd'], tree['unit'])}" if summary["sd"] else ""
        yield f"retrained with {seeds}: {part} {mean}{interval}{sd}"
    yield from _optimism(tree, again)


def _optimism(tree: Result, again: Mapping[str, Any]) -> Iterator[str]:
    """Of the best score seen, and of the setting taken where that is another one."""
    highest, taken = again["optimism"], again["optimism_of_taken"]
    if highest is None:
        return
    searched, *others = again["parts"]
    mean = f"the {searched} mean with fresh seeds" if others else "the mean with fresh seeds"
    yield f"optimism of the search: {_difference('the best score seen', highest, tree, mean)}"
    if taken["setting"] != highest["setting"]:
        said = _difference("its score in the search", taken, tree, mean)
        yield f"optimism of the setting taken: {said}"


def _difference(what: str, optimism: Mapping[str, Any], tree: Result, mean: str) -> str:
    """A score of the search and the mean with fresh seeds, whichever is to be the larger first."""
    value, seen = (scores.shown(optimism[name], tree["unit"]) for name in ("value", "seen"))
    of = f"setting {optimism['setting']}, {text.counted(optimism['seeds'], 'seed')}"
    score = f"{what}, {seen} ({of})"
    order = (score, mean) if tree["higher_is_better"] else (mean, score)
    interval = _interval(optimism["interval"], tree["unit"])
    return f"{order[0]}, less {order[1]}: {value}{interval}"


def _interval(bounds: Mapping[str, Any] | None, unit: str, short: bool = False) -> str:
    if bounds is None:
        return ""
    of = Interval(**bounds)
    low, high = (scores.shown(end, unit) for end in (of.low, of.high))
    kind = text.confidence(of) + ("" if short else f" ({of.method})")
    return f", {kind} [{low}, {high}]"
