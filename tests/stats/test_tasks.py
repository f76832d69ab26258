"""Several tasks: means over them, ranks, ties, refusals."""

import dataclasses

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores
from jaxeval.stats import estimates, multiple
from jaxeval.stats.estimates import Estimate
from tests.stats.cubes import estimate, studied, task

BOTH = ("items", "runs")
DRAW = np.random.default_rng(0)


def _tasks(
    counts: tuple[int, ...] = (40, 60, 80), models: int = 4, runs: int = 3, gap: float = 0.5
) -> list[DataSetScores]:
    """Model k is better by k gaps; runs of a model are shared by its tasks."""
    generator = np.random.default_rng(0)
    of_run = 0.2 * generator.normal(size=(models, runs))
    tasks = []
    for number, count in enumerate(counts):
        item = generator.normal(size=(count, 1))
        scores = {
            f"m{k}": gap * k + item + of_run[k] + 0.5 * generator.normal(size=(count, runs))
            for k in range(models)
        }
        tasks.append(task(f"t{number}", "points", scores))
    return tasks


def _of(of: DataSetScores, model: str) -> np.ndarray:
    return of.models[model].scores[..., 0]


def _mean(tasks: list[DataSetScores], over: tuple[str, ...], shared: bool = True) -> Estimate:
    cubes = [{model: t.models[model].scores for model in ("m0", "m1")} for t in tasks]
    both: list = [[*estimates.tables(of).values()] for of in cubes]
    return estimates.estimate(both, [over], shared_runs=shared)[0]  # type: ignore[list-item]


def test_runs_of_their_own_add_up_and_shared_runs_do_not_average_out() -> None:
    """Dies if the run that all tasks share is taken as another one on each task."""
    tasks = _tasks()
    apart = _mean(tasks, BOTH, shared=False)
    each = [estimate(_of(t, "m0"), _of(t, "m1")).se for t in tasks]
    assert apart.se == pytest.approx(np.sqrt(np.sum(np.square(each))) / 3, rel=0.05)
    assert _mean(tasks, BOTH).se > 1.2 * apart.se
    assert (apart.sizes.items, apart.sizes.runs) == (180, (3, 3))


def test_over_runs_is_welchs_test_of_the_runs_means_over_tasks() -> None:
    """Dies if tasks are weighted by their items."""
    tasks = _tasks()
    means = [np.mean([_of(t, m).mean(0) for t in tasks], axis=0) for m in ("m0", "m1")]
    found = _mean(tasks, ("runs",))
    assert found.value == pytest.approx(means[0].mean() - means[1].mean())
    each = [m.var(ddof=1) / 3 for m in means]
    assert found.se == pytest.approx(np.sqrt(sum(each)))
    assert found.df == pytest.approx(2 * sum(each) ** 2 / sum(v**2 for v in each))


def test_a_models_mean_over_tasks() -> None:
    """Dies if tasks weigh by their items, or runs that move all tasks together count as each's
    own; or if the interval of a perfect model has no width."""

    def mean(scores: list[np.ndarray], over: str, shared: bool = True, binary: bool = False):  # type: ignore[no-untyped-def]
        cubes = [of.reshape(len(of), -1, 1) for of in scores]
        each = [[estimates.tables({"m": of})["m"]] for of in cubes]
        (found,) = estimates.estimate(each, [(over,)], 0.95, False, binary, shared_runs=shared)  # type: ignore[list-item]
        return found

    scores = [DRAW.normal(size=n) for n in (20, 80)]
    squares = sum(each.var(ddof=1) / len(each) for each in scores)
    of_both = mean(scores, "items")
    assert of_both.value == pytest.approx(np.mean([each.mean() for each in scores]))
    assert of_both.se == pytest.approx(np.sqrt(squares) / 2)
    run = DRAW.normal(size=4)
    several = [DRAW.normal(scale=0.01, size=(30, 4)) + run for _ in range(3)]
    assert mean(several, "runs").se == pytest.approx(run.std(ddof=1) / 2, rel=0.05)
    own = mean(several, "runs", shared=False)
    assert own.se == pytest.approx(mean(several, "runs").se / np.sqrt(3), rel=0.05)
    perfect = mean([np.ones(50), np.ones(50)], "items", binary=True)
    assert perfect.interval.high == 1 and 0.95 < perfect.interval.low < 0.99


def test_all_pairs_are_compared_and_corrected() -> None:
    """Dies if a pair or a task is left out, or p-values are not Holm's over all."""
    found = studied(_tasks())
    assert len(found.pairs) == 18 and len(found.overall) == 6 and not found.notes
    for tested in (found.pairs, found.overall):
        adjusted = multiple.adjust_p_values([pair.p_value for pair in tested], "holm")
        assert [pair.p_adjusted for pair in tested] == pytest.approx(adjusted.tolist())
    assert found.board is not None
    assert [row.model for row in found.board.rows] == ["m3", "m2", "m1", "m0"]
    assert [row.rank for row in found.board.rows] == [1, 2, 3, 4]


