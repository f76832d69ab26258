"""Paired options and the seed effect, by hand and against a plain loop."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.errors import DataError
from jaxeval.stats import configurations, datasets, hypotheses, multiple


def _table() -> dict[str, list]:
    """Two data sets, three widths, two optimisers; "None" is a value of dropout."""
    generator = np.random.default_rng(16)
    rows = [
        (data, width, dropout, batch, seed)
        for data in ("pos", "ner")
        for width in (25, 50, 100)
        for dropout in ("None", "0.5")
        for batch in ("1", "8", "32")
        for seed in (1, 2)
    ]
    table: dict[str, list] = {
        name: [row[k] for row in rows]
        for k, name in enumerate(("data", "width", "dropout", "batch", "seed"))
    }
    bonus = {"1": 0.0, "8": 0.02, "32": 0.01}
    table["f1"] = [0.8 + bonus[r[3]] + 0.01 * generator.normal() for r in rows]
    return table


def _cells(table: dict[str, list], data: str, repeats: str) -> np.ndarray:
    """[width x dropout, batch] scores of a data set, one of all seeds."""
    pick = {"first": lambda s: s[0], "last": lambda s: s[-1], "mean": np.mean, "median": np.median}
    names = ("data", "width", "dropout", "batch")
    settings = list(zip(*(table[name] for name in names), strict=True))

    def cell(*setting: object) -> float:
        return pick[repeats]([table["f1"][k] for k, s in enumerate(settings) if s == setting])

    return np.array(
        [
            [cell(data, width, dropout, batch) for batch in ("1", "8", "32")]
            for width in (25, 50, 100)
            for dropout in ("None", "0.5")
        ]
    )


@pytest.mark.parametrize("repeats", ["first", "last", "mean", "median"])
def test_options_equal_a_plain_loop(repeats: str) -> None:
    """Dies if configurations, repeats, wins or differences are mixed up."""
    table = _table()
    comparisons = configurations.paired_options(
        table,
        "batch",
        "f1",
        by=["data"],
        key=["width", "dropout"],
        repeats=repeats,  # type: ignore[arg-type]
    )
    assert [g.group for g in comparisons] == [("pos",), ("ner",)]
    for group in comparisons:
        cells = _cells(table, group.group[0], repeats)
        wins = np.bincount(cells.argmax(1), minlength=3) / 6
        best = int(wins.argmax())
        assert group.n == 6
        assert group.best == ("1", "8", "32")[best]
        np.testing.assert_allclose([o.wins for o in group.options], wins)
        np.testing.assert_allclose([o.sd for o in group.options], cells.std(0, ddof=1))
        for k, option in enumerate(group.options):
            gap = np.median(cells[:, k] - cells[:, best])
            assert option.median_difference == (None if k == best else pytest.approx(gap))
            if k != best:
                levene = scipy_stats.levene(cells[:, k], cells[:, best], center="median")
                assert option.brown_forsythe is not None
                assert option.brown_forsythe.p_value == pytest.approx(levene.pvalue)
                assert option.sign_test == hypotheses.sign_test(cells[:, k], cells[:, best])
        assert group.friedman == datasets.friedman(cells)
    tests = [(of.sign_test, of.brown_forsythe) for group in comparisons for of in group.options]
    every = [test.p_value for both in tests for test in both if test]
    every += [group.friedman.p_value for group in comparisons if group.friedman]
    corrected = [p for group in comparisons for of in group.options for p in of.adjusted.values()]
    corrected += [group.friedman_adjusted or 0.0 for group in comparisons]
    assert corrected == multiple.adjust_p_values(every).tolist()


def test_incomplete_configurations_are_left_out_and_ties_shared() -> None:
    """Dies if a configuration without all values counts, or a tie goes to the first."""
    table = {"option": ["a", "b", "a"], "set": [1, 1, 2], "score": [0.5, 0.5, 0.9]}
    (comparison,) = configurations.paired_options(table, "option", "score", key=["set"])
    assert (comparison.n, [o.wins for o in comparison.options]) == (1, [0.5, 0.5])
    assert [o.sd for o in comparison.options] == [None, None]  # of one configuration


def test_seed_effect_is_the_range_of_repeats() -> None:
    """Dies if single runs count, or the effect is not max - min."""
    table = {"lr": [1, 1, 1, 2, 2, 3], "score": [0.1, 0.4, 0.2, 0.5, 0.6, 0.9]}
    (effect,) = configurations.seed_effect(table, "score", key=["lr"])
    assert (effect.configurations, effect.repeats) == (2, 5)
    assert (effect.median, effect.max) == (pytest.approx(0.2), pytest.approx(0.3))
    assert effect.percentile_95 == pytest.approx(0.29)
    with pytest.raises(DataError, match="no configuration has two"):
        configurations.seed_effect(table, "score", key=["lr", "score"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"option": "batsh"}, "no column batsh; there are data"),
        ({"key": ["batch"]}, "cannot be in the key"),
        ({"options": ["1", "64"]}, "two or more of its values"),
        ({"key": ["width", "f1"]}, "depend on the option"),
        ({"score": "dropout"}, "column dropout: expected numbers"),
    ],
)
def test_impossible_comparisons_are_explained(change: dict, message: str) -> None:
    """Dies if a mistyped column gives an empty result or a traceback."""
    arguments = {"option": "batch", "score": "f1", "key": ["width", "dropout"]} | change
    with pytest.raises(DataError, match=message):
        configurations.paired_options(_table(), **arguments)
