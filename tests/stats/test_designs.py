"""How many runs a precision takes, against the textbook."""

import math

import numpy as np
from scipy import stats

from jaxeval.stats import crossed, nested

STUDY = crossed.components(
    np.random.default_rng(1).normal(size=(5, 1, 1))
    + np.random.default_rng(2).normal(size=(5, 4, 1))
    + np.random.default_rng(3).normal(size=(5, 4, 3))
)


def test_the_plan_of_a_study() -> None:
    """Dies if one run fewer would do, or the cautious plan is not of the upper limit."""
    plan = nested.plan(STUDY, 0.5)
    for runs, sd in (
        (plan.runs, STUDY.total.sd),
        (plan.cautious_runs, STUDY.total.sd_interval.high),
    ):
        assert runs is not None
        fewer, enough = (stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n) for n in (runs - 1, runs))
        assert enough <= 0.5 < fewer
    assert nested.plan(STUDY, 1e-6).runs is None
