"""The first sentence of `sensitivity`: its direction is that of what it cites, and mirrors."""

import dataclasses
import re

import numpy as np

from jaxeval.report.sensitivity import Sensitivity
from jaxeval.sensitivity import analysis
from jaxeval.sensitivity.analysis import Analysis, analyze, difference
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
    return " ".join(Sensitivity(sweeps, gaps, "", [], [], trials).document().answer)


def test_the_sweep_with_more_runs_near_its_best_is_named_whichever_comes_first() -> None:
    """Dies if the names, the shares or the difference are swapped, or intervals have no level."""
    many, few = _sweep(31, "lstm"), _sweep(5, "gru", 2)
    assert _said(many).endswith("] of lstm (95 % CI).")
    each = r"76.92 % \[\S+ \S+\] of lstm; 10.26 % \[\S+ \S+\] of gru"
    for said, gap in (
        (_said(many, few), "lstm - gru 66.67"),
        (_said(few, many), "gru - lstm -66"),
    ):
        assert re.match(f"Runs within 1 point of the best score: {each}; {gap}", said)
        assert said.endswith("] (95 % CIs). lstm is better than gru, by this share.")


def test_what_was_not_shown_is_said_so() -> None:
    """Dies if an interval that holds 0, or none, or sweeps that share draws, show a difference."""
    near, like = _sweep(12, "a"), _sweep(11, "b", 2)
    assert _said(near, like).endswith("No difference between a and b was shown, by this share.")
    bare = [_sweep(31, "b", resamples=0), _sweep(5, "c", resamples=0)]
    assert _said(*bare).endswith(" No conclusion, since no two were compared with intervals.")
    unfit = _said(_sweep(31, "a"), _sweep(5, "b", 2), seed=1)
    assert "No conclusion, since both were drawn with seed 1: runs of" in unfit
    alone = _said(near, unended=3)
    assert alone.startswith("Runs within 1 point of the best score, 90.00: 28.21 % [")
    assert "No conclusion, since runs have not ended (3 of a), so those" in alone
    three = _said(near, *bare)
    assert three.endswith(
        "10.26 % of c (95 % CIs). No conclusion, since no two were compared with intervals."
    )
    five = [_sweep(k, f"s{k}", resamples=0) for k in range(4, 9)]
    assert _said(*five).startswith(
        "Runs within 1 point of the best score: 17.95 % of s8 to 7.69 % of s4."
    )


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
    document = found.document()
    assert document.answer[1] == "a is best: it is better than b and c, by this share."
    (tested,) = (str(block) for block in document.blocks if "Holm" in str(block))
    assert re.search(r"Holm: c - a \.00\d; c - b \.\d+; a - b < \.001$", tested)
    unended = [dataclasses.replace(trial, unended=1) for trial in trials]
    said = dataclasses.replace(found, trials=unended).document().answer
    assert "better" not in said[1] and said[1].startswith("No conclusion, since runs have")
