"""The leaderboard's page and its boards."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.report import Heading, comparison
from jaxeval.report.comparison import claims
from jaxeval.stats.power import t_test_power
from jaxeval.stats.study import Study
from tests.stats import cubes

SKILLS = {"good": 1.5, "fair": 1.4, "poor": -1.0}


def _study(*metrics: str, names: tuple[str, ...] = tuple(SKILLS), **rules: object) -> Study:
    """Three models in three runs on 60 items of a task for each metric."""
    draw = np.random.default_rng(0)
    tasks = []
    for number, metric in enumerate(metrics):
        hard = draw.normal(size=(60, 1, 1))
        scores = {
            name: (hard + draw.normal(size=(60, 3, 1)) < skill).astype(float)
            for name, skill in zip(names, SKILLS.values(), strict=True)
        }
        tasks.append(cubes.task(f"task{number}", metric, scores))
    return cubes.studied(tasks, **rules)


def test_detectable_difference_has_the_power_that_is_said() -> None:
    """Dies if the level is not corrected, or the pair of the narrowest interval counts as that
    known best whatever its degrees of freedom: at the ends the power of t tests of all pairs is at
    most, and at least, .8."""
    study = _study("acc", "acc")
    detectable, level = study.boards[0].detectable, 0.05 / len(study.pairs)
    assert detectable is not None
    of_pairs = [p.difference for p in study.pairs if p.data_set == "task0" and p.difference]
    for end, extreme in zip(detectable[:2], (max, min), strict=True):
        assert end is not None
        powers = []
        for of in of_pairs:
            error = (of.interval.high - of.interval.low) / 2 / scipy_stats.t.ppf(0.975, of.df)
            powers.append(t_test_power(end / error, of.df, level))
        assert extreme(powers) == pytest.approx(0.8, abs=1e-4)


def test_what_cannot_be_shown_is_put_down_to_its_reason() -> None:
    """Dies if a pair without spread, two names of one model, says that nothing can be shown, or
    if scores that vary are blamed where two runs of each leave too few degrees of freedom."""
    draw = np.random.default_rng(0)
    item = np.round(draw.normal(size=(60, 1, 1)), 1)
    study = cubes.studied([cubes.task("t", "score", {"a": item, "b": item + 0.5})])
    assert "is unknown: two models differ" in claims.detectable_on(study.boards[0], study)
    scores = {"a": item, "copy": item, "b": item + 0.3 * draw.normal(size=(60, 1, 1))}
    study = cubes.studied([cubes.task("t", "score", scores)])
    detectable = study.boards[0].detectable
    assert detectable is not None and detectable.smallest is not None
    said = claims.detectable_on(study.boards[0], study)
    assert "for the best-known pair would be" in said and "however large" not in said
    scores = {f"m{k}": draw.normal(size=(40, 2, 1)) + draw.normal(size=2)[:, None] for k in "ab"}
    study = cubes.studied([cubes.task("t", "score", scores)], over=("runs",), alpha=1e-5)
    assert study.boards[0].detectable == (None, None, True, False)
    assert "no difference, however large" in claims.detectable_on(study.boards[0], study)


def test_unequal_metrics_have_no_common_order() -> None:
    """Dies if tasks of two metrics are averaged, or models ordered over them."""
    study = _study("acc", "bleu")
    assert study.board is None and not study.overall
    for each, averaged in ((study, False), (_study("acc", "acc"), True)):
        compared = comparison.Comparison(each)
        notes = compared.document().notes
        assert any(note.startswith("No mean over tasks") for note in notes) != averaged
        titles = [block.text for block in compared.details() if isinstance(block, Heading)]
        assert ("Mean over tasks, acc" in titles) == averaged
