"""A search, its progress and its plan in the terminal."""

import collections
import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from jaxeval.files import Json
from jaxeval.report import scores, tables, text
from jaxeval.report.tuning import as_json
from jaxeval.report.tuning.as_json import Metric, Result
from jaxeval.stats.results import Interval
from jaxeval.tuning import history as histories
from jaxeval.tuning import posterior, threads
from jaxeval.tuning.history import Evaluation, History
from jaxeval.tuning.search import Search

_MOST_SHOWN = 10  # settings of the table
_MOST_CAUSES = 5  # of failures
# of an exit code the number is the cause
_NUMBER = re.compile(r"(?<!exit code )(?<![\d.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)


def progress(
    search: Search,
    history: History,
    trials: int,
    metric: Metric,
    seconds: float,
    retrain: int = 0,
) -> str:
    """How far a search is, its best score so far, and the best posterior mean, in a line.

    Args:
      seconds: that it took so far.
      retrain: fresh seeds that follow, which the time that is left is without.
    """
    ended = len(histories.ended(history))
    left = text.duration(seconds / max(1, ended) * max(0, trials - ended))
    head = f"{ended} of {trials} {unit(search.adaptive)}s, about {left} left"
    head += ", then retraining" if retrain else ""
    best = histories.best(history)
    if best is None:
        return f"{head}; no score yet"
    said = f"{head}; best {_shown(best.scores, metric)} (setting {best.numbers[0]})"
    if search.method != "gp":
        return said
    with threads.one():
        first = posterior.describe(search.space, history, search.seed)[0]
    expected = float(as_json.possible(first.mean, metric.unit))
    mean, sd = (scores.shown(v, metric.unit) for v in (expected, first.sd))
    said += f"; posterior mean {mean} of setting {first.setting.numbers[0]}"
    if not posterior.noise_known(history):
        # sd and probability would be those of the prior
        return said
    return f"{said} (sd {sd}), the best among those evaluated with probability {first.best:.2f}"


def unit(adaptive: bool) -> str:
    """What `--trials` counts: with adaptive seeds a setting may be evaluated several times."""
    return "evaluation" if adaptive else "setting"


def known(search: Search, count: int) -> str:
    """How much a search goes on from, in words."""
    return f"goes on from {text.counted(count, unit(search.adaptive))} with results"


def ended(evaluation: Evaluation, metric: Metric) -> str:
    """What came of one evaluation, in a line."""
    result = evaluation.result
    assert result is not None
    said = result.failure or _shown(result.scores, metric)
    if result.stopped is not None:
        said += f", stopped after {result.stopped.epochs} of {result.stopped.of} epochs"
    return f"setting {evaluation.number}: {said}; {values(evaluation.values)}"


def values(of: Mapping[str, Json]) -> str:
    """A setting in words."""
    return ", ".join(f"{name} {value(number)}" for name, number in of.items())


def value(of: Json) -> str:
    """Of a hyperparameter, floats to four digits."""
    return f"{of:.4g}" if isinstance(of, float) else of if isinstance(of, str) else json.dumps(of)


def _shown(sample: Sequence[float], metric: Metric) -> str:
    label = scores.label(metric.name, metric.unit)
    mean = scores.shown(statistics.fmean(sample), metric.unit)
    return f"{label} {mean}" + (f" (mean of {len(sample)} seeds)" if len(sample) > 1 else "")


def print_result(tree: Result) -> None:
    """The best settings, what failed, and the answer."""
    console = tables.console()
    console.print()
    head, rows = table(tree)
    tables.print_table(console, head, rows, ())
    if len(scored(tree)) > len(rows):
        console.print(f"the best {len(rows)} of {len(scored(tree))} settings", markup=False)
    for line in notes(tree):
        console.print(line, markup=False)
    for line in answer(tree):
        console.print(line, markup=False, style="bold")
    search = tree["search"]
    console.print(
        f"{search['method']}, seed {search['seed']} | {tree['signature']}",
        markup=False,
        style="dim",
    )


class Scored(NamedTuple):
    """A setting of the table.

    Attributes:
      scores: of all its seeds.
      stopped: epochs that it had, of how many, where halving stopped it.
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
    """Head, and a row for each of the best settings; their epochs where they were stopped."""
    chosen = scored(tree)[:_MOST_SHOWN]
    names = [name for name in _names(tree) if any(name in of.values for of in chosen)]
    epochs = ["epochs"] if any(of.stopped for of in chosen) else []
    head = ["setting", "seeds", *epochs, scores.label(tree["metric"], tree["unit"]), *names]
    rows: list[Sequence[str]] = [
        [
            str(of.number),
            str(len(of.scores)),
            *("{} of {}".format(*of.stopped) if of.stopped else "all" for _ in epochs),
            scores.shown(statistics.fmean(of.scores), tree["unit"]),
            *(value(of.values.get(name, "-")) for name in names),
        ]
        for of in chosen
    ]
    return head, rows


def _names(tree: Result) -> list[str]:
    space = tree["search"]["space"]
    assert isinstance(space, Mapping)
    return list(space)


def notes(tree: Result) -> Iterator[str]:
    """What failed, what was stopped, and what noise does to the order of the table."""
    what = unit(bool(tree["search"]["adaptive"]))
    for count, cause in causes(tree["failures"]):
        yield f"{text.counted(count, what)} failed: {cause}"
    yield from _stopped(tree)
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
    epochs = [e["stopped"][0] for e in evaluations if "stopped" in e]
    if epochs:
        after = " to ".join(map(str, sorted({min(epochs), max(epochs)})))
        said = text.counted(len(epochs), "setting")
        yield f"{said} stopped early by halving (epoch {after}), and cannot be taken"


def causes(failures: Mapping[str, int]) -> list[tuple[int, str]]:
    """The most frequent causes of failures, those that differ in numbers alone as one.

    Args:
      failures: cause -> how many.

    Returns:
      (how many, cause); the last may be all others.
    """
    alike: dict[str, list[str]] = {}
    for cause in failures:
        alike.setdefault(_NUMBER.sub("#", cause), []).append(cause)
    groups = [
        (sum(failures[cause] for cause in of), of[0] + (" (numbers differ)" if of[1:] else ""))
        for of in alike.values()
    ]
    groups.sort(key=lambda group: -group[0])
    shown, others = groups[:_MOST_CAUSES], groups[_MOST_CAUSES:]
    if others:
        count = sum(group[0] for group in others)
        shown.append((count, f"{text.counted(len(others), 'other cause')}; --json has all"))
    return shown


def answer(tree: Result) -> Iterator[str]:
    """The setting to take, and what it is worth."""
    best = tree["best"]
    if best is None:
        yield f"no setting has a score ({tree['reason']})"
        return
    metric = Metric(tree["metric"], tree["unit"])
    spent = text.counted(tree["trials"], unit(bool(tree["search"]["adaptive"])))
    by = "posterior mean" if tree["search"]["method"] == "gp" else "mean"
    shown = _shown(best["scores"], metric)
    yield f"\nbest {by}: setting {best['numbers'][0]}, {shown} in the search"
    yield f"  {values(best['values'])}"
    yield f"  ({tree['reason']}; {spent}, {text.duration(tree['seconds'])})"
    yield from _retrained(tree)


def _retrained(tree: Result) -> Iterator[str]:
    again: Any = tree["retrained"]
    if again is None:
        if not tree["seeded"]:
            yield (
                "not trained again: --command has no {seed}, so that all seeds of a setting are "
                "the same run"
            )
        return
    for count, cause in causes(collections.Counter(again["failures"])):
        yield f"retrained: {text.counted(count, 'fresh seed')} failed: {cause}"
    for part, summary in again["parts"].items():
        mean = scores.shown(summary["mean"], tree["unit"])
        interval = _interval(summary["mean_interval"], tree["unit"])
        seeds = text.counted(summary["n"], "fresh seed")
        sd = f", sd {scores.shown(summary['sd'], tree['unit'])}" if summary["sd"] else ""
        yield f"retrained with {seeds}: {part} {mean}{interval}{sd}"
        if summary["n"] > 1 and summary["mean_interval"] is None:
            yield (
                f"{part}: its {summary['n']} scores are equal, so their spread is not known; do "
                "they depend on the seed?"
            )
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


def _interval(bounds: Mapping[str, Any] | None, unit: str) -> str:
    if bounds is None:
        return ""
    of = Interval(**bounds)
    low, high = (scores.shown(end, unit) for end in (of.low, of.high))
    return f", {text.confidence(of)} ({of.method}) [{low}, {high}]"
