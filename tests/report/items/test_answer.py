"""The first sentence of a comparison over items, for designs of all sizes."""

import dataclasses
import re
from collections.abc import Mapping

import numpy as np
import pytest

from jaxeval.report.items import answer
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.study import ItemStudy, Rules

ITEMS = 80


def _study(
    skills: Mapping[str, float],
    tasks: int = 1,
    runs: int = 3,
    metric: str = "acc",
    higher: bool = True,
    **rules: object,
) -> ItemStudy:
    """Models whose scores are what items make them, and a little noise."""
    draw = np.random.default_rng(7)
    every = []
    for number in range(tasks):
        hard = draw.normal(size=(ITEMS, 1, 1))
        noise = {m: draw.normal(scale=0.3, size=(ITEMS, runs, 1)) for m in sorted(skills)}
        scores = {model: skill + hard + noise[model] for model, skill in skills.items()}
        names = tuple(map(str, range(ITEMS)))
        every.append(TaskScores(f"t{number}" if tasks > 1 else "", metric, higher, names, scores))
    return studies.study(
        Paired(tuple(skills), tuple(every)),
        Rules(resamples=99, **rules),  # type: ignore[arg-type]
    )


def _said(study: ItemStudy) -> list[str]:
    return answer.sentences(study, leaderboard.of(study))


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("tasks", [1, 2, 6])
@pytest.mark.parametrize("models", [2, 3, 5])
def test_the_best_is_named_whichever_comes_first(models: int, tasks: int, higher: bool) -> None:
    """Dies if a direction is turned round, of losses too, or depends on the order of models."""
    skills = {f"m{k}": 1.0 * k for k in range(models)}
    best, *others = sorted(skills, key=lambda m: skills[m], reverse=higher)
    turned = dict(reversed(skills.items()))
    for given in (skills, turned):
        first, *rest = _said(_study(given, tasks, metric="score", higher=higher))
        where = f" in the mean over {tasks} tasks" if tasks > 1 else ""
        if models == 2:
            assert first.startswith(f"{best} is better than {others[0]}{where}: score ")
            size = re.search(
                r"score ([\d.]+) (higher|lower), 95 % CI \[([\d.]+), ([\d.]+)\]", first
            )
            assert size and size[2] == ("higher" if higher else "lower")
            assert 0 < float(size[3]) < float(size[1]) == pytest.approx(1, abs=0.1)
        else:
            assert first.startswith(f"{best} is best{where}: it is better than {others[0]}")
        assert len(rest) == (tasks > 1)
        on_all = "on both tasks" if tasks == 2 else f"on all {tasks} tasks"
        assert all(line.startswith(f"Task by task, {best} is be") for line in rest)
        assert all(on_all in line for line in rest)


def test_what_is_shown_is_what_the_corrected_tests_show() -> None:
    """Dies if p-values are not those after the correction, or a model that is not told from the
    best is called worse."""
    study = _study({"a": 0.0, "b": 0.05, "c": 0.5})
    shown = {(p.a, p.b): p.p_adjusted <= 0.05 for p in study.pairs}
    assert shown == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}
    assert _said(study) == ["c is best: it is better than b and a."]
    study = _study({"a": 0.0, "b": 0.5, "c": 0.5})
    assert {(p.a, p.b): p.p_adjusted <= 0.05 for p in study.pairs}[("b", "c")] is False
    (first,) = _said(study)
    order = sorted("bc", key=lambda m: -np.mean(study.tasks[0].scores[m]))
    assert first == f"{order[0]} scores best; {order[1]} cannot be told from it; a is worse."


def test_nothing_shown_says_what_could_have_been() -> None:
    """Dies if absence of a difference is called equality, or the difference loses its sign."""
    for names in ("ab", "ba"):
        study = _study(dict.fromkeys(names, 0.0))
        (first,) = _said(study)
        (pair,) = study.pairs
        assert pair.p_adjusted > 0.05
        a, b = names
        assert first.startswith(f"No difference between {a} and {b} was shown: acc ")
        assert f" ({a} - {b}), 95 % CI [" in first
        size = float(re.findall(r"acc (-?[\d.]+)", first)[0])
        assert np.sign(size) == np.sign(pair.difference.value)
        assert first.endswith(" is detected (power 80 %).")
    three = _said(_study(dict.fromkeys("abc", 0.0)))
    assert three[0].startswith("No difference between the 3 models was shown; a difference of ")


def test_a_design_that_shows_nothing_is_said_to() -> None:
    """Dies if two runs of each, which can show nothing, are blamed on the models."""
    study = _study({"a": 0.0, "b": 0.0}, runs=2, over=("runs",), alpha=1e-7)
    (first,) = _said(study)
    assert first.endswith("; no difference, however large, could be shown at level 1e-07.")


@pytest.mark.parametrize(
    ("skill", "said"),
    [(0.0, "Equivalent within 0.5: "), (1.0, "a is worse than b by more than 0.5 (")],
)
def test_a_margin_has_its_own_sentence(skill: float, said: str) -> None:
    """Dies if equivalence is not said, or said of a difference beyond the margin."""
    _, second = _said(_study({"a": 0.0, "b": skill}, metric="score", margin=0.5))
    assert second.startswith(said)


def test_nothing_is_said_where_answers_are_missing() -> None:
    """Dies if a model is called best though a third of its answers is not there."""
    study = dataclasses.replace(_study({"a": 0.0, "b": 1.0}), withheld=True)
    assert _said(study) == [
        "Nothing is said of a and b, since too many answers or tasks are missing."
    ]


def test_tasks_of_several_metrics_are_counted() -> None:
    """Dies if they are averaged, or a sentence is lost where they are not."""
    study = _study({"a": 0.0, "b": 1.0}, tasks=2)
    tasks = [dataclasses.replace(study.tasks[0], metric="f1"), study.tasks[1]]
    (first,) = _said(studies.study(Paired(("a", "b"), tuple(tasks)), Rules(resamples=99)))
    assert first == "b is better than a on both tasks."
