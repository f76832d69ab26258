"""Analogies against a loop over all candidates."""

import numpy as np
import pytest

from jaxeval.vectors import accuracy, analogies
from jaxeval.vectors.differences import Resampling
from jaxeval.vectors.lookup import Lookup
from jaxeval.vectors.questions import Questions


def _unit(words: int, size: int, seed: int = 0) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(words, size))
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)


def _loop(unit: np.ndarray, question: np.ndarray, method: str) -> int:
    best, answer = -np.inf, -1
    for d in range(len(unit)):
        if d in question:
            continue
        a, b, c = (float(unit[d].astype(float) @ unit[row].astype(float)) for row in question)
        if method == "3CosAdd":
            score = b - a + c
        else:
            score = (1 + b) / 2 * (1 + c) / 2 / ((1 + a) / 2 + 0.001)
        if score > best:
            best, answer = score, d
    return answer


@pytest.mark.parametrize("method", analogies.METHODS)
@pytest.mark.parametrize("at_once", [7, 1024])
def test_every_answer_is_the_loops(
    method: analogies.Method, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a block's answer is not numbered from its start, or query words are candidates."""
    monkeypatch.setattr(analogies, "_CANDIDATES", at_once)
    monkeypatch.setattr(analogies, "_QUESTIONS", 9)
    unit = _unit(60, 4)
    triples = np.random.default_rng(1).integers(0, 60, (50, 3))
    solved = analogies.solve(unit, triples, method)
    assert solved.tolist() == [_loop(unit, question, method) for question in triples]


@pytest.mark.parametrize("method", analogies.METHODS)
def test_the_first_of_equal_candidates(
    method: analogies.Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a later block replaces an equal score: answers would depend on the block's size."""
    unit = np.concatenate([_unit(6, 3)] * 3)
    triples = np.array([[0, 1, 2], [3, 4, 5]])
    whole = analogies.solve(unit, triples, method)
    monkeypatch.setattr(analogies, "_CANDIDATES", 1)
    np.testing.assert_array_equal(analogies.solve(unit, triples, method), whole)


def _questions() -> Questions:
    """Four units a section, each with each; the words of unit k are ak and bk."""
    triples, answers, section, first, second = [], [], [], [], []
    for s in range(2):
        for i in range(4 * s, 4 * s + 4):
            for j in range(4 * s, 4 * s + 4):
                if i != j:
                    triples.append((f"a{i}", f"B{i}", f"a{j}"))
                    answers.append((f"b{j}", "other"))
                    section.append(s)
                    first.append(i)
                    second.append(j)
    numbers = (np.array(values) for values in (section, first, second))
    section, first, second = numbers
    groups = ("semantic", "syntactic")
    return Questions(
        "q", triples, answers, section, ("s", "gram"), groups, first, second, section[::3]
    )


def _lookup(words: list[str], seed: int) -> Lookup:
    """Vectors in which b is a and one direction, so that analogies hold; with noise."""
    generator = np.random.default_rng(seed)
    base = {word[1:]: generator.normal(size=12) for word in words}
    table = np.array([base[w[1:]] + 2 * (w[0] == "b") for w in words])
    table += generator.normal(size=table.shape) * 0.6
    unit = (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)
    return Lookup({word: row for row, word in enumerate(words)}, unit)


WORDS = [f"{letter}{k}" for k in range(8) for letter in "ab"]


def test_accuracy_of_covered_and_of_all() -> None:
    """Dies if questions without a vector count as covered, or answers but the first as wrong."""
    questions = _questions()
    words = [word for word in WORDS if word != "b2"]
    answered = accuracy.answer(questions, _lookup(words, 0), "3CosAdd")
    missing = [
        ("b2" in (b.lower(), *d))
        for (_, b, _), d in zip(questions.asked, questions.answers, strict=True)
    ]
    np.testing.assert_array_equal(answered.covered, ~np.array(missing))
    result = accuracy.evaluate(questions, "3CosAdd", {"v": answered}, Resampling(99))
    score = result.scores["v"]
    assert score.overall == (answered.right.sum(), 24 - 6, 24)
    assert score.groups["syntactic"] == score.sections["gram"]
    assert sum(part.right for part in score.sections.values()) == score.overall.right > 6
    assert score.overall.of_covered == score.overall.right / 18
    assert score.interval is not None
    assert score.interval.low <= score.overall.of_covered <= score.interval.high


def test_any_answer_is_right() -> None:
    """Dies if only the first of several answers counts."""
    questions, vectors = _questions(), _lookup(WORDS, 0)
    right = accuracy.answer(questions, vectors, "3CosAdd").right
    swapped = questions._replace(answers=[("other", *words) for words in questions.answers])
    np.testing.assert_array_equal(accuracy.answer(swapped, vectors, "3CosAdd").right, right)


def test_files_are_compared_on_what_all_cover() -> None:
    """Dies if shares of different questions are subtracted."""
    questions = _questions()
    files = {"a": _lookup(WORDS[:-1], 0), "b": _lookup(WORDS[2:], 1)}
    answered = {name: accuracy.answer(questions, file, "3CosMul") for name, file in files.items()}
    result = accuracy.evaluate(questions, "3CosMul", answered, Resampling(99))
    common = answered["a"].covered & answered["b"].covered
    shares = [answered[name].right[common].mean() for name in "ab"]
    [difference] = result.differences
    assert difference.effect.estimate == pytest.approx(shares[0] - shares[1])
    assert difference.effect.n == (common.sum(),) and common.sum() == result.compared_on < 18


def test_nothing_covered() -> None:
    """Dies if a file without any of the words is an error."""
    answered = accuracy.answer(_questions(), _lookup(["a90", "b90"], 0), "3CosAdd")
    result = accuracy.evaluate(_questions(), "3CosAdd", {"v": answered, "w": answered})
    assert result.scores["v"].overall == (0, 0, 24)
    assert result.scores["v"].overall.of_covered is None and result.differences == ()


def test_a_file_that_covers_nothing_is_left_out_of_the_differences() -> None:
    """Dies if it takes the others' differences away, or goes unnamed."""
    questions = _questions()
    total = len(questions.asked)
    right = np.random.default_rng(0).random((2, total)) < 0.5
    answered = {
        "none": accuracy.Answered(np.zeros(total, bool), np.zeros(total, bool)),
        **{f"v{k}": accuracy.Answered(np.ones(total, bool), right[k]) for k in range(2)},
    }
    result = accuracy.evaluate(questions, "3CosAdd", answered, Resampling(99))
    assert result.left_out == (("none", 0),) and result.compared_on == total
    [difference] = result.differences
    assert (difference.a, difference.b) == ("v0", "v1")
    assert difference.effect.estimate == pytest.approx(right[0].mean() - right[1].mean())