def test_what_cannot_be_averaged_is_said() -> None:
    """Dies if accuracy and F1 are averaged in silence, or runs of unequal number are matched."""
    first, second, third = _tasks()
    found = studied([first, dataclasses.replace(second, metric="f1"), third])
    assert len(found.pairs) == 18 and found.overall == () and found.board is None
    assert "metrics differ (points, f1)" in found.notes[0]
    fewer = task("t1", "points", {m: _of(second, m)[:, :2] for m in second.models})
    found = studied([first, fewer])
    assert "interval of the mean is too narrow" in found.notes[0] and len(found.overall) == 6
    with pytest.raises(DataError, match=r"as many runs of a model on every task, found \[3, 2\]"):
        _mean([first, fewer], BOTH)


def test_ranks_are_open_where_nothing_is_shown() -> None:
    """Dies if a difference whose error is not known, or that its own test does not show, sets
    models apart: constant gaps, and two answers, one model right and the other wrong in both."""
    item = np.random.default_rng(2).normal(size=(50, 1))
    constant = {f"m{k}": item + 0.01 * k for k in range(2)}
    two = {"m0": np.zeros((2, 1)), "m1": np.ones((2, 1))}
    for scores in (constant, two):
        (board,) = studied([task("t", "points", scores)]).boards
        assert [(row.low, row.high) for row in board.rows] == [(1, 2), (1, 2)]


def test_ranks_and_ties_rest_on_the_corrected_p_values() -> None:
    """Dies if the intervals of ranks separate models that are not told apart, or the other way, or
    if a group of ties is only of neighbours: the noisiest of five is like models that differ."""
    generator = np.random.default_rng(6)
    scores = {
        f"m{k}": generator.normal(-0.05 * k, spread, size=(60, 1))
        for k, spread in enumerate((0.1, 0.1, 3.0, 0.1, 0.1))
    }
    found = studied([task("t", "points", scores)])
    alike = {f"m{k}": {f"m{k}"} for k in range(5)}
    better = dict.fromkeys(alike, 0)
    for pair in found.pairs:
        if pair.p_adjusted > 0.05:
            alike[pair.a].add(pair.b)
            alike[pair.b].add(pair.a)
        else:
            better[pair.b if pair.value > 0 else pair.a] += 1
    assert alike["m2"] == set(alike) and len(alike["m0"]) == 2  # m0 and m4 are like m2 alone
    rows = found.boards[0].rows
    for row in rows:
        worse = 5 - len(alike[row.model]) - better[row.model]
        assert (row.low, row.high) == (1 + better[row.model], 5 - worse)
        assert {of.model for of in rows if {*of.groups} & {*row.groups}} == alike[row.model]


def test_runs_with_some_names_in_common() -> None:
    """Dies if one replaced run makes all runs a task's own, or equal names are taken apart by
    where they stand; the expected covariance is that of the names in common."""
    plain, names = _tasks(), ({}, {"m0": "yxw"}, {"m0": "wyz"})
    models = ("m0", "m1", "m2", "m3")
    named = [
        task(
            t.name,
            t.metric,
            {m: _of(t, m) for m in models},
            runs=dict.fromkeys(models, tuple("xyz")) | {m: tuple(n) for m, n in of.items()},
        )
        for t, of in zip(plain, names, strict=True)
    ]
    found = studied(named, over=("runs",))
    effects = [mean - mean.mean() for mean in (_of(t, "m0").mean(0) for t in plain)]
    columns = (effects[0], effects[1][[1, 0, 2]], effects[2][[2, 1, 0]])  # x y z, x y w, z y w
    expected = np.sum(np.sum(columns, 0) ** 2) / 9 / 6
    of_m1 = np.mean([_of(t, "m1").mean(0) for t in plain], axis=0).var(ddof=1) / 3
    assert found.item_design is not None and found.item_design.shared_runs and not found.notes
    assert found.overall[0].difference is not None
    assert found.overall[0].difference.se == pytest.approx(np.sqrt(expected + of_m1))


def test_a_mean_is_over_what_its_model_has() -> None:
    """Dies if the single run of one model takes the runs from the mean of the other."""
    scores = {"a": DRAW.normal(size=(40, 3)), "b": DRAW.normal(size=(40, 1))}
    found = studied([task("t", "points", scores)])
    over = {row.model: row.mean.over for row in found.boards[0].rows}  # type: ignore[union-attr]
    assert over == {"a": BOTH, "b": ("items",)}
    assert found.pairs[0].difference is not None and found.pairs[0].difference.over == ("items",)
