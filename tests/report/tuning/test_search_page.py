"""The page of a search: self-contained, with the numbers behind it."""

import itertools
import json
import math
import re

import numpy as np
import pytest

from jaxeval.report.plain import plain
from jaxeval.report.tuning import as_json, figures, importance, page, places
from jaxeval.report.tuning.as_json import Metric, Result, Retrained
from jaxeval.sensitivity import hyperparameters
from jaxeval.space import space as spaces
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "cell": {"choices": ["lstm", "gru <b>"]},
        "idle": {"uniform": [0, 1]},
    }
)


def _tree(seeds: int = 1, method: str = "gp") -> Result:
    """A search whose scores depend on the rate, a little on the cell, and not at all on idle."""
    search = Search(SPACE, "sobol", 2, seeds)
    random, history = np.random.default_rng(0), History()
    history, proposed = searches.ask(search, history, 24)
    for e in proposed:
        rate, cell = float(e.values["rate"]), e.values["cell"]  # type: ignore[arg-type]
        mean = 0.9 - 0.1 * (math.log10(rate) + 2) ** 2 - 0.02 * (cell != "lstm")
        scores = tuple(float(v) for v in mean + 0.01 * random.normal(size=seeds))
        history = histories.tell(history, e.number, histories.Result(scores))
    of = Search(SPACE, method, 2, seeds)  # type: ignore[arg-type]
    best = searches.best(of, history)
    return as_json.result(of, history, best, "ended", 1.0, Metric("accuracy", "fraction", 0.01))


@pytest.fixture(scope="module")
def tree() -> Result:
    return _tree(seeds=3)


def test_what_matters_is_said(tree: Result) -> None:
    """Dies if hyperparameters are confused, the neighbourhood is not that of the best, or what is
    idle is told apart."""
    of = tree["posterior"]
    assert of is not None and of["importance"][0]["name"] == "rate"
    rows = {row[0]: row for row in importance.neighbourhood(of)}
    assert rows["idle"][2] == "the whole range"
    along = {row["name"]: row for row in of["neighbourhood"]}
    low, high = along["rate"]["alike"][0], along["rate"]["alike"][-1]
    # worse by more than the margin: beyond a distance of sqrt(.1) from 1e-2
    assert 10**-2.8 < low < 10**-2.1 and 10**-1.9 < high < 10**-1.2
    assert tree["best"] is not None and tree["best"]["numbers"][0] in of["alike"]
    assert of["noise_known"] and 1 <= len(of["alike"]) < 12


def test_the_page_opens_offline(tree: Result) -> None:
    """Dies if something is loaded from elsewhere or runs, a name is not escaped, a figure or its
    numbers are missing, or the noise is not said."""
    drawn = figures.draw(tree)
    html = page.render(tree, drawn)
    names = ["best_so_far", "importance", "slices", "parallel_coordinates"]
    assert [figure.name for figure in drawn] == names
    assert html.count("<svg") == 4 and html.count("<details>") == 4
    assert "<script" not in html and "<b>" not in html and "&lt;b&gt;" in html
    assert not re.search(r'(src|href)="(?!#)', html)
    assert "sd of one seed" in html and "not told apart" in html and "settings chosen" in html
    written = json.loads(json.dumps(plain(tree)))
    spread = written["posterior"]["importance"][0]["total_spread"]
    assert 0 <= spread["low"] < spread["high"] <= 1
    assert "no confidence interval" in html  # it does not hold the truth in 95 % of cases


def test_without_seeds_no_difference_is_called_real() -> None:
    """Dies if a search of one seed a setting hides that its noise is not known."""
    unreplicated = _tree()
    said = " ".join(importance.sentences(unreplicated))
    assert "no difference between two settings can be called real" in said
    assert "from its prior" in said and "fresh seeds" not in said
    retrained = {**unreplicated, "retrained": {"parts": {}}, "noise": 0.01, "noise_df": 7}
    said = " ".join(importance.sentences(retrained))  # type: ignore[arg-type]
    assert "the process is not told the fresh seeds: the process's intervals" in said
    random = _tree(method="random")
    assert random["posterior"] is None and len(figures.draw(random)) == 3
    assert "Around the best" not in page.render(random, figures.draw(random))


def _halved() -> History:
    """Four whole trainings between .5 and .53, and four that were stopped at lower scores."""
    history = History()
    for number in range(8):
        values = {"rate": 0.01 * (number + 1), "cell": "lstm", "idle": 0.1 * number}
        history = histories.propose(history, values, [number + 1])
        score, stopped = 0.5 + 0.01 * (number % 4), None
        if number > 3:
            score, stopped = score - 0.2, histories.Stopped(1, 5)
        history = histories.tell(history, number, histories.Result((score,), stopped=stopped))
    return history


def test_figures_mark_or_leave_out_what_was_stopped() -> None:
    """Dies if a score of one epoch is drawn as that of a whole training."""
    of, history = Search(SPACE, "random", 2), _halved()
    tree = as_json.result(of, history, searches.best(of, history), "ended", 1.0, Metric())
    drawn = {figure.name: figure for figure in figures.draw(tree)}
    so_far = drawn["best_so_far"].drawing.axes[0]
    points = {c.get_label(): len(c.get_offsets()) for c in so_far.collections}
    assert points == {"a setting": 4, "stopped early": 4}
    assert so_far.get_ylim()[0] > 0.4
    assert len(drawn["parallel_coordinates"].rows) == 4 and len(drawn["slices"].rows) == 12
    assert all("left out" in drawn[name].caption for name in ("slices", "parallel_coordinates"))


