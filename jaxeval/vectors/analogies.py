"""Answers to analogy questions: the word whose vector is nearest to b - a + c.

Notation: Q questions, V candidate words, W words in questions, D vector size. Most questions share
their words: with the cosines of W words to a block of candidates at hand [W, block], a question
costs three rows of it, not a product of its own.
"""

from collections.abc import Callable
from concurrent import futures
from typing import Literal

import numpy as np

from jaxeval import machine

Method = Literal["3CosAdd", "3CosMul"]
METHODS: tuple[Method, ...] = ("3CosAdd", "3CosMul")
_SMALL = 0.001  # of 3CosMul's denominator (Levy & Goldberg 2014, eq. 4)
_CANDIDATES = 1024  # at a time
_QUESTIONS = 128
_MOST_COSINES = 1 << 22  # at a time


def solve(unit: np.ndarray, triples: np.ndarray, method: Method) -> np.ndarray:
    """The answer to each question: the candidate [Q] of the highest score, none of a, b and c.

    3CosAdd: cos(d, b) - cos(d, a) + cos(d, c) (Mikolov, Yih & Zweig 2013). 3CosMul: s(d, b)
    s(d, c) / (s(d, a) + .001) with s = (1 + cos) / 2 (Levy & Goldberg 2014, eq. 4). Of equal
    scores the first candidate's counts.

    Args:
      unit: [V, D] float32, rows of length 1; all are candidates.
      triples: [Q, 3] rows of a, b and c.
    """
    words, where = np.unique(triples, return_inverse=True)
    where = where.reshape(triples.shape)
    best = np.full(len(triples), -np.inf, np.float32)
    answer = np.zeros(len(triples), np.int64)
    width = max(1, min(_CANDIDATES, _MOST_COSINES // len(words)))
    parts = [slice(k, k + _QUESTIONS) for k in range(0, len(triples), _QUESTIONS)]
    with futures.ThreadPoolExecutor(machine.cores()) as pool:
        for start in range(0, len(unit), width):
            score = _scorer(unit[words] @ unit[start : start + width].T, method)

            def improve(part: slice, start: int = start, score: Score = score) -> None:
                scores = score(*where[part].T)
                _exclude(scores, triples[part] - start)
                column = scores.argmax(axis=1)
                highest = scores[np.arange(len(column)), column]
                better = highest > best[part]
                best[part][better] = highest[better]
                answer[part][better] = column[better] + start

            list(pool.map(improve, parts))
    return answer


Score = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _scorer(cosines: np.ndarray, method: Method) -> Score:
    """The scores [q, block] of questions with these a, b and c [q], rows of cosines [W, block]."""
    if method == "3CosAdd":

        def add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
            scores = cosines[b]
            scores -= cosines[a]
            scores += cosines[c]
            return scores

        return add
    similar = (1 + cosines) / 2
    inverse = 1 / (similar + np.float32(_SMALL))

    def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        scores = similar[b]
        scores *= similar[c]
        scores *= inverse[a]
        return scores

    return multiply


def _exclude(scores: np.ndarray, columns: np.ndarray) -> None:
    """Takes the words of the questions [q, 3] out of the candidates [q, block]."""
    for column in columns.T:
        inside = np.flatnonzero((column >= 0) & (column < scores.shape[1]))
        scores[inside, column[inside]] = -np.inf
