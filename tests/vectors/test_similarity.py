"""Correlations of cosines with people's scores."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.vectors import similarity
from jaxeval.vectors.differences import Resampling
from jaxeval.vectors.lookup import Lookup
from jaxeval.vectors.pairs import Pairs

WORDS = [f"w{k}" for k in range(20)]
GENERATOR = np.random.default_rng(0)
QUICK = Resampling(99)


def _vectors(words: list[str], seed: int) -> Lookup:
    table = np.random.default_rng(seed).normal(size=(len(words), 5)).astype(np.float32)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return Lookup({word: row for row, word in enumerate(words)}, unit)


def _pairs(count: int = 40) -> Pairs:
    first, second = (tuple(GENERATOR.choice(WORDS, count)) for _ in range(2))
    return Pairs("set", tuple(w.upper() for w in first), second, GENERATOR.normal(size=count))


def _by_hand(pairs: Pairs, vectors: Lookup, missing: str) -> tuple[float, int]:
    values = []
    for a, b, gold in zip(pairs.first, pairs.second, pairs.gold, strict=True):
        rows = [vectors.index.get(word.lower()) for word in (a, b)]
        if None not in rows:
            values.append((float(vectors.unit[rows[0]] @ vectors.unit[rows[1]]), gold))
        elif missing == "zero":
            values.append((0.0, gold))
    return stats.spearmanr(*zip(*values, strict=True)).statistic, len(values)


def test_both_rules_for_missing_words() -> None:
    """Dies if the rules are swapped, or a missing word takes another word's vector."""
    pairs, vectors = _pairs(), _vectors(WORDS[:15], 1)
    rules = similarity.Rules(resampling=QUICK)
    [result] = similarity.evaluate([pairs], {"v": vectors}, rules)
    score = result.scores["v"]
    skip, covered = _by_hand(pairs, vectors, "skip")
    assert score.skip == pytest.approx(skip, abs=1e-6) and score.covered == covered < 40
    assert score.zero == pytest.approx(_by_hand(pairs, vectors, "zero")[0], abs=1e-6)
    assert result.differences == ()


@pytest.mark.parametrize("missing", ["skip", "zero"])
def test_differences_are_of_the_same_pairs(missing: similarity.Missing) -> None:
    """Dies if each file is scored on the pairs that it covers itself."""
    pairs = _pairs()
    files = {"a": _vectors(WORDS[:17], 1), "b": _vectors(WORDS[3:], 2)}
    rules = similarity.Rules(missing, resampling=QUICK)
    [result] = similarity.evaluate([pairs], files, rules)
    both = {*WORDS[3:17]}
    keep = [
        missing == "zero" or {a.lower(), b} <= both
        for a, b in zip(pairs.first, pairs.second, strict=True)
    ]
    same = Pairs(
        "same",
        *(tuple(np.array(words)[keep]) for words in (pairs.first, pairs.second)),
        pairs.gold[keep],
    )
    expected = _by_hand(same, files["a"], missing)[0] - _by_hand(same, files["b"], missing)[0]
    [difference] = result.differences
    assert difference.effect.estimate == pytest.approx(expected, abs=1e-6)
    assert result.compared_on == difference.effect.n[0] == sum(keep)


def test_p_values_are_adjusted_over_all_sets() -> None:
    """Dies if each set is adjusted by itself."""
    files = {name: _vectors(WORDS, seed) for seed, name in enumerate("abc")}
    results = similarity.evaluate([_pairs(), _pairs()], files, similarity.Rules(resampling=QUICK))
    differences = [d for result in results for d in result.differences]
    assert len(differences) == 6
    least = min(differences, key=lambda d: d.test.p_value)
    assert least.p_adjusted == pytest.approx(min(1, 6 * least.test.p_value))


def test_too_few_pairs_have_no_correlation() -> None:
    """Dies if nothing in common is an error, or a correlation of nan."""
    [result] = similarity.evaluate([_pairs()], {"v": _vectors(["x"], 1)})
    assert result.scores["v"] == similarity.Score(0, None, None, None)


@pytest.mark.parametrize("others", ["ab", "ba"])
def test_a_badly_covered_file_is_left_out_of_the_differences(others: str) -> None:
    """Dies if it takes the others' differences away, goes unnamed, or another is left out."""
    pairs = _pairs()
    files = {name: _vectors(WORDS[:15], seed) for seed, name in enumerate(others)}
    [expected] = similarity.evaluate([pairs], files, similarity.Rules(resampling=QUICK))
    bad = {"bad": _vectors(WORDS[:1], 3)}
    [result] = similarity.evaluate([pairs], bad | files, similarity.Rules(resampling=QUICK))
    assert result.differences == expected.differences and len(result.differences) == 1
    assert result.compared_on == expected.compared_on and not expected.left_out
    [(file, compared_on)] = result.left_out
    assert file == "bad" and compared_on == result.scores["bad"].covered < 3
    [alone] = similarity.evaluate([pairs], {"a": files["a"]} | bad)
    assert not alone.differences and alone.left_out[0].file == "bad"


@pytest.mark.parametrize("missing", ["skip", "zero"])
def test_a_file_of_equal_vectors_is_left_out(missing: similarity.Missing) -> None:
    """Dies if the one that covers fewest is left out though it has a correlation."""
    files = {name: _vectors(WORDS[:15], seed) for seed, name in enumerate("ab")}
    equal = Lookup(dict.fromkeys(WORDS, 0), np.ones((1, 1), np.float32))
    if missing == "zero":
        equal = Lookup({}, np.ones((0, 1), np.float32))
    rules = similarity.Rules(missing, resampling=QUICK)
    [result] = similarity.evaluate([_pairs()], {"equal": equal} | files, rules)
    assert [file for file, _ in result.left_out] == ["equal"] and len(result.differences) == 1
