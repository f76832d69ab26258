"""Pairs of words read, words looked up, correlations of cosines with people's scores."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from jaxeval import vectors as words
from jaxeval.errors import DataError
from jaxeval.vectors import Lookup, similarity
from jaxeval.vectors.similarity import Pairs, Unknown

WORDS = [f"w{k}" for k in range(20)]
GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("tiger\tcat\t7.35\nbook paper\tink\t7\nking\tqueen\t8.5\n", ""),
        ("word1,word2,score\ntiger,cat,7.35\nbook paper,ink,7\nking,queen,8.5\n", "score"),
        ("\t\t1-10 mean\ntiger\tcat\t7.35\nbook paper\tink\t7\nking\tqueen\t8.5\n", "mean"),
        ("# M\n\ntiger\tcat\t7.35\tx\nbook paper\tink\t7\tx\nking\tqueen\t8.5\tx\n", ""),
    ],
)
def test_pairs(content: str, header: str, tmp_path: Path) -> None:
    """Dies if a header becomes a pair, or words with blanks are split where tabs separate."""
    (tmp_path / "f.txt").write_text(content)
    read = similarity.read(tmp_path / "f.txt")
    assert read.name == "f.txt" and read.header.endswith(header)
    assert read.first == ("tiger", "book paper", "king") and read.second == ("cat", "ink", "queen")
    assert read.gold.tolist() == [7.35, 7, 8.5] and bool(read.header) == bool(header)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a b 1\nc d\n", ":2: .*and a score in column 3, found 2 columns"),
        ("a b 1\nc d x\n", ":2: .*and a score in column 3, found 'x'"),
        ("a b nan\nc d 1\n", ":1: .*found 'nan'"),
        ("a\tb\t1,5\nc\td\t1\n", ":1: .*found '1,5'"),
        ("a b 1_0\n", ":1: .*found '1_0'"),
        ("king\tqueen\tO.5\nc\td\t1\n", r":1: .*'O\.5'; begin it with # if it is a header"),
        ("king\tqueen\t%\n", ":1: .*found '%'; begin it with #"),
        ("a,b,1\n,d,2\n", ":2: .*found an empty word"),
        ("a b 1\nc d 2\n", "at least 3 pairs of words, found 2"),
    ],
)
def test_pairs_refused(content: str, message: str, tmp_path: Path) -> None:
    """Dies if damaged lines are skipped, or read as something else."""
    (tmp_path / "f").write_text(content)
    with pytest.raises(DataError, match=message):
        similarity.read(tmp_path / "f")


def test_words_are_looked_up_in_lower_case(tmp_path: Path) -> None:
    """Dies if the later of two words that are equal in lower case counts, or stays a candidate."""
    (tmp_path / "v").write_text("The 3 4\ncat 0 2\nTHE 1 0\nDog 5 12\n")
    read = words.read(tmp_path / "v")
    assert read.index == {"the": 0, "cat": 1, "dog": 2}
    np.testing.assert_allclose(read.unit, [[0.6, 0.8], [0, 1], [5 / 13, 12 / 13]], rtol=1e-6)
    assert read.rows(["dog", "The", "x"]).tolist() == [2, 0, -1]
    assert words.read(tmp_path / "v", ["DOG", "cat"]).index == {"cat": 0, "dog": 1}
    cased = words.read(tmp_path / "v", ["THE", "dog"], lower_case=False)
    assert cased.index == {"THE": 0} and cased.rows(["the"]).tolist() == [-1]


def test_a_word_with_a_vector_of_zeros_has_none(tmp_path: Path) -> None:
    """Dies if zeros become nan, hide the same word in another case, are not counted, or numbers
    whose squares float32 does not hold count as zeros."""
    (tmp_path / "v").write_text("A 0 0\nb 0 2\nc 0 0\na 3 0\nd 3e-25 4e-25\n")
    read = words.read(tmp_path / "v")
    np.testing.assert_allclose(read.unit, [[0, 1], [1, 0], [0.6, 0.8]], rtol=1e-6)
    assert read.zeros == 2 and read.rows(["a", "b", "c", "d"]).tolist() == [1, 0, -1, 2]


def _vectors(words: list[str], seed: int) -> Lookup:
    table = np.random.default_rng(seed).normal(size=(len(words), 5)).astype(np.float32)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return Lookup({word: row for row, word in enumerate(words)}, unit)


def _pairs(count: int = 40) -> Pairs:
    first, second = (tuple(GENERATOR.choice(WORDS, count)) for _ in range(2))
    return Pairs("set", tuple(w.upper() for w in first), second, GENERATOR.normal(size=count))


def _by_hand(pairs: Pairs, vectors: Lookup, unknown: str) -> tuple[float, int]:
    values = []
    for a, b, gold in zip(pairs.first, pairs.second, pairs.gold, strict=True):
        rows = [vectors.index.get(word.lower()) for word in (a, b)]
        if None not in rows:
            values.append((float(vectors.unit[rows[0]] @ vectors.unit[rows[1]]), gold))
        elif unknown == "zero":
            values.append((0.0, gold))
    return stats.spearmanr(*zip(*values, strict=True)).statistic, len(values)


@pytest.mark.parametrize("unknown", get_args(Unknown))
def test_differences_are_of_the_same_pairs(unknown: Unknown) -> None:
    """Dies if the rules are swapped, a missing word takes another's vector, each file is scored on
    the pairs that it covers itself, or A - B is B - A."""
    pairs = _pairs()
    files = {"a": _vectors(WORDS[:17], 1), "b": _vectors(WORDS[3:], 2)}
    [result] = similarity.evaluate([pairs], files, unknown, resamples=99)
    for name, file in files.items():
        skip, covered = _by_hand(pairs, file, "skip")
        score = result.scores[name]
        assert score.skip == pytest.approx(skip, abs=1e-6) and score.covered == covered < 40
        assert score.zero == pytest.approx(_by_hand(pairs, file, "zero")[0], abs=1e-6)
        rho = getattr(score, unknown)
        assert score.interval is not None and score.interval.low < rho < score.interval.high
    both = {*WORDS[3:17]}
    keep = [
        unknown == "zero" or {a.lower(), b} <= both
        for a, b in zip(pairs.first, pairs.second, strict=True)
    ]
    words = (tuple(np.array(of)[keep]) for of in (pairs.first, pairs.second))
    same = Pairs("same", *words, pairs.gold[keep])
    expected = _by_hand(same, files["a"], unknown)[0] - _by_hand(same, files["b"], unknown)[0]
    [difference] = result.differences
    assert difference.effect.estimate == pytest.approx(expected, abs=1e-6)
    assert difference.effect.n[0] == sum(keep)


@pytest.mark.parametrize("unknown", get_args(Unknown))
def test_a_file_without_a_score_is_not_compared(unknown: Unknown) -> None:
    """Dies if it takes the others' differences away, or has one: too few pairs, equal cosines."""
    pairs, files = _pairs(), {name: _vectors(WORDS[:15], seed) for seed, name in enumerate("ab")}
    [expected] = similarity.evaluate([pairs], files, unknown, resamples=99)
    bad = {"none": Lookup({}, np.ones((0, 1), np.float32))}
    if unknown == "skip":
        bad["few"] = _vectors(WORDS[:1], 3)
        bad["equal"] = Lookup(dict.fromkeys(WORDS, 0), np.ones((1, 1), np.float32))
    [result] = similarity.evaluate([pairs], bad | files, unknown, resamples=99)
    assert result.differences == expected.differences and len(result.differences) == 1
    for name in bad:
        score = result.scores[name]
        assert getattr(score, unknown) is None and score.interval is None