@pytest.mark.parametrize(
    ("fresh", "banded"), [([0.2, 0.9], False), ([0.2, 0.9, 0.5, 0.5, 0.4], True)]
)
def test_bands_flatten_no_figure(fresh: list[float], banded: bool) -> None:
    """Dies if a band of one degree of freedom is drawn, or one that is wide sets the limits."""
    of, history = Search(SPACE, "random", 2), _halved()
    best, again = searches.best(of, history), Retrained({"score": fresh})
    tree = as_json.result(of, history, best, "ended", 1.0, Metric(), again)
    assert tree["noise_df"] == len(fresh) - 1
    figure = figures.best_so_far(tree)
    axes = figure.drawing.axes[0]
    assert ("its noise, 95 %" in axes.get_legend_handles_labels()[1]) == banded
    assert ("The band" in figure.caption) == banded
    low, high = axes.get_ylim()
    assert low > 0.4 and high < 0.6


def test_choices_and_scales_can_be_read() -> None:
    """Dies if categories run into one another, a choice or a logarithm is not named, or the best
    settings differ from others in nothing but their colour."""
    kinds = ["adamw_with_decoupled_decay", "sgd_with_nesterov_momentum", "adafactor_relative_step"]
    space = {"rate": {"log_uniform": [1e-4, 1.0]}, "kind": {"choices": kinds}}
    of, history = Search(spaces.from_dict(space), "random", 2), History()
    for number in range(6):
        values = {"rate": 10.0 ** -(number % 4), "kind": kinds[number % 3]}
        history = histories.propose(history, values, [number + 1])
        history = histories.tell(history, number, histories.Result((0.1 * number,)))
    tree = as_json.result(of, history, searches.best(of, history), "ended", 1.0, Metric())
    drawn = {figure.name: figure.drawing for figure in figures.draw(tree)}
    drawn["slices"].draw_without_rendering()
    labels = [text.get_window_extent() for text in drawn["slices"].axes[1].get_xticklabels()]
    assert len(labels) == 3 and all(a.x1 < b.x0 for a, b in itertools.pairwise(labels))
    axes = drawn["parallel_coordinates"].axes[0]
    assert {text.get_text() for text in axes.texts} >= {*kinds}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["rate (log)", "kind"]
    lines = [
        line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_marker() != "None"
    ]
    assert {line.get_marker() for line in lines[:-1]} == {"."} and lines[-1].get_marker() == "D"
    assert lines[-1].get_linewidth() > 2 * lines[0].get_linewidth()


@pytest.mark.parametrize(
    ("unit", "sign", "least", "most"),
    [
        ("fraction", 1, 0.0, 1.0),
        ("error rate", -1, 0.0, math.inf),
        ("number", 1, -math.inf, math.inf),
    ],
)
def test_intervals_end_where_scores_do(unit: str, sign: int, least: float, most: float) -> None:
    """Dies if the interval of a fraction passes 1, that of an error rate 0, or others are cut."""
    of, history = Search(SPACE, "gp", 2), History((), sign > 0)
    for number in range(8):
        values = {"rate": 10.0 ** -(number / 2), "cell": "lstm", "idle": 0.1 * number}
        history = histories.propose(history, values, [number + 1])
        score = (
            0.97 + 0.029 * math.sin(3 * number) if sign > 0 else 0.03 - 0.029 * math.sin(number)
        )
        history = histories.tell(history, number, histories.Result((score,)))
    best = searches.best(of, history)
    said = as_json.posterior(of, history, best, Metric("m", unit))
    assert said is not None
    ends = np.array([[row["low"], row["median"], row["high"]][k]
                     for row in said["neighbourhood"] for k in (0, 1, 2)], object)  # fmt: skip
    low, high = min(min(row) for row in ends), max(max(row) for row in ends)
    assert low >= least and high <= most
    if unit == "number":
        assert high > 1.0
    else:
        assert (high == 1.0) if sign > 0 else (low == 0.0)


def test_the_margin_has_its_unit(tree: Result) -> None:
    """Dies if a margin of .01 is said to be 1.00, of what no one knows."""
    assert any("worse, by more than 1 point, with" in said for said in importance.sentences(tree))


def test_choices_of_numbers_stand_by_size() -> None:
    """Dies if numbers that are not written by size stand as they are written."""
    of = spaces.from_dict({"size": {"choices": [8, 2, 4]}, "one": {"choices": [3]}})
    size, one = of.parameters
    assert [places.in_range(size, value) for value in (2, 4, 8)] == [0.0, 0.5, 1.0]
    assert [places.on_axis(size, value) for value in (2, 4, 8)] == [0.0, 1.0, 2.0]
    assert hyperparameters.scale(size.distribution).categories == ("2", "4", "8")
    assert places.labels(size) == ("2", "8", {0.5: "4"})
    assert places.labels(one) == ("3", "3", {})
