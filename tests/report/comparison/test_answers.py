"""The first sentences of a comparison, of whole runs and of items, for designs of all sizes."""

import dataclasses
import re
from collections.abc import Mapping

import numpy as np
import pytest

from jaxeval.report.comparison import Comparison, answers, claims
from jaxeval.stats import Rules
from jaxeval.stats import study as studies
from jaxeval.stats.study import Study
from tests.stats import cubes


def _runs(
    means: Mapping[str, float],
    data_sets: int = 1,
    n: int = 6,
    sd: float = 0.01,
    failed: Mapping[str, int] | None = None,
    metric: str = "",
    higher: bool = True,
    control: str | None = None,
    **rules: float,
) -> Study:
    """Normal scores, the same for a model wherever it stands."""
    draws = {model: np.random.default_rng(sum(map(ord, model))) for model in means}
    cells: dict[str, dict[str, list[float]]] = {}
    for k in range(data_sets):
        name = f"d{k}" if data_sets > 1 else ""
        for model, mean in means.items():
            scores = mean + draws[model].normal(scale=sd, size=n)
            scores[: (failed or {}).get(model, 0)] = np.nan
            cells.setdefault(name, {})[model] = scores.tolist()
    read = cubes.runs(cells, higher, metric)
    ended = {m: {"diverged": k, "finished": n - k} for m, k in (failed or {}).items()}
    read = dataclasses.replace(read, missing="drop", statuses=ended)
    how = Rules(resamples=99, **rules)  # type: ignore[arg-type]
    return studies.study(read, how, control=control)


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(("models", "data_sets"), [(2, 1), (2, 2), (3, 6), (5, 1)])
def test_the_best_is_named_whichever_comes_first(
    models: int, data_sets: int, higher: bool
) -> None:
    """Dies if a direction is turned round, of losses too, or depends on the order of models."""
    means = {f"m{k}": 0.5 + 0.1 * k for k in range(models)}
    best, *others = sorted(means, key=lambda m: means[m], reverse=higher)
    where = {1: "", 2: " on both data sets", 6: " on all 6 data sets"}[data_sets]
    mean = f" in the mean over {data_sets} data sets" if data_sets > 1 else ""
    for given in (means, dict(reversed(means.items()))):
        study = _runs(given, data_sets, higher=higher)
        first, *rest = answers.answer(study)
        if mean:
            whole, pair = first, next(p for p in study.overall if best in p.names)
            found = re.match(rf"{best} is best{mean}: it is better than {others[0]}\b", whole)
            gap = f"score {abs(pair.value):.4f}"
            two = whole.startswith(f"{best} is better than {others[0]}{mean}: {gap}")
            assert two if models == 2 else found
            first = rest.pop(0).removeprefix("Data set by data set, ")
        if models > 2:
            named = re.match(r"(m\d) is best: it is better than (m\d)", first)
            assert named and named.groups() == (best, others[0])
            assert first.endswith(f"{where}.") and not rest
            continue
        assert first.startswith(f"{best} is better than {others[0]}{where}: score 0.")
        side = "higher" if higher else "lower"
        assert f" {side}, " in first and "(Welch's t, 6 runs each)" in first
        if data_sets == 1:
            size, low, high = map(float, re.findall(r"0\.\d+", first)[:3])
            assert 0 < low < size < high
            assert size == pytest.approx(abs(study.pairs[0].value), abs=6e-4)
            assert rest[0].startswith(f"A run of {best} is better than one of {others[0]} with ")
        else:
            assert "corrected p < .001" in first


def test_a_model_that_is_not_told_from_the_best_is_not_called_worse() -> None:
    """Dies if the sentence rests on means, or on p-values before the correction."""
    study = _runs({"a": 0.5, "b": 0.6, "c": 0.6})
    assert {p.names: p.shown for p in study.pairs} == {
        ("a", "b"): -1,
        ("a", "c"): -1,
        ("b", "c"): 0,
    }
    first, second, third = answers.order(study)
    said = f"{first} scores best: it is better than a; {second} cannot be told apart from it."
    assert answers.answer(study) == [said] and third == "a"


