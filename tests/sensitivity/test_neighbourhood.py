"""Random settings near one: where they lie, and what is said of them."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.config import markers
from jaxeval.errors import ConfigError, DataError
from jaxeval.neighbourhood import ranges_of
from jaxeval.report.sweep import neighbourhood
from jaxeval.sensitivity.neighbourhood import Range, describe, draw, parse_range
from jaxeval.tasks import tagging

RANGES = {"learning_rate": Range(1e-4, 1e-1, True), "state": Range(0.0, 0.9)}


def test_settings_fill_their_intervals_and_no_more() -> None:
    """Dies if a setting lies outside, the log is lost, or a cut interval is mirrored."""
    drawn = draw({"learning_rate": 3e-3, "state": 0.05}, RANGES, 0.2, 2000, 1)
    rates = np.log10([setting["learning_rate"] for setting in drawn])
    low, high = np.log10(3e-3) - 0.3, np.log10(3e-3) + 0.3
    assert low <= rates.min() < low + 0.01 and high - 0.01 < rates.max() <= high
    assert stats.kstest((rates - low) / (high - low), "uniform").pvalue > 1e-3
    states = np.array([setting["state"] for setting in drawn])
    assert 0 <= states.min() < 0.001 and 0.139 < states.max() <= 0.14
    assert drawn[:5] == draw({"learning_rate": 3e-3, "state": 0.05}, RANGES, 0.2, 5, 1)
    assert drawn[:5] != draw({"learning_rate": 3e-3, "state": 0.05}, RANGES, 0.2, 5, 2)[:5]
    with pytest.raises(ConfigError, match=r"state: 0\.95 is not between"):
        draw({"learning_rate": 3e-3, "state": 0.95}, RANGES, 0.2, 5, 1)


@pytest.mark.parametrize(
    "text", ["", "1", "1:", "2:1", "1:1", "0:1:log", "1:2:lin", "a:b", "nan:1"]
)
def test_bad_ranges_are_refused(text: str) -> None:
    """Dies if a range without numbers in it is drawn from."""
    with pytest.raises(ConfigError, match="range"):
        parse_range(text)


def _traced(**values: float) -> dict[str, markers.Hyperparameter]:
    """Hyperparameters as the default config marks them, with other values."""
    own = {"dropout_output": markers.dropout("dropout_output")}
    each = {name: h.marker for name, h in markers.traced(tagging.Config()).items()} | own
    return {name: markers.Hyperparameter(name, name, v, each[name]) for name, v in values.items()}


def test_which_hyperparameters_are_varied() -> None:
    """Dies if one without a range, or an absent decay, is varied; or a given range is lost."""
    traced = _traced(beta2=0.999, l2=0.0, learning_rate=0.01, dropout_output=0.1)
    assert list(ranges_of(traced, [])) == ["learning_rate", "dropout_output"]
    ranges = ranges_of(traced, ["beta2=0.9:0.99", "dropout_output=0:0.5"])
    assert ranges["beta2"] == Range(0.9, 0.99) and ranges["dropout_output"] == Range(0.0, 0.5)
    for wrong in ("dropout_output=0:1.5", "learning_rate=-1:1"):
        with pytest.raises(ConfigError, match="expected"):
            ranges_of(traced, [wrong])
    with pytest.raises(ConfigError, match="expected one of beta2"):
        ranges_of(traced, ["momentum=0:1"])


def test_what_is_said_of_a_neighbourhood() -> None:
    """Dies if failed settings count as near, or a share or a trend is another than by hand."""
    settings = [{"a": float(k), "b": 1.0, "c": float(k % 3)} for k in range(10)]
    scores: list[float | None] = [60.0 + k for k in range(9)] + [None]
    description = describe(scores, settings, 3.0, higher_is_better=False)
    assert (description.best, description.worst, description.median) == (60.0, 68.0, 64.0)
    assert (description.near, description.failed, description.share) == (3, 1, 3 / 9)
    assert [t.name for t in description.trends] == ["a", "c"]  # b never changed
    assert description.trends[0].rho == pytest.approx(1.0)
    c = stats.spearmanr([s["c"] for s in settings[:9]], scores[:9])
    assert description.trends[0].p_value == pytest.approx(2 * 2 / math.factorial(9))  # never 0
    assert description.trends[1].p_value == pytest.approx(c.pvalue)  # the larger of two under Holm
    upward = describe(scores, settings, 3.0, higher_is_better=True)
    assert (upward.best, upward.worst, upward.near) == (68.0, 60.0, 3)
    with pytest.raises(DataError, match="at least 5"):
        describe([1.0, None, 2.0, 3.0, 4.0], settings[:5], 1.0, higher_is_better=False)
    few = describe([1.0, 2.0, 3.0, 4.0, 5.0], settings[:5], 1.0, higher_is_better=False)
    assert few.trends[0].p_value == pytest.approx(2 * 2 / 120)  # all 120 orders, two trends
    assert describe([1.0] * 5, settings[:5], 1.0, higher_is_better=False).trends == []


@pytest.mark.parametrize("higher", [True, False])
def test_a_setting_at_the_margin_is_near(higher: bool) -> None:
    """Dies if .9 - .89, which is a rounding above .01, or its mirror, is beyond a margin of it."""
    scores = [0.90, 0.89, 0.89, 0.89, 0.80, 0.70]
    shown = scores if higher else [1 - score for score in scores]
    assert describe(shown, [{"a": 1.0}] * 6, 0.01, higher_is_better=higher).near == 3
    single = np.float32(shown).astype(float).tolist()
    assert describe(single, [{"a": 1.0}] * 6, 0.01, higher_is_better=higher).near == 3


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6])
def test_what_is_near_does_not_depend_on_the_unit(unit: float) -> None:
    """Dies if scores are rounded to decimals before they are compared."""
    losses = [unit * loss for loss in (0.50, 0.51, 0.52, 0.53, 0.80, 0.9)]
    for within, near in ((0.02, 2), (0.0199, 1), (0.0, 0)):
        found = describe(losses, [{"a": 1.0}] * 6, unit * within, higher_is_better=False)
        assert found.near == near


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("uniform", [True, False])
def test_the_interval_covers_the_share_of_settings_that_score_no_better(
    n: int, uniform: bool
) -> None:
    """Dies if the best counts as near itself (coverage of .1 by 5, 10, 20 scores: .6, .7, .9)."""
    draw, covered = np.random.default_rng(n), 0
    below = (lambda x: np.clip(x, 0, 1)) if uniform else stats.norm.cdf
    within = 0.1 if uniform else 0.5
    for _ in range(1000):
        scores = draw.random(n) if uniform else draw.normal(size=n)
        best = scores.max()
        share = 1 - below(best - within) / below(best)
        low, high = describe(scores.tolist(), [{"a": 1.0}] * n, within, True).share_interval
        covered += low <= share <= high
    assert 0.925 <= covered / 1000 <= 0.995


@pytest.mark.parametrize("n", [7, 8, 9, 40])
def test_complete_agreement_is_as_likely_as_two_orders(n: int) -> None:
    """Dies if a trend that all settings follow has p = 0."""
    settings = [{"a": float(k)} for k in range(n)]
    (trend,) = describe([-float(k) for k in range(n)], settings, 1.0, True).trends
    assert trend.rho == -1 and trend.p_value >= 2 / math.factorial(n) > 0
    turned = [*map(float, range(n // 2)), *map(float, range(n - 1, n // 2 - 1, -1))]
    (weaker,) = describe(turned, settings, 1.0, True).trends
    assert 1 > weaker.p_value > trend.p_value


@pytest.mark.parametrize(("higher", "best"), [(True, "90.00"), (False, "50.00")])
def test_the_answer_comes_first_and_is_that_of_the_direction(
    higher: bool, best: str, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the share is that of the worst setting, or the seeds' spread is not said."""
    scores = [0.5, 0.6, 0.7, 0.895, 0.9]
    around = describe(scores, [{"a": float(k)} for k in range(5)], 0.01, higher)
    neighbourhood.show(around, "dev f1", "fraction", {"a": Range(0.0, 5.0)})
    answer, spread, *_ = capsys.readouterr().out.splitlines()
    near = "25 % of the other settings, 1 of 4" if higher else "0 % of the other settings, 0 of 4"
    assert answer.startswith(f"{near}, come within 1 point of the best (95 % CI ")
    assert answer.endswith("each was trained once, so the seeds' spread is in it.")
    assert f"of 5 settings: best {best}, median 70.00" in spread


def test_only_what_has_a_range_is_varied() -> None:
    """Dies if a schedule is varied unasked: its neutral value means none."""
    traced = _traced(learning_rate=0.01, dropout_output=0.1, warmup=1.0)
    assert set(ranges_of(traced, [])) == {"learning_rate", "dropout_output"}
    assert "warmup" in ranges_of(traced, ["warmup=1:100:log"])
