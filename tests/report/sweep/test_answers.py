"""The first sentence of `sensitivity`: its direction is that of what it cites, and mirrors."""

import numpy as np
import pytest
from scipy import stats

from jaxeval import sensitivity
from jaxeval.report.sweep import answers
from jaxeval.sensitivity import Analysis, groups


def _sweep(near: int, seed: int, resamples: int = 200) -> Analysis:
    """40 runs, so many of which come within a point of the best."""
    draw = np.random.default_rng(seed)
    scores = np.concatenate([np.full(near, 0.9), draw.uniform(0.1, 0.8, 40 - near)])
    hyperparameters = {"rate": draw.uniform(size=40)}
    return sensitivity.analyze(scores, hyperparameters, ks=(5,), resamples=resamples, seed=seed)


def _said(names: list[str], of: list[Analysis], unfit: str = "") -> str:
    return answers.sentence(names, of, sensitivity.difference(*of), None, unfit)


def test_the_sweep_with_more_runs_near_its_best_is_named_whichever_comes_first() -> None:
    """Dies if the names, the shares or the difference are swapped."""
    many, few = _sweep(31, 1), _sweep(5, 2)
    share = [100 * 30 / 39, 100 * 4 / 39]
    said = _said(["lstm", "gru"], [many, few])
    assert said.startswith("More runs of lstm than of gru come within 1 point of their best: ")
    assert (
        f"{share[0]:.2f} % and {share[1]:.2f} % (lstm, gru), difference 66.67, 95 % CI [" in said
    )
    said = _said(["gru", "lstm"], [few, many])
    assert said.startswith("More runs of lstm than of gru come within 1 point of their best: ")
    assert f"{share[1]:.2f} % and {share[0]:.2f} % (gru, lstm), difference -66.67," in said


def test_what_was_not_shown_is_said_so() -> None:
    """Dies if an interval that holds 0, or none, or sweeps that share draws, show a difference."""
    near, like = _sweep(12, 1), _sweep(11, 2)
    gap = sensitivity.difference(near, like)["best_equivalent"].interval
    assert gap.low < 0 < gap.high
    assert "was not shown: 28.21 % and 25.64 %, difference 2.56" in _said(["a", "b"], [near, like])
    bare = [_sweep(31, 1, resamples=0), _sweep(5, 2, resamples=0)]
    assert "was not shown" in _said(["a", "b"], bare) and "no interval" in _said(["a", "b"], bare)
    unfit = _said(["a", "b"], [_sweep(31, 1), _sweep(5, 2)], "both were drawn with seed 1")
    assert "was not shown" in unfit and unfit.endswith(" (both were drawn with seed 1).")
    alone = answers.sentence(["a"], [near], {}, None, "runs have not ended")
    assert alone.startswith("28.21 % [") and alone.endswith(" (runs have not ended).")
    three = answers.sentence([*"abc"], [near, *bare], {}, None)
    assert three.startswith("Between 10.26 % (c) and 76.92 % (b) of a sweep's runs")
    assert three.endswith("no two of the 3 sweeps were compared.")


@pytest.mark.parametrize("swap", [False, True])
def test_differences_of_groups_are_corrected_for_their_number(swap: bool) -> None:
    """Dies if one of three differences is called shown by its own p, or the wrong group leads."""
    near = {"a": (30, 31, 29, 33), "b": (12, 14, 9, 15), "c": (11, 12, 13, 9)}
    order = [*reversed(near)] if swap else [*near]
    analyses = [_sweep(k, 1, resamples=0) for kind in order for k in near[kind]]
    labels = [{"kind": kind, "dataset": str(n)} for kind in order for n in range(4)]
    averaged = groups.average(analyses, labels, [*map(str, range(12))], ["kind"])
    raw = {
        (x, y): stats.ttest_rel(near[x], near[y]).pvalue
        for x, y in (("a", "b"), ("a", "c"), ("b", "c"))
    }
    found = dict(
        zip(
            [tuple(sorted((c.a, c.b))) for c in averaged.contrasts],
            answers.corrected(averaged),
            strict=True,
        )
    )
    by_p = sorted(raw, key=lambda pair: raw[pair])
    running = 0.0
    for place, pair in enumerate(by_p):
        running = max(running, min(1.0, (3 - place) * raw[pair]))
        assert found[pair] == pytest.approx(running)
    said = answers.sentence([], analyses, {}, averaged)
    assert said.startswith("2 of 3 differences in the share of runs within 1 point of the best ")
    assert "a has more than b (" in said and "a has more than c (" in said
    assert "b has more" not in said and "c has more" not in said
