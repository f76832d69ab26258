"""What is said of a search, against scores made by hand; its figures and page."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxeval import space as spaces
from jaxeval.report import render, text, tuning
from jaxeval.report.tuning import Tuned
from jaxeval.tuning import Search, State
from jaxeval.tuning.history import Evaluation, History, Stopped

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "cell": {"choices": ["lstm", "gru <b>"]},
        "idle": {"uniform": [0, 1]},
    }
)


def _tuned(
    scores: Sequence[Sequence[float] | str | Stopped],
    fresh: Sequence[float] | None = None,
    higher: bool = True,
    method: Any = "random",
    unit: str = "number",
) -> Tuned:
    """A search of Sobol points with these scores, or why they failed; those stopped have 0.9."""
    search = Search(SPACE, method)
    history, proposed = Search(SPACE, "sobol", 2).ask(History((), higher), len(scores))
    for e, outcome in zip(proposed, scores, strict=True):
        stopped = outcome if isinstance(outcome, Stopped) else None
        result: Any = (0.9,) if stopped else outcome
        count = 1 if isinstance(result, str) else len(result)
        seeds = range(10 * e.number, 10 * e.number + count)
        history = history.change(e.number, seeds=tuple(seeds)).tell(e.number, result, stopped)
    again = None if fresh is None else {"dev": fresh, "test": fresh}
    state = State(search, history, len(scores))
    return tuning.result(state, "accuracy", unit, again)


def _answer(*arguments: Any, **more: Any) -> str:
    (line,) = _tuned(*arguments, **more).document().answer
    return line


def test_the_answer_says_what_was_not_shown() -> None:
    """Dies if a score of the search passes for the setting's worth, or an order for a finding."""
    assert _answer([[0.9], [0.5]]) == (
        "Take setting 0, the best mean of 2 settings: accuracy 0.9000 in the search; not trained "
        "again, so its true score is unknown; settings cannot be tested against each other: "
        "none has two scores."
    )
    fresh = [0.8, 0.82, 0.87]
    low, high = stats.t.interval(0.95, 2, np.mean(fresh), stats.sem(fresh))
    said = _answer([[0.9], [0.5]], fresh)
    assert f"3 fresh seeds give dev 0.8300, 95 % CI [{low:#.4g}, {high:#.4g}], test 0.8300" in said
    assert said.endswith("; it was not tested against the others.")
    assert "accuracy 0.9000 after 1 of 5 steps in the search" in _answer([Stopped(1, 5)])
    assert "Take setting 1" in _answer([Stopped(1, 5), [0.3]])
    of_config = Evaluation(0, {}, (1,), (0.9,), stopped=Stopped(1, 5), joined=(0, 0))
    assert "0.9000 after 1 of 5 epochs" in tuning.evaluation_line(of_config, "accuracy", "number")
    nothing = _tuned(["diverged at 3", "diverged at 7"])
    assert nothing.exit_code == 2 and "No setting has a score" in nothing.document().answer[0]
    notes = nothing.document().notes
    assert notes == ["setting 0: diverged at 3", "setting 1: diverged at 7"]
    assert text.fold(notes[:1]) == notes[:1]
    assert text.fold(notes)[0].startswith("2 settings (0, 1): diverged at 3")


@pytest.mark.parametrize(("seeds", "known"), [(1, False), (3, True)])
def test_the_answer_counts_the_settings_that_are_as_good(seeds: int, known: bool) -> None:
    """Dies if the best setting counts as its own rival, or a prior passes for evidence."""
    random = np.random.default_rng(0)
    levels = [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    scores = [[level + 0.001 * random.normal() for _ in range(seeds)] for level in levels]
    tuned = _tuned(scores, [0.8, 0.9], method="gp")
    assert tuned.posterior is not None and tuned.best is not None
    assert tuned.best.number in tuned.posterior.alike
    others = len(tuned.posterior.alike) - 1
    said = tuned.document().answer[0]
    assert (f"; {others} other" in said) == (others > 0) and "told apart from it" in said
    assert ("only from its prior" in said) != known


def test_the_page_and_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a name is not escaped, a figure is missing, a score of one epoch is drawn as that of
    a whole training, or hyperparameters are confused."""
    random = np.random.default_rng(0)
    _, proposed = Search(SPACE, "sobol", 2).ask(History(), 24)
    scores: list[Any] = []
    for e in proposed:
        far = 0.1 * (math.log10(e.values["rate"]) + 2) ** 2  # type: ignore[arg-type]
        mean = 0.9 - far - 0.02 * (e.values["cell"] != "lstm")
        scores.append([float(v) for v in mean + 0.01 * random.normal(size=3)])
    tuned = _tuned(scores, [0.8, 0.85], method="gp", unit="fraction")
    assert tuned.posterior is not None and tuned.posterior.importance[0].name == "rate"
    table = str(tuned.document().blocks)
    assert "importance (model)" in table and "the best 10 of 24 settings" in table
    assert re.search(r"'cell', 'lstm', '\d\.\d\d \(\d\.\d\d to \d\.\d\d\)'", table)
    names = ["best_so_far", "importance", "slices", "parallel"]
    figures = tuned.document().figures()
    assert [figure.name for figure in figures] == names
    marks = figures[2].drawing.axes[1].collections[0].get_offsets()  # of the words, in percent
    means = {round(100 * float(np.mean(of)), 6) for of in scores}
    assert {(round(float(x)), round(float(y), 6) in means) for x, y in marks} == {
        (0, True),
        (1, True),
    }
    monkeypatch.setattr(render, "to_svg", lambda figure: "<svg></svg>")
    page = render.to_page(tuned.document())
    assert page.count("<svg") == 4 and "<b>" not in page and "&lt;b&gt;" in page
    assert "no confidence interval" in page and "sd of one seed" in page
    tree: Any = tuned.to_dict()
    assert tree["best"]["values"] == tuned.values and len(tree["evaluations"]) == 24
    halved = _tuned([[0.5], [0.4], Stopped(1, 5), Stopped(1, 5)])
    drawn = {figure.name: figure for figure in halved.document().figures()}
    so_far = drawn["best_so_far"].drawing.axes[0]
    points = {c.get_label(): len(c.get_offsets()) for c in so_far.collections}
    assert points == {"a setting": 2, "stopped early": 2} and so_far.get_legend() is None
    assert "Retrained" not in drawn["best_so_far"].caption
    assert [row[2] for row in drawn["best_so_far"].rows] == ["0.5"] * 4
    assert len(drawn["slices"].rows) == 6 and "left out" in drawn["slices"].caption
    assert "2 settings stopped early by halving, and cannot be taken" in halved.document().notes
    far = {f.name: f.caption for f in _tuned([[0.0], *[[0.9], [0.8]] * 20]).document().figures()}
    assert [name for name in names if "Cut off: 1 much worse" in far.get(name, "")] == names[::2]
    for drawing in (f.drawing for f in _tuned([[0.5], [0.5]]).document().figures()):
        low, high = drawing.axes[0].get_ylim()  # equal scores are not at an edge
        assert low < 0.499 and high > 0.501
