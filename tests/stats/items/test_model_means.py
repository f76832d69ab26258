"""A model's mean over several tasks."""

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.stats.items import estimates, model_means
from jaxeval.stats.items.task_means import Task

DRAW = np.random.default_rng(0)


def _tasks(*scores: np.ndarray, metric: str = "acc") -> list[Task]:
    return [Task(f"t{k}", metric, {"m": each}) for k, each in enumerate(scores)]


def test_errors_of_independent_tasks_add() -> None:
    """Dies if tasks weigh by their items: the mean of means, with the errors' squares summed."""
    scores = [DRAW.normal(size=n) for n in (20, 80)]
    estimate = model_means.mean(_tasks(*scores), "m", over=["items"])
    assert estimate.value == pytest.approx(np.mean([each.mean() for each in scores]))
    squares = sum(each.var(ddof=1) / len(each) for each in scores)
    assert estimate.se == pytest.approx(np.sqrt(squares) / 2)


def test_shared_runs_are_one_run() -> None:
    """Dies if runs that move all tasks together count as each task's own."""
    run = DRAW.normal(size=4)
    scores = [DRAW.normal(scale=0.01, size=(30, 4)) + run for _ in range(3)]
    shared = model_means.mean(_tasks(*scores), "m", over=["runs"])
    own = model_means.mean(_tasks(*scores), "m", over=["runs"], shared_runs=False)
    assert shared.se == pytest.approx(run.std(ddof=1) / 2, rel=0.05)
    assert own.se == pytest.approx(shared.se / np.sqrt(3), rel=0.05)


def test_right_answers_alone_leave_failures_open() -> None:
    """Dies if the interval of a perfect model has no width, or leaves 0 to 1."""
    estimate = model_means.mean(_tasks(np.ones(50), np.ones(50)), "m", over=["items"])
    assert estimate.interval.high == 1 and 0.95 < estimate.interval.low < 0.99
    assert not any("cannot be told" in line for line in estimate.warnings)


def test_other_metrics_are_refused() -> None:
    """Dies if tasks of two metrics are averaged."""
    tasks = [*_tasks(DRAW.normal(size=9)), Task("u", "bleu", {"m": DRAW.normal(size=9)})]
    with pytest.raises(DataError, match="their metrics differ"):
        model_means.mean(tasks, "m", over=["items"])


@pytest.mark.parametrize("over", [["items"], ["runs"], ["items", "runs"]])
def test_no_spread_is_not_known(over: list) -> None:
    """Dies if equal scores, which are no right or wrong answers, get an interval without width."""
    estimate = estimates.mean(np.full((40, 3), 0.3), over=over)
    assert np.isnan(estimate.interval.low) and np.isnan(estimate.interval.high)
    assert any("cannot be told" in line for line in estimate.warnings)
    assert estimates.mean(np.ones((40, 3)), over=over).interval.low < 1
