"""The first sentence of `sensitivity`: its direction is that of what it cites, and mirrors."""

import dataclasses

import numpy as np

from jaxeval.report.sensitivity import Sensitivity
from jaxeval.sensitivity import Analysis, analysis, analyze, difference
from jaxeval.sensitivity.trials import Sweep


def _sweep(near: int, name: str, seed: int = 1, resamples: int = 200) -> Analysis:
    """40 runs, so many of which come within a point of the best."""
    draw = np.random.default_rng(seed)
    scores = np.concatenate([np.full(near, 0.9), draw.uniform(0.1, 0.8, 40 - near)])
    values = {"rate": draw.uniform(size=40)}
    return analyze(scores, values, name=name, resamples=resamples, seed=seed)


def _said(*sweeps: Analysis, **read: object) -> str:
    trials = [Sweep(of.name, np.zeros(1), [], **read) for of in sweeps]  # type: ignore[arg-type]
    gaps = difference(*sweeps) if len(sweeps) == 2 else {}
    (answer,) = Sensitivity(sweeps, gaps, "", [], [], trials).document().answer
    return answer


def test_the_sweep_with_more_runs_near_its_best_is_named_whichever_comes_first() -> None:
    """Dies if the names, the shares or the difference are swapped."""
    many, few = _sweep(31, "lstm"), _sweep(5, "gru", 2)
    start = "More runs of lstm than of gru come within 1 point of their best: "
    for said, shares in (
        (_said(many, few), "76.92 % and 10.26 % (lstm, gru), difference 66.67, 95 % CI ["),
        (_said(few, many), "10.26 % and 76.92 % (gru, lstm), difference -66.67, 95 % CI ["),
    ):
        assert said.startswith(f"{start}{shares}")


def test_what_was_not_shown_is_said_so() -> None:
    """Dies if an interval that holds 0, or none, or sweeps that share draws, show a difference."""
    near, like = _sweep(12, "a"), _sweep(11, "b", 2)
    assert "was not shown: 28.21 % and 25.64 %, difference 2.56" in _said(near, like)
    bare = [_sweep(31, "b", resamples=0), _sweep(5, "c", resamples=0)]
    assert "was not shown" in _said(*bare) and "no interval of their difference" in _said(*bare)
    unfit = _said(_sweep(31, "a"), _sweep(5, "b", 2), seed=1)
    assert "was not shown" in unfit and "(both were drawn with seed 1: runs of" in unfit
    alone = _said(near, unended=3)
    assert alone.startswith("28.21 % [") and "(runs have not ended (3 of a); those" in alone
    three = _said(near, *bare)
    assert three.startswith("Between 10.26 % (c) and 76.92 % (b) of a sweep's runs")
    assert three.endswith("no two of the 3 sweeps were compared.")


def test_differences_of_groups_name_the_group_with_more() -> None:
    """Dies if one of three differences is called shown by its own p, or the wrong group leads."""
    near = {"a": (30, 31, 29, 33), "b": (12, 14, 9, 15), "c": (11, 12, 13, 9)}
    sweeps = [
        _sweep(k, f"{kind}{n}", resamples=0) for kind in "cab" for n, k in enumerate(near[kind])
    ]
    labels = {of.name: {"kind": of.name[0], "dataset": of.name[1]} for of in sweeps}
    averaged = analysis.average({of.name: of.values for of in sweeps}, labels, ["kind"])
    trials = [Sweep(of.name, np.zeros(1), []) for of in sweeps]
    found = Sensitivity(sweeps, {}, "dataset", *averaged, trials)
    (said,) = found.document().answer
    assert said.startswith("2 of 3 differences in the share of runs within 1 point of the best ")
    assert "a has more than b (" in said and "a has more than c (" in said
    assert "b has more" not in said and "c has more" not in said
    unended = [dataclasses.replace(trial, unended=1) for trial in trials]
    (said,) = dataclasses.replace(found, trials=unended).document().answer
    assert said.startswith("No difference in the share")