@pytest.mark.parametrize(("models", "data_sets"), [(2, 1), (2, 2), (3, 1), (5, 2)])
def test_nothing_shown_says_what_would_have_been_detected(models: int, data_sets: int) -> None:
    """Dies if absence of a difference is called equality, or has no power beside it."""
    study = _runs({f"m{k}": 0.5 for k in range(models)}, data_sets, n=5)
    assert not any(pair.shown for pair in study.pairs)
    said = answers.answer(study)
    who = "m0 and m1" if models == 2 else f"the {models} models"
    for line, pairs in zip(said, [study.overall, study.pairs][data_sets == 1 :], strict=False):
        line = line.replace("Data set by data set, n", "N")
        assert re.match(f"No difference between ({who}|m1 and m0) was shown", line)
        found = re.search(
            r"; a difference of ([\d.]+)(?: to ([\d.]+))? would be detected \(pow", line
        )
        assert found
        ends = [float(end) for end in found.groups() if end]
        known = [p.plan.detectable_difference or 0 for p in pairs if p.plan]
        assert ends == pytest.approx([min(known), max(known)][: len(ends)], rel=0.02)
    notes = [note for note in Comparison(study).document().notes if "baseline" in note]
    fewer = "if you chose a baseline before you saw scores, 8 comparisons suffice: --control MODEL"
    assert notes == ([fewer] if models == 5 else [])


@pytest.mark.parametrize("models", [2, 5])
def test_a_design_that_can_show_nothing_says_so_first(models: int) -> None:
    """Dies if models wholly apart are called alike where two runs show nothing, or if the number
    of runs that would show something does not."""
    means = {f"m{k}": 0.1 * (k + 1) for k in range(models)}
    first = answers.answer(_runs(means, n=2, sd=1e-4))[0]
    who = "m0 and m1" if models == 2 else "5 models"
    found = re.fullmatch(
        rf"{who} with 2 runs each cannot show any difference at level \.05; (\d+) runs each would "
        r"show a difference of 3 sds\.",
        first,
    )
    assert found
    assert "cannot show" not in answers.answer(_runs(means, n=int(found[1]), sd=1e-4))[0]
    six = answers.answer(_runs(means, n=2, data_sets=6))[0]
    assert six.endswith(
        "would show a difference of 3 sds; --unit dataset compares over 6 data sets."
    )
    four = _runs({"a": 0.5, "b": 0.6, "c": 0.7}, data_sets=4, n=1)
    assert answers.answer(four)[0].startswith("3 models with 4 data sets cannot show any")
    five = _runs({"a": 0.5, "b": 0.6, "c": 0.7}, data_sets=5, n=1, sd=1e-4)
    assert answers.answer(five)[0].startswith("c is best: it is better than b and a")


@pytest.mark.parametrize(("gap", "shown"), [(0.0, True), (0.1, False)])
def test_equivalence_is_said_of_whom_it_was_shown(gap: float, shown: bool) -> None:
    """Dies if models beyond the margin are equivalent, or others are not named."""
    said = answers.answer(_runs({"a": 0.5, "b": 0.5 + gap}, margin=0.05))
    start = "Equivalent within 0.05" if shown else "Equivalence within 0.05 was n"
    assert said[-1].startswith(start)
    three = answers.answer(_runs({"a": 0.5, "b": 0.5 + gap, "c": 0.9}, margin=0.05))
    assert three[1] == (
        "Equivalent within 0.05 (TOST): a and b."
        if shown
        else "Equivalence within 0.05 was not shown for any pair (TOST)."
    )


