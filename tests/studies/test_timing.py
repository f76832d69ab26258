"""What runs that ended teach the next plan."""

import json
from pathlib import Path

import pytest

from jaxeval import runs
from jaxeval.report.sweep import plan
from jaxeval.studies import costs, timing
from tests.space import fabricated
from tests.studies.test_costs import MACHINE, Square


def _rows(folder: Path) -> list[runs.MemberRow]:
    fabricated.fill(folder, ("transformer",), count=4)
    rows = runs.load(folder)
    return [row._replace(wall_seconds=30.0 * row.seed, epochs=row.seed) for row in rows]


def test_ratio_of_a_fabricated_store(tmp_path: Path) -> None:
    """Dies if epochs that did not run count, or runs of other devices or sweeps."""
    rows = _rows(tmp_path)
    device = rows[0].device
    estimates = {"sweep0": [10.0, 20.0, 0.0, 40.0]}  # nothing is known of the third
    # took 30, 60 and 120 seconds; said 1 x 10, 2 x 20, 4 x 40
    assert timing.measured(rows, estimates, device) == (pytest.approx(210 / 210), 3)
    slow = [row._replace(wall_seconds=3 * row.wall_seconds) for row in rows]
    assert timing.measured(slow, estimates, device) == (pytest.approx(3.0), 3)
    elsewhere = [*rows, *(row._replace(device="other", wall_seconds=1e6) for row in rows)]
    assert timing.measured(elsewhere, estimates, device) == timing.measured(
        rows, estimates, device
    )
    assert timing.measured(rows, {"sweep0": [10.0]}, device) == (pytest.approx(3.0), 1)
    assert timing.measured(rows, {"another": [10.0]}, device) is None
    assert timing.measured(rows, estimates, "other") is None


def test_estimates_of_plans_are_found_again(tmp_path: Path) -> None:
    """Dies if runs are mixed up between cohorts, or a file of an earlier version ends the plan."""
    jobs = [costs.Job(Square(size), 16, 2, 50) for size in (400, 20, 400)]
    estimates = costs.plan(jobs, [100], MACHINE, join=False)
    seconds = timing.by_run(estimates)
    assert seconds[0] == seconds[2] > seconds[1] > 0
    assert 2 * sum(seconds) == pytest.approx(sum(cohort.seconds for cohort in estimates))
    (tmp_path / "sweeps").mkdir()
    tree = {"sweep": "s", "estimated_seconds_an_epoch": seconds}
    (tmp_path / "sweeps" / "a.json").write_text(json.dumps(tree))
    (tmp_path / "sweeps" / "b.json").write_text('{"sweep": "old", "runs": []}')
    assert timing.recorded(tmp_path) == {"s": seconds}


def test_the_plan_says_what_it_rests_on(capsys: pytest.CaptureFixture) -> None:
    """Dies if an estimate is called a bound, or what was measured is left out of it."""
    estimates = costs.plan([costs.Job(Square(9000), 16, 60, 1000)], [10_000], MACHINE)
    ratio = timing.Measured(2.0, 24)
    corrected = timing.corrected(estimates, ratio)
    assert (
        corrected[0].seconds == 2 * estimates[0].seconds and corrected[0].jobs == estimates[0].jobs
    )
    plan.show(corrected, ratio)
    said = capsys.readouterr().out
    assert "at most" not in said and "estimate: " in said
    assert "the 24 runs of sweeps that ended here on this machine took 2 times" in said
    plan.show(estimates)
    assert "no run of a sweep has ended here" in capsys.readouterr().out
