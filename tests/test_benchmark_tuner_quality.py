"""What the comparison of tuners says of recorded regrets."""

import importlib
import statistics
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
# problem -> regrets of ours and of the other, by seed; medians and paired differences disagree
REGRETS = {
    "won": ([0.1, 0.2, 0.3], [0.5, 0.4, 0.9]),
    "tied": ([0.2, 0.2, 0.2], [0.2, 0.2, 0.7]),
    "crossed": ([0.1, 0.5, 0.6], [0.4, 0.45, 0.55]),  # median lost by 0.05, paired too
    "apart": ([0.0, 0.3, 0.4], [0.31, 0.32, 0.1]),  # medians won by 0.01, paired by 0.02
}


def test_differences_count_problems_by_a_stated_criterion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if wins are counted otherwise than named, or paired differences are not of one seed."""
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("tuner_quality")
    recorded = {
        (problem, engine, str(seed)): np.array([1.0, regret])
        for problem, both in REGRETS.items()
        for engine, regrets in zip(("ours", "other"), both, strict=True)
        for seed, regret in enumerate(regrets)
    }
    recorded["won", "ours", "9"] = np.array([1.0, 5.0])  # which the other lacks
    found = script.difference(recorded, "ours", "other", [*REGRETS])

    median = statistics.median
    of_medians = {name: median(a) - median(b) for name, (a, b) in REGRETS.items()}
    paired = {
        name: median(x - y for x, y in zip(a, b, strict=True)) for name, (a, b) in REGRETS.items()
    }
    for key, expected in (("of_medians", of_medians), ("paired", paired)):
        values = [round(value, 6) for value in expected.values()]
        assert found[key]["difference"] == pytest.approx(median(values), abs=1e-4)
        counts = [sum(v < 0 for v in values), values.count(0), sum(v > 0 for v in values)]
        assert found[key]["won_tied_lost"] == counts
        assert found[key]["worst"] == ["crossed", pytest.approx(max(values))]
    ours, others = zip(*((median(a), median(b)) for a, b in REGRETS.values()), strict=True)
    apart = found["over_problems"]["difference"]
    assert apart == pytest.approx(median(ours) - median(others), abs=1e-4)
    assert found["runs"] == 12