def test_failed_runs_are_in_the_answer() -> None:
    """Dies if five failures in ten leave the sentence as it was, or are not counted."""
    said = answers.answer(_runs({"a": 0.5, "b": 0.6}, n=10, failed={"b": 5}))
    assert said[0].startswith("Of the runs that finished, b is better than a: ")
    assert "5 of 10 runs of b failed (5 diverged), none of 10 runs of a; " in said[-1]
    assert "b fails more often than a (p = .033, Fisher's exact test)." in said[-1]
    assert "probability 0.50" in said[1] and said[1].endswith("; failed runs count as the worst.")
    whole = answers.answer(_runs({"a": 0.5, "b": 0.6}, n=10))
    assert whole[0].startswith("b is better than a: ") and len(whole) == 2


def test_points_controls_and_copies() -> None:
    """Dies if a difference of fractions is not in points, if one of percentages is multiplied, if
    models are ordered that were not compared, or if copies of one score are tested."""
    (first, *_) = answers.answer(_runs({"a": 0.5, "b": 0.6}, metric="f1"))
    assert re.match(r"b is better than a: f1 (9|10)\.\d+ points higher, 95 % CI \[\d", first)
    (first, *_) = answers.answer(_runs({"a": 50.0, "b": 60.0}, metric="f1", sd=1.0))
    assert re.match(r"b is better than a: f1 (9|10)\.\d+ higher, 95 % CI \[\d", first)
    means = {"base": 0.5, "good": 0.6, "bad": 0.4, "same": 0.5}
    said = "Against base, better: good; worse: bad; no difference was shown: same."
    assert answers.answer(_runs(means, control="base")) == [said]
    copies = answers.answer(_runs({"a": 0.9, "b": 0.8}, sd=0.0))
    last = "If these models are deterministic, a is better."
    starts = [line.split(" at every")[0] for line in copies]
    assert starts == ["a scores 0.9000", "b scores 0.8000", last]
    assert len(answers.answer(_runs({"a": 0.9, "b": 0.9}, sd=0.0))) == 2
    alone = {"x": {"a": [0.5] * 5, "b": [0.6] * 5}, "y": {"a": [0.5, 0.7, 0.6], "b": [0.6]}}
    said = answers.answer(studies.study(cubes.runs(alone), Rules(resamples=99)))
    assert (
        said[0]
        == "b scores 0.60 at every seed on x (5): this counts as one run and is not tested."
    )


@pytest.mark.parametrize(("score", "said"), [(0.9, "Of the models tested, b is"), (0.4, "b is")])
def test_an_untested_model_that_scores_best_is_not_passed_over(score: float, said: str) -> None:
    """Dies if a model is called best though one that could not be tested scores higher, if that
    one is named once for each data set, or if a verdict on one of several does not name it."""
    noise = np.random.default_rng(1).normal(0, 0.01, 5)
    of = {"a": (0.5 + noise).tolist(), "b": (0.6 + noise).tolist(), "one": [score]}
    first, *_ = answers.answer(studies.study(cubes.runs({"": of}), Rules(resamples=99)))
    assert first.startswith(f"{said} better than a: ")
    scores = cubes.runs({key: {**of, "c": of["a"]} for key in "xy"})
    *_, last = answers.answer(studies.study(scores, Rules(resamples=99)))
    each = f"one ({score:.4f} on x, {score:.4f} on y)"
    assert last == f"{each} has one score per data set; a test needs 3."
    for models, more in (("ab", "b is better than a on WSJ: "), ("abc", "on WSJ, against b, ")):
        shared = {m: of["b" if m == "b" else "a"] for m in models}
        known = cubes.runs({"WSJ": shared, "y": {m: [0.5] for m in models}})
        first, *_ = answers.answer(studies.study(known, Rules(resamples=99), control="b"))
        assert first.startswith(f"Of the models tested, {more}")


