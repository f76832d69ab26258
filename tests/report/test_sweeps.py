"""Figures of sweeps: numbers behind them, marks, and scales that the space gives."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval import runs, space
from jaxeval.report import plots
from jaxeval.report import sweeps as figures
from jaxeval.sensitivity import metrics, trials
from jaxeval.sensitivity.trials import Sweep
from tests.space import fabricated

SPACE = {
    "rate": {"log_uniform": [1e-6, 1e-2]},
    "factor": {"uniform": [0.1, 0.9]},
    "layers": {"integer": [1, 5]},
    "heads": {"choices": [2, 4, 8]},
    "kind": {"choices": ["b", "a"], "ordered": True},
}


def _sweep(scores: list[float], **values: list) -> Sweep:
    axes = metrics.axes(values, len(scores), space.from_dict(SPACE))
    return Sweep("s", np.array(scores), axes)


def test_losses_are_in_the_captions(tmp_path: Path) -> None:
    """Dies if a run without a score vanishes unsaid, or one where a value does not act counts."""
    rows = runs.load(fabricated.fill(tmp_path, ("transformer",), count=60))
    sweep = trials.recorded_sweep(rows)
    assert sweep is not None
    scored = [json.loads(row.hparams) for row in rows if row.dev is not None]
    assert sweep.lost == len(rows) - len(scored) > 0
    lost = (
        f"{sweep.lost} of 60 runs of transformer, sweep ended without a score and are not shown."
    )
    marginals = figures.marginals([sweep])
    assert lost in figures.ranks([sweep]).caption and lost in marginals.caption
    counts = {name: n for _, name, n in marginals.rows}
    assert counts["warmup_samples"] == sum("warmup_samples" in values for values in scored)


def test_ranks_of_losses_begin_with_the_least(tmp_path: Path) -> None:
    """Dies if the worst loss is the first, or percent are made of perplexities."""
    scores = np.array([30.0, 10.0, 20.0])
    sweep = Sweep("s", scores, [], "dev perplexity", "perplexity", higher_is_better=False)
    assert [row[2] for row in figures.ranks([sweep]).rows] == ["10.00", "20.00", "30.00"]


def test_panels_take_their_scale_from_the_space() -> None:
    """Dies if kind, range or logarithm of a hyperparameter is guessed from its values."""
    sweep = _sweep(
        [0.1, 0.2, 0.3],
        rate=[1.1e-3, 1.2e-3, 1.3e-3],  # of so narrow a range nobody would guess a logarithm
        factor=[0.123456789012345678, 0.5, 0.3],  # three values only, but no categories
        layers=[1, 2, 2],
        heads=[8, 2, 2],
        kind=["a", "b", "b"],
    )
    drawn = dict(zip(SPACE, figures.marginals([sweep]).drawing.axes, strict=False))
    assert [drawn[name].get_xscale() for name in SPACE] == ["log", *["linear"] * 4]
    low, high = drawn["rate"].get_xlim()
    assert low < 1e-6 and 1e-2 < high < 1e-1
    low, high = drawn["factor"].get_xlim()
    assert 0 < low < 0.1 and 0.9 < high < 1
    assert all(tick == int(tick) for tick in drawn["layers"].get_xticks())
    labels = {n: [t.get_text() for t in drawn[n].get_xticklabels()] for n in ("heads", "kind")}
    assert labels == {"heads": ["2", "4", "8"], "kind": ["b", "a"]}  # 4 was never drawn


@pytest.mark.parametrize(
    ("scores", "low", "high"), [([0.0] * 3, 0.0, 5.0), ([0.2, 0.3, 0.9], 20.0, 90.0)]
)
def test_panels_share_their_scores(scores: list[float], low: float, high: float) -> None:
    """Dies if panels have y axes of their own, or scores that are all 0 get one from -.04."""
    sweep = _sweep(scores, rate=[1e-3, 1e-4, 1e-5], heads=[2, 4, 8])
    for figure in (figures.marginals([sweep]), figures.ranks([sweep])):
        (limits,) = {panel.get_ylim() for panel in figure.drawing.axes}
        margin = 0.04 * (high - low)
        assert limits == pytest.approx((low - margin, high + margin))


def test_lines_of_settings_reach_their_score() -> None:
    """Dies if a line passes another value than its run's, a gap is drawn over, or the best runs
    are not those in colour."""
    sweep = _sweep([0.1, 0.9, 0.5], rate=[1e-6, 1e-4, 1e-2], kind=["b", "a", "b"])
    figure = figures.parallel(sweep)
    (panel,) = figure.drawing.axes
    lines = {line.get_color(): line for line in panel.lines if len(line.get_xdata()) == 3}
    best = np.asarray(lines[plots.colour(1)].get_ydata())
    assert best[[0, 2]] == pytest.approx([0.5, 1.0])
    assert [row[:3] for row in figure.rows] == [
        ("1", "0.0001", "a"),
        ("2", "0.01", "b"),
        ("3", "1e-06", "b"),
    ]
    gap = _sweep([0.1, 0.9, 0.5], rate=[1e-6, "", 1e-2])
    assert [row[1] for row in figures.parallel(gap).rows] == ["-", "0.01", "1e-06"]
