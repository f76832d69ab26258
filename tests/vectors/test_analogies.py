"""Analogy questions read, and answered as a loop over all candidates answers them."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.vectors import Lookup, analogies
from jaxeval.vectors.analogies import _Questions, _Unit

GOOGLE = """\
: capitals
Athens Greece Oslo Norway
Oslo Norway Athens Greece
: gram1-plural
cat cats dog dogs
: capitals
Paris France Oslo Norway
"""
WORDS = [f"{letter}{k}" for k in range(8) for letter in "ab"]


def _asked(of: _Questions) -> list[tuple[str, str, str, tuple[str, ...]]]:
    pairs = ((of.units[i], of.units[j]) for i, j in zip(of.first, of.second, strict=True))
    return [(a.word, a.answers[0], c.word, c.answers) for a, c in pairs]


def test_google_questions(tmp_path: Path) -> None:
    """Dies if a section that goes on is a new one, or units are not sorted by their section."""
    (tmp_path / "q").write_text(GOOGLE)
    read = analogies.read(tmp_path / "q")
    assert _asked(read)[1] == ("Oslo", "Norway", "Athens", ("Greece",))
    assert _asked(read)[2:] == [
        ("cat", "cats", "dog", ("dogs",)),
        ("Paris", "France", "Oslo", ("Norway",)),
    ]
    assert read.sections == ("capitals", "gram1-plural") and len(read.units) == 5
    assert read.groups == ("semantic", "syntactic")
    assert read.second[3] == read.first[1] == read.second[0]  # Oslo, Norway
    assert read.strata[read.first].tolist() == [0, 0, 1, 0] and (np.diff(read.strata) >= 0).all()


def test_bats(tmp_path: Path) -> None:
    """Dies if a line is asked of itself, or only the first answer is right."""
    folder = tmp_path / "BATS" / "1_Inflectional"
    folder.mkdir(parents=True)
    (folder / "I01 [plural].txt").write_text("album\talbums\napp\tapps/applications\n\n")
    (folder / "I02 [plural].txt").write_text("cat\tcats\r\ndog\tdogs\r\n")
    (folder.parent / "metadata.json").write_text("{}")
    read = analogies.read(tmp_path / "BATS")
    assert _asked(read)[:2] == [
        ("album", "albums", "app", ("apps", "applications")),
        ("app", "apps", "album", ("albums",)),
    ]
    assert read.sections == ("I01 [plural]", "I02 [plural]") and len(read.first) == 4
    assert read.groups == ("1_Inflectional",) * 2 and read.strata.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (": s\na b c\n", "or four words, found 'a b c'"),
        ("a b c d\n", "expected ': section' before it, found 'a b c d'"),
        (": s\n", "expected four words"),
    ],
)
def test_questions_refused(content: str, said: str, tmp_path: Path) -> None:
    """Dies if three words, words before a section or no question at all are taken."""
    (tmp_path / "q").write_text(content)
    with pytest.raises(DataError, match=said):
        analogies.read(tmp_path / "q")


def _unit(words: int, size: int) -> np.ndarray:
    table = np.random.default_rng(0).normal(size=(words, size))
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
    method: analogies._Method, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a block's answer is not numbered from its start, query words are candidates, or a
    later block replaces an equal score."""
    monkeypatch.setattr(analogies, "_CANDIDATES", at_once)
    monkeypatch.setattr(analogies, "_QUESTIONS", 9)
    unit = _unit(60, 4)
    triples = np.random.default_rng(1).integers(0, 60, (50, 3))
    solved = analogies._solve(unit, triples, method)
    assert solved.tolist() == [_loop(unit, question, method) for question in triples]
    twice = analogies._solve(np.concatenate([unit, unit]), triples, method)
    same = twice == solved  # others answer with the second copy of a word of the question
    assert same.any() and np.isin(twice[~same] - 60, triples[~same]).all()


def _questions(answers: str = "b{} other") -> _Questions:
    """Four units a section, each with each; the words of unit k are ak and bk."""
    units = [_Unit(k // 4, f"a{k}", (*answers.format(k).split(),)) for k in range(8)]
    pairs = [(i, j) for i in range(8) for j in range(8) if i != j and i // 4 == j // 4]
    first, second = np.array(pairs).T
    return _Questions("q", ("s", "gram"), ("semantic", "syntactic"), tuple(units), first, second)


def _lookup(words: list[str], seed: int) -> Lookup:
    """Vectors in which b is a and one direction, so that analogies hold; with noise."""
    generator = np.random.default_rng(seed)
    base = {word[1:]: generator.normal(size=12) for word in words}
    table = np.array([base[w[1:]] + 2 * (w[0] == "b") for w in words])
    table += generator.normal(size=table.shape) * 0.6
    unit = (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)
    return Lookup({word: row for row, word in enumerate(words)}, unit)


def test_accuracy_of_covered_and_of_all() -> None:
    """Dies if questions without a vector count as covered, or of a section as another's."""
    questions = _questions("B{} other")
    answered = analogies.answer(
        questions, _lookup([word for word in WORDS if word != "b2"], 0), "3CosAdd"
    )
    missing = (questions.first == 2) | (questions.second == 2)
    np.testing.assert_array_equal(answered.covered, ~missing)
    score = analogies.evaluate(questions, "3CosAdd", {"v": answered}, resamples=99).scores["v"]
    assert score.overall == (answered.right.sum(), 24 - 6, 24)
    assert score.groups["syntactic"] == score.sections["gram"]
    assert score.sections["s"] == (answered.right[:12].sum(), 6, 12)
    assert score.sections["gram"].right == score.overall.right - score.sections["s"].right > 3
    assert score.interval is not None
    assert score.interval.low <= score.overall.right / 18 <= score.interval.high


def test_files_are_compared_on_what_all_cover() -> None:
    """Dies if shares of different questions are subtracted, or a file without any question takes
    the others' differences away."""
    questions = _questions()
    files = {"none": Lookup({}, np.ones((0, 1), np.float32))}
    files |= {"a": _lookup(WORDS[:-1], 0), "b": _lookup(WORDS[2:], 1)}
    answered = {name: analogies.answer(questions, of, "3CosMul") for name, of in files.items()}
    result = analogies.evaluate(questions, "3CosMul", answered, resamples=99)
    common = answered["a"].covered & answered["b"].covered
    shares = [answered[name].right[common].mean() for name in "ab"]
    [difference] = result.differences
    assert difference.effect.estimate == pytest.approx(shares[0] - shares[1])
    assert difference.effect.n == (common.sum(),) and common.sum() < 18
    assert result.scores["none"].overall == (0, 0, 24)
    assert result.scores["none"].interval is None