def test_the_chance_on_all_data_sets_is_that_of_the_better_model() -> None:
    """Dies if the sentence names the model of the table's first row, and so reads as its win."""
    study = _runs({"a": 0.5, "b": 0.6}, 3)
    assert study.run_design and study.run_design.across
    *_, last = claims.over_data_sets(study, study.run_design.across)
    said = "On these data sets a run of b is better than one of a with probability 1.00, 95 % CI ["
    assert last.startswith(said) and last.endswith("1.00].")


def _items(
    skills: Mapping[str, float],
    tasks: int = 1,
    runs: int = 3,
    higher: bool = True,
    **rules: object,
) -> Study:
    """Models whose scores are what items make them, and a little noise."""
    draw = np.random.default_rng(7)
    every = []
    for number in range(tasks):
        hard = draw.normal(size=(80, 1, 1))
        noise = {m: draw.normal(scale=0.3, size=(80, runs, 1)) for m in sorted(skills)}
        scores = {model: skill + hard + noise[model] for model, skill in skills.items()}
        name = f"t{number}" if tasks > 1 else ""
        every.append(cubes.task(name, "score", scores, higher_is_better=higher))
    return cubes.studied(every, **rules)


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("models", [2, 5])
def test_items_name_the_best_whichever_comes_first(models: int, tasks: int, higher: bool) -> None:
    """Dies if a direction is turned round, of losses too, or depends on the order of models."""
    skills = {f"m{k}": 1.0 * k for k in range(models)}
    best, *others = sorted(skills, key=lambda m: skills[m], reverse=higher)
    for given in (skills, dict(reversed(skills.items()))):
        first, *rest = answers.answer(_items(given, tasks, higher=higher))
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
        assert all(line.startswith(f"Task by task, {best} is be") for line in rest)


def test_items_show_what_the_corrected_tests_show() -> None:
    """Dies if p-values are not those after the correction, if absence of a difference is called
    equality, or if a model that is not told from the best is called worse."""
    study = _items({"a": 0.0, "b": 0.5, "c": 0.5})
    assert {p.names: p.shown for p in study.pairs} == {
        ("a", "b"): -1,
        ("a", "c"): -1,
        ("b", "c"): 0,
    }
    order = [row.model for row in study.boards[0].rows]
    said = f"{order[0]} scores best: it is better than a; {order[1]} cannot be told apart from it."
    assert answers.answer(study) == [said]
    for names in ("ab", "ba"):
        (pair,) = (study := _items(dict.fromkeys(names, 0.0))).pairs
        (first,) = answers.answer(study)
        a, b = names
        assert first.startswith(f"No difference between {a} and {b} was shown: score ")
        assert np.sign(float(re.findall(r"score (-?[\d.]+)", first)[0])) == np.sign(pair.value)
        assert f" ({a} - {b}), 95 % CI [" in first and first.endswith(
            " would be detected (power 80 %)."
        )


def test_designs_margins_and_missing_answers_of_items() -> None:
    """Dies if runs that can show nothing are blamed on models, if equivalence is not said or said
    beyond the margin, or if a model is best though a third of its answers is not there."""
    never = _items({"a": 0.0, "b": 0.0}, runs=2, over=("runs",), alpha=1e-7)
    (first,) = answers.answer(never)
    assert "; no difference, however large, could be shown at level 1e-07, with so" in first
    for skill, said in ((0.0, "Equivalent within 0.5: "), (1.0, "a is worse than b by more than")):
        _, second = answers.answer(items := _items({"a": 0.0, "b": skill}, margin=0.5))
        assert second.startswith(said)
        *_, last = answers.answer(_runs({"a": 0.5, "b": 0.6}), items)
        assert last.startswith(f"Item by item, {said.replace('E', 'e')}")
    assert never.item_design is not None
    item_design = dataclasses.replace(never.item_design, withheld=True)
    withheld = dataclasses.replace(never, item_design=item_design)
    assert answers.answer(withheld) == [
        "a and b are not compared, since too many answers or tasks are missing."
    ]
