"""How many splits and seeds: against brute force, formulas and simulated precision."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats import crossed, nested
from jaxeval.stats.nested import TrainingDesign

Variances = tuple[float, float, float]  # of split, seed, rest
OF = (4.0, 1.0, 2.0)


def _by_kind(of: Variances, width: float) -> dict[str, TrainingDesign]:
    return {design.kind: design for design in nested._smallest(of, width)}


def _half_width(kind: str, splits: int, each: int, of: Variances) -> float:
    """The same by the textbook, one design at a time."""
    v_split, v_seed, v_rest = of
    if kind == "crossed":
        rows, columns = v_rest + each * v_split, v_rest + splits * v_seed
        whole = rows + columns - v_rest
        parts = rows**2 / (splits - 1), columns**2 / (each - 1)
        df = whole**2 / (sum(parts) + v_rest**2 / ((splits - 1) * (each - 1)))
        return float(stats.t.ppf(0.975, df) * math.sqrt(whole / (splits * each)))
    variance = v_split / splits + (v_seed + v_rest) / (splits * each)
    return float(stats.t.ppf(0.975, splits - 1) * math.sqrt(variance))


@pytest.mark.parametrize("of", [OF, (0.5, 4.0, 1.0), (0.1, 0.1, 3.0)], ids=str)
def test_the_cheapest_of_each_kind(of: Variances) -> None:
    """Dies if a smaller design of up to 40 x 40 gives the precision, or this one does not."""
    for kind, design in _by_kind(of, 1.7).items():
        each = design.seeds if kind == "crossed" else design.runs // design.splits
        reached = _half_width(kind, design.splits, each, of)
        assert design.half_width == pytest.approx(reached) and reached <= 1.7
        assert design.runs == design.splits * each
        least = {"crossed": (2, 40), "nested": (2, 40), "independent": (1, 1)}[kind]
        others = [
            splits * each
            for splits in range(2, 41)
            for each in range(least[0], least[1] + 1)
            if _half_width(kind, splits, each, of) <= 1.7
        ]
        assert design.runs == min(others)


def test_the_plan_of_a_study() -> None:
    """Dies if repeats of a cell are lost, or the cautious plan is not of the upper limit."""
    draw = np.random.default_rng(1)
    study = crossed.components(
        draw.normal(size=(5, 1, 1)) + draw.normal(size=(5, 4, 1)) + draw.normal(size=(5, 4, 3))
    )
    squares = {name: part.sd**2 for name, part in study.components.items()}
    variances = squares["split"], squares["seed"], squares["interaction"] + squares["error"]
    assert sum(variances) == pytest.approx(study.total.sd**2)
    plan = nested.plan(study, 0.5)
    assert list(plan.designs) == nested._smallest(variances, 0.5)
    assert plan.cautious_runs is not None
    sd = study.total.sd_interval.high
    widths = [
        stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)
        for n in (plan.cautious_runs - 1, plan.cautious_runs)
    ]
    assert widths[1] <= 0.5 < widths[0]
