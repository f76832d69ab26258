"""Random settings near one: where they lie, and what is said of them."""

import dataclasses
import importlib
import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.config import fields
from jaxeval.config.fields import Range
from jaxeval.errors import ConfigError, DataError
from jaxeval.tasks import tagging

verb = importlib.import_module("jaxeval.neighbourhood")  # of the package, it is the function
RANGES = {"learning_rate": Range(1e-4, 1e-1, True), "state": Range(0.0, 0.9)}


def _described(scores: list, settings: list | None = None, within: float = 0.01, higher=True):
    found = verb._describe(scores, settings or [{"a": 1.0}] * len(scores), within, higher)
    ranges = dict.fromkeys(found["points"][0].keys() - {"score"}, Range(0.0, 9.0))
    return verb._Neighbourhood("mine", "f1", "dev", 0.2, **found, unit="fraction", ranges=ranges)


def test_settings_fill_their_intervals_and_no_more() -> None:
    """Dies if a setting lies outside, the log is lost, or a cut interval is mirrored."""
    drawn = verb._draw({"learning_rate": 3e-3, "state": 0.05}, RANGES, 0.2, 2000, 1)
    rates = np.log10([setting["learning_rate"] for setting in drawn])
    low, high = np.log10(3e-3) - 0.3, np.log10(3e-3) + 0.3
    assert low <= rates.min() < low + 0.01 and high - 0.01 < rates.max() <= high
    assert stats.kstest((rates - low) / (high - low), "uniform").pvalue > 1e-3
    states = np.array([setting["state"] for setting in drawn])
    assert 0 <= states.min() < 0.001 and 0.139 < states.max() <= 0.14
    assert drawn[:5] == verb._draw({"learning_rate": 3e-3, "state": 0.05}, RANGES, 0.2, 5, 1)
    with pytest.raises(ConfigError, match=r"state: 0\.95 is not between"):
        verb._draw({"learning_rate": 3e-3, "state": 0.95}, RANGES, 0.2, 5, 1)


def _traced(**values: float) -> dict[str, fields.Hyperparameter]:
    """Hyperparameters as the default config marks them, with other values."""
    own = {"dropout_output": fields.dropout("dropout_output")}
    each = {name: h.marker for name, h in fields.traced(tagging._Config()).items()} | own
    return {name: fields.Hyperparameter(name, name, v, each[name]) for name, v in values.items()}


def test_which_hyperparameters_are_varied() -> None:
    """Dies if one without a range, or an absent decay, is varied; or a given range is lost."""
    traced = _traced(beta2=0.999, l2=0.0, learning_rate=0.01, dropout_output=0.1, warmup=1.0)
    assert list(verb._choose_ranges(traced, {})) == ["learning_rate", "dropout_output"]
    asked = {"beta2": "0.9:0.99", "dropout_output": "0:0.5", "warmup": "1:100:log"}
    ranges = verb._choose_ranges(traced, asked)
    assert ranges["beta2"] == Range(0.9, 0.99) and ranges["dropout_output"] == Range(0.0, 0.5)
    assert ranges["warmup"] == Range(1.0, 100.0, True)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        *(("beta2", text, "expected LOW:HIGH") for text in ("1", "2:1", "nan:1", "0:1:lin")),
        ("beta2", "0:1:log", "log of numbers above 0"),
        ("dropout_output", "0:1.5", "expected LOW:HIGH.*; dropout_output is"),
        ("momentum", "0:1", "--range momentum=0:1: expected one of beta2"),
    ],
)
def test_bad_ranges_are_refused(name: str, text: str, message: str) -> None:
    """Dies if a range without numbers in it, or beyond what there can be, is drawn from."""
    with pytest.raises(ConfigError, match=message):
        verb._choose_ranges(_traced(beta2=0.999, dropout_output=0.1), {name: text})


def test_what_is_said_of_a_neighbourhood() -> None:
    """Dies if failed settings count as near, or a share or a trend is another than by hand."""
    settings = [{"a": float(k), "b": 1.0, "c": float(k % 3)} for k in range(10)]
    scores: list[float | None] = [60.0 + k for k in range(9)] + [None]
    found = _described(scores, settings, 3.0, higher=False)
    assert (found.best, found.worst, found.median) == (60.0, 68.0, 64.0)
    assert (found.near, found.failed, found.share) == (3, 1, 3 / 9)
    assert [t.name for t in found.trends] == ["a", "c"]  # b never changed
    assert found.trends[0].rho == pytest.approx(1.0)
    c = stats.spearmanr([s["c"] for s in settings[:9]], scores[:9])
    assert found.trends[0].p_value == pytest.approx(2 * 2 / math.factorial(9))  # never 0
    assert found.trends[1].p_value == pytest.approx(c.pvalue)  # the larger of two under Holm
    upward = _described(scores, settings, 3.0)
    assert (upward.best, upward.worst, upward.near) == (68.0, 60.0, 3)
    with pytest.raises(DataError, match="at least 5"):
        _described([1.0, None, 2.0, 3.0, 4.0])
    equal = _described([0.0] * 5, settings[:5])
    assert not equal.trends and len(equal.document().blocks) == 1
    assert "the same dev f1: its sources" in equal.document().answer[0]


@pytest.mark.parametrize("higher", [True, False])
def test_what_is_near_has_a_border_and_no_unit(higher: bool) -> None:
    """Dies if .9 - .89, a rounding above .01, is beyond a margin of it, or decimals are fixed."""
    scores = [0.90, 0.89, 0.89, 0.89, 0.80, 0.70]
    shown = scores if higher else [1 - score for score in scores]
    single = np.float32(shown).astype(float).tolist()
    assert _described(shown, higher=higher).near == _described(single, higher=higher).near == 3
    for unit in (1e-9, 1e6):
        losses = [unit * loss for loss in (0.50, 0.51, 0.52, 0.53, 0.80, 0.9)]
        for within, near in ((0.02, 2), (0.0199, 1), (0.0, 0)):
            assert _described(losses, within=unit * within, higher=False).near == near


def test_the_answer_and_the_figure_are_those_of_the_direction() -> None:
    """Dies if the share or the band is that of the worst setting, or a failed one is drawn."""
    scores = [0.5, 0.6, 0.7, 0.895, 0.9, None]
    for higher, near, best in ((True, "20 %", "90.00"), (False, "0 %", "50.00")):
        around = _described(scores, [{"a": float(k)} for k in range(6)], higher=higher)
        found = around.document()
        assert found.answer[0].startswith(f"{near} of the other settings, ")
        assert found.title == "Neighbourhood of mine"
        assert f"of 6 settings, 1 without a score: best {best}, median 70.00" in found.blocks[0]
        (figure,) = found.figures()
        (panel,) = figure.drawing.axes
        assert len(figure.rows) == len(panel.collections[0].get_offsets()) == 5
        (band,) = panel.patches
        ends = band.get_y(), band.get_y() + band.get_height()
        assert ends == pytest.approx((89.0, 90.0) if higher else (50.0, 51.0))
    assert dataclasses.asdict(around)["points"][5] == {"score": None, "a": 5.0}
