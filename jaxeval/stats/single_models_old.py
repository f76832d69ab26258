"""Tests on the items of a part, of one trained model a method: their population is the items.

Beside tests over seeds, which speak of the methods: two networks of one method can differ by these
tests as surely as two of different methods (Reimers & Gurevych 2017, 2018).
"""

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.runs import counts as counted
from jaxeval.runs.counts import Score
from jaxeval.runs.trained import TrainedModel
from jaxeval.stats import examples, multiple
from jaxeval.stats.results import Effect, HypothesisTest
from jaxeval.stats.rules import Rules

ITERATIONS = 1_000_000  # as Reimers & Gurevych (2017)
_KEEP = "train --outputs keeps them (with --again, of members that have ended)"
# what the truth alone says of an item: equal where items are the same
_OF_CLASS = re.compile("gold_[0-9]+")
_OF_TRUTH = re.compile(f"words|gold_spans|tokens|items|symbols|targets|{_OF_CLASS.pattern}")


class CountScoring(NamedTuple):
    """How a metric follows from the counts of items, summed.

    Attributes:
      columns: names of the counts.
      score: sums [..., columns] -> [...].
    """

    columns: tuple[str, ...]
    score: Score


@dataclasses.dataclass(frozen=True)
class SinglePair:
    """Two trained models on the items that both were scored on.

    Attributes:
      scores: of both, from the items' counts.
      tests: function name -> test; McNemar's where each item is right or wrong.
      adjusted: function name -> p-value corrected over all pairs.
      difference: A - B, with the interval of a paired bootstrap over items.
    """

    a: TrainedModel
    b: TrainedModel
    items: int
    scores: tuple[float, float]
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]
    difference: Effect


@dataclasses.dataclass(frozen=True)
class SingleModels:
    """All pairs, and why others are not tested."""

    pairs: tuple[SinglePair, ...]
    notes: tuple[str, ...]


def compare(
    trained: Sequence[TrainedModel],
    rules: Rules,
    control: str | None = None,
    iterations: int = ITERATIONS,
) -> SingleModels:
    """Tests all pairs of models on the same data, one trained model of each.

    Args:
      trained: the first of each model and data set stands for it.
      control: only pairs with this model.
      iterations: shuffles of approximate randomisation.
    """
    trained = [*{(of.model, of.dataset): of for of in reversed(trained)}.values()][::-1]
    unkept = [model for model in trained if model.counts is None]
    if unkept:
        names = ", ".join(dict.fromkeys(model.model for model in unkept))
        return SingleModels((), (f"No tests on single items: {names} without outcomes; {_KEEP}.",))
    notes, pairs = [], []
    for a, b in itertools.combinations(trained, 2):
        if a.dataset != b.dataset or control not in (None, a.model, b.model):
            continue
        reason = differing(a, b)
        if reason:
            notes.append(f"No tests on single items of {a.model} and {b.model}: {reason}.")
        else:
            pairs.append(_pair(a, b, rules, iterations))
    return SingleModels(tuple(_corrected(pairs, rules)), tuple(notes))


def scoring(metric: str, names: Sequence[str]) -> CountScoring | None:
    """How a metric is computed from counts of these names; None: unknown."""
    known = [*_SCORINGS.get(metric, ())]
    if metric == "macro_f1":
        classes = sum(bool(_OF_CLASS.fullmatch(name)) for name in names)
        kinds = ("right", "predicted", "gold")
        columns = tuple(f"{kind}_{k}" for k in range(classes) for kind in kinds)
        known = [CountScoring(columns, counted.macro_f1)] if classes else []
    return next((s for s in known if set(s.columns) <= set(names)), None)


def _best_f1(counts: np.ndarray) -> np.ndarray:
    """The better F1 of two repairs, of counts [..., 5] (the rule `ukp`)."""
    gold = counts[..., 4:]
    begun, dropped = counts[..., :2], counts[..., 2:4]
    both = (counted.f1(np.concatenate([c, gold], axis=-1)) for c in (begun, dropped))
    return np.maximum(*both)


def _bits(counts: np.ndarray) -> np.ndarray:
    return counted.ratio(counts) / math.log(2)


def _perplexity(counts: np.ndarray) -> np.ndarray:
    return np.exp(counted.ratio(counts))


_SPANS = ("right_spans", "predicted_spans")
_DROPPED = ("right_spans_dropped", "predicted_spans_dropped")
# by metric; the first whose counts were kept holds
_SCORINGS = {
    "f1": (
        CountScoring((*_SPANS, *_DROPPED, "gold_spans"), _best_f1),
        CountScoring((*_SPANS, "gold_spans"), counted.f1),
    ),
    "accuracy": (
        CountScoring(("right_words", "words"), counted.ratio),
        CountScoring(("right", "items"), counted.ratio),
        CountScoring(("right", "targets"), counted.ratio),
    ),
    "perplexity": (CountScoring(("nats", "tokens"), _perplexity),),
    "bits": (CountScoring(("nats", "tokens"), _bits),),
}


def columns(of: TrainedModel, names: Sequence[str]) -> np.ndarray:
    """[items, names] counts of these names, float64; they must have been kept."""
    assert of.counts is not None
    return of.counts[:, [of.names.index(name) for name in names]].astype(np.float64)


def differing(a: TrainedModel, b: TrainedModel) -> str:
    """Why two models cannot be compared item by item; "" if they can."""
    truth = [sorted(filter(_OF_TRUTH.fullmatch, of.names)) for of in (a, b)]
    same_data = a.member.data_hash == b.member.data_hash and a.part == b.part
    if not same_data or truth[0] != truth[1]:
        return "they were scored on different data"
    first, second = (columns(of, truth[0]) for of in (a, b))
    if not np.array_equal(first, second):
        return "their items differ (texts cut into other windows, or other random splits)"
    if a.names != b.names or scoring(a.member.metric, a.names) is None:
        return f"what was kept does not give {a.member.metric}"
    if not all(np.isfinite(of.counts).all() for of in (a, b) if of.counts is not None):
        return "a model's log-likelihood is not finite"
    return ""


def _pair(a: TrainedModel, b: TrainedModel, rules: Rules, iterations: int) -> SinglePair:
    how = scoring(a.member.metric, a.names)
    assert how is not None
    first, second = (columns(of, how.columns) for of in (a, b))
    tests = {
        "approximate_randomization": examples.approximate_randomization(
            first, second, score=how.score, iterations=iterations, seed=rules.seed
        )
    }
    if how.score is counted.ratio and np.all(first[:, 1] == 1):
        tests["mcnemar"] = examples.mcnemar(first[:, 0], second[:, 0])
    difference = examples.paired_bootstrap(
        first,
        second,
        score=how.score,
        confidence=rules.confidence,
        resamples=rules.resamples,
        seed=rules.seed,
    )
    scores = float(how.score(first.sum(0))), float(how.score(second.sum(0)))
    return SinglePair(a, b, len(first), scores, tests, {}, difference)


def _corrected(pairs: Sequence[SinglePair], rules: Rules) -> Iterator[SinglePair]:
    """The pairs with p-values corrected over them, each test by itself."""
    p_values = [{name: test.p_value for name, test in pair.tests.items()} for pair in pairs]
    adjusted = multiple.adjust_by_name(p_values, rules.correction)
    for pair, p_adjusted in zip(pairs, adjusted, strict=True):
        yield dataclasses.replace(pair, adjusted=p_adjusted)
