"""How many analogy questions word vectors answer; of those covered, and of all.

A question is covered if a, b, c and one of its answers have a vector. The two shares can differ
many times over, so both are given.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.stats import resampled
from jaxeval.stats.results import Interval
from jaxeval.vectors import analogies, differences, lookup
from jaxeval.vectors.analogies import Method
from jaxeval.vectors.differences import Difference, LeftOut, Resampling
from jaxeval.vectors.lookup import Lookup
from jaxeval.vectors.questions import Questions

_ITEMS = "pairs of words within sections (pigeonhole)"


class Answered(NamedTuple):
    """What one file answers."""

    covered: np.ndarray  # [Q] bool
    right: np.ndarray  # [Q] bool, False where not covered


class Accuracy(NamedTuple):
    """Shares of right answers."""

    right: int
    covered: int
    total: int

    @property
    def of_covered(self) -> float | None:
        return self.right / self.covered if self.covered else None

    @property
    def of_all(self) -> float:
        return self.right / self.total


@dataclasses.dataclass(frozen=True)
class Score:
    """Of one file."""

    overall: Accuracy
    interval: Interval | None  # of the share of those covered
    groups: Mapping[str, Accuracy]
    sections: Mapping[str, Accuracy]


@dataclasses.dataclass(frozen=True)
class OnQuestions:
    """All files on one set of questions by one method."""

    name: str
    method: Method
    scores: Mapping[str, Score]  # by file
    compared_on: int  # questions that all files cover
    differences: tuple[Difference, ...]  # of shares of those
    left_out: tuple[LeftOut, ...] = ()  # of the differences


def answer(
    questions: Questions, vectors: Lookup, method: Method, lower_case: bool = True
) -> Answered:
    """Which questions a file covers and answers; all its words are candidates."""
    columns = zip(*questions.asked, strict=True)
    rows = np.stack([_rows(vectors, words, lower_case) for words in columns], axis=1)
    most = max(map(len, questions.answers))
    padded = [
        [*_rows(vectors, words, lower_case), *[-1] * (most - len(words))]
        for words in questions.answers
    ]
    gold = np.array(padded, np.int64)  # [Q, most]
    covered = np.all(rows >= 0, axis=1) & np.any(gold >= 0, axis=1)
    right = np.zeros(covered.shape, bool)
    if covered.any():
        predicted = analogies.solve(vectors.unit, rows[covered], method)
        right[covered] = (gold[covered] == predicted[:, None]).any(axis=1)
    return Answered(covered, right)


def evaluate(
    questions: Questions,
    method: Method,
    answered: Mapping[str, Answered],
    resampling: Resampling | None = None,
) -> OnQuestions:
    """Accuracies of every file, and differences of any two on questions that all files cover.

    Files with which no question is left are left out of the differences, and named.
    """
    resampling = Resampling() if resampling is None else resampling
    scores = {name: _score(questions, answers, resampling) for name, answers in answered.items()}
    covered = {name: answers.covered for name, answers in answered.items()}
    names, common, left_out = differences.comparable(covered, _all_without_questions)
    right = np.stack([answered[name].right[common] for name in names])
    between: tuple[Difference, ...] = ()
    if len(names) > 1:
        draws = _draws(questions, common, right, resampling)
        shares = right.mean(axis=1).tolist()
        between = differences.between(names, shares, draws, int(common.sum()), resampling, _ITEMS)
    return OnQuestions(questions.name, method, scores, int(common.sum()), between, left_out)


def _all_without_questions(names: Sequence[str], common: np.ndarray) -> Sequence[str]:
    return () if common.any() else names


def _rows(vectors: Lookup, words: tuple[str, ...], lower_case: bool) -> np.ndarray:
    return vectors.rows(lookup.word_of(word, lower_case) for word in words)


def _score(questions: Questions, answered: Answered, resampling: Resampling) -> Score:
    interval = None
    if answered.covered.any():
        draws = _draws(
            questions, answered.covered, answered.right[None, answered.covered], resampling
        )
        method = resampling.method(_ITEMS)
        interval = resampled.interval(draws[:, 0], resampling.confidence, method)
    sections = {
        name: _accuracy(answered, questions.section == number)
        for number, name in enumerate(questions.sections)
    }
    group = np.array(questions.groups)[questions.section]
    groups = {name: _accuracy(answered, group == name) for name in dict.fromkeys(questions.groups)}
    everything = np.ones(len(group), bool)
    return Score(_accuracy(answered, everything), interval, groups, sections)


def _accuracy(answered: Answered, part: np.ndarray) -> Accuracy:
    right, covered = answered.right[part], answered.covered[part]
    return Accuracy(int(right.sum()), int(covered.sum()), int(part.sum()))


def _draws(
    questions: Questions, chosen: np.ndarray, right: np.ndarray, resampling: Resampling
) -> np.ndarray:
    """Shares of right answers [B, V] on resamples of the units of some questions."""
    used, where = np.unique(
        np.concatenate([questions.first[chosen], questions.second[chosen]]), return_inverse=True
    )
    first, second = where[: chosen.sum()], where[chosen.sum() :]
    return resampled.crossed_draws(
        right,
        first,
        second,
        questions.strata[used],
        resamples=resampling.resamples,
        seed=resampling.seed,
    )
