"""What the terminal says of a search, against scores made by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from jaxeval.report.tuning import as_json, progress, terminal
from jaxeval.report.tuning.as_json import Metric, Result, Retrained
from jaxeval.space import space as spaces
from jaxeval.tuning import history as histories
from jaxeval.tuning import posterior
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 10.0]}})


def _history(scores: Sequence[Sequence[float] | str], higher: bool = True) -> History:
    """Setting x = 0, 1 ... with its scores, or why it failed."""
    history = History((), higher)
    for number, outcome in enumerate(scores):
        result = (
            histories.Result(failure=outcome)
            if isinstance(outcome, str)
            else histories.Result(tuple(outcome))
        )
        seeds = histories.fresh_seeds(history, max(1, len(result.scores)))
        history = histories.propose(history, {"x": float(number)}, seeds)
        history = histories.tell(history, number, result)
    return history


def _tree(
    history: History,
    fresh: Sequence[float] | None = None,
    search: Search | None = None,
    best: int | None = None,
) -> Result:
    """The outcome, with `x = best` as the setting to take."""
    search = search or Search(SPACE, "random")
    taken = searches.best(search, history) if best is None else histories.settings(history)[best]
    retrained = None if fresh is None else Retrained({"score": fresh})
    return as_json.result(search, history, taken, "ended", 1.0, Metric(), retrained)


def test_the_mean_with_fresh_seeds_has_its_sd_and_method() -> None:
    """Dies if the spread of fresh seeds, or how the interval was made, is not said."""
    fresh = [0.8, 0.82, 0.87]
    said = " ".join(terminal.worth(_tree(_history([[0.9], [0.5]]), fresh)))
    low, high = stats.t.interval(0.95, 2, np.mean(fresh), stats.sem(fresh))
    assert f"0.83, 95 % CI (t) [{low:.4g}, {high:.4g}], sd {np.std(fresh, ddof=1):.4g}" in said


def test_the_optimism_is_said_in_the_direction_of_the_metric() -> None:
    """Dies if a loss's optimism is said to be the score less the mean, or 0 is printed as -0."""
    lower = _tree(_history([[4.51], [6.0]], higher=False), [5.2, 5.3, 5.25])
    said = list(terminal.worth(lower))[-1]
    assert (
        "the mean with fresh seeds, less the best score seen, 4.51 (setting 0, 1 seed): 0.74"
        in said
    )
    higher = _tree(_history([[0.9], [0.5]]), [0.8, 0.8, 0.8])
    said = list(terminal.worth(higher))[-1]
    assert (
        "the best score seen, 0.9 (setting 0, 1 seed), less the mean with fresh seeds: 0.1" in said
    )
    same = _tree(_history([[5.0], [6.0]], higher=False), [5.0, 5.0])
    assert "-0" not in list(terminal.worth(same))[-1]


def test_the_optimism_of_the_setting_taken_is_said_where_it_is_not_the_best_seen() -> None:
    """Dies if the score of one setting is set against the mean of another without a word."""
    tree = _tree(_history([[0.9], [0.8]]), [0.7, 0.7], best=1)
    highest, taken = list(terminal.worth(tree))[-2:]
    assert (
        "the best score seen, 0.9 (setting 0, 1 seed), less the mean with fresh seeds: 0.2"
        in highest
    )
    assert (
        "its score in the search, 0.8 (setting 1, 1 seed), less the mean with fresh seeds: 0.1"
        in taken
    )


def test_a_setting_of_several_evaluations_is_seen_at_its_mean() -> None:
    """Dies if one lucky seed of a setting counts as the best score seen."""
    history = _history([[0.9], [0.7]])
    history = histories.propose(history, {"x": 0.0}, [3])
    history = histories.tell(history, 2, histories.Result((0.5,)))
    tree = _tree(history, [0.6, 0.6], Search(SPACE, "gp", adaptive=True), best=1)
    assert tree["retrained"] is not None
    optimism = tree["retrained"]["optimism"]
    assert isinstance(optimism, dict)
    assert (optimism["seen"], optimism["setting"], optimism["seeds"]) == (0.7, 0, 2)


def test_a_stopped_training_is_not_the_best_score_seen() -> None:
    """Dies if a score of few epochs is set against the mean of whole trainings, or if nothing is
    seen where all were stopped."""
    for scores, seen in (([[0.7], [0.6]], 0.7), ([], 0.9)):
        history = _history(scores)
        number, stopped = len(history.evaluations), histories.Stopped(1, 9)
        history = histories.propose(history, {"x": 0.25}, [9])
        history = histories.tell(history, number, histories.Result((0.9,), stopped=stopped))
        tree = _tree(history, [0.6, 0.6], best=0)
        assert tree["retrained"] is not None
        optimism = tree["retrained"]["optimism"]
        assert isinstance(optimism, dict) and optimism["seen"] == seen


def test_two_settings_of_equal_worth_are_rarely_said_to_differ() -> None:
    """Dies if the noise counts as known: 1.96 for t of 4 degrees of freedom is wrong in 12 %."""
    draw, wrong = np.random.default_rng(0), 0
    for _ in range(2000):
        samples = draw.normal(0, 1, (4, 2))
        noise = as_json.noise(_history(samples.tolist()))
        assert noise is not None and noise.df == 4
        least = as_json.two_sided(noise.df) * noise.sd
        wrong += abs(samples[0].mean() - samples[1].mean()) > least
    assert 0.035 <= wrong / 2000 <= 0.065
    assert as_json.two_sided(7) == pytest.approx(stats.t.ppf(0.975, 7))
    tree = _tree(_history([[0.1, 0.3]] * 4), search=Search(SPACE, "random", seeds=2))
    (said,) = terminal.notes(tree)
    apart = stats.t.ppf(0.975, 4) * 0.02**0.5
    assert f"are {apart:.4g} apart; two that are picked from the table for being far" in said
    assert "(4 degrees of freedom)" in said


@pytest.mark.parametrize(
    ("scores", "search"),
    [
        ([[0.1, 0.3]] * 3, Search(SPACE, "random", seeds=2)),  # 3 degrees of freedom
        ([[0.1, 0.3, 0.2, 0.2, 0.1]], Search(SPACE, "random", seeds=5)),  # one row
        ([[0.1, 0.3]] * 4, Search(SPACE, "gp", adaptive=True)),  # rows of 1 to 5 seeds
    ],
)
def test_no_difference_is_said_where_none_is_known(
    scores: list[list[float]], search: Search
) -> None:
    """Dies if a table of one row, of unequal rows or of little noise names a difference."""
    (said,) = terminal.notes(_tree(_history(scores), search=search, best=0))
    assert said.startswith("sd of one seed's score: 0.") and "apart" not in said


def test_failures_that_differ_in_numbers_are_one() -> None:
    """Dies if each step of a divergence has its line, or exit codes are one."""
    diverged = {f"loss is nan at step {n}, 1.5e-{n}": 2 for n in range(15)}
    failures = {**diverged, "exit code 137 (killed)": 1, "exit code 139 (killed)": 3}
    assert terminal.causes(failures) == [
        (30, "loss is nan at step 0, 1.5e-0 (numbers differ)"),
        (3, "exit code 139 (killed)"),
        (1, "exit code 137 (killed)"),
    ]
    many = {f"cause {letter}": 9 - k for k, letter in enumerate("abcdefgh")}
    shown = terminal.causes(many)
    assert len(shown) == 6 and shown[-1] == (4 + 3 + 2, "3 other causes; --json has all")
    tree = _tree(
        _history([[0.5], "at 1", "at 2"], True), search=Search(SPACE, "gp", adaptive=True)
    )
    assert [*terminal.losses(tree)] == ["2 evaluations failed: at 1 (numbers differ)"]


def test_adaptive_seeds_count_evaluations() -> None:
    """Dies if evaluations of one setting are said to be settings, or one is plural."""
    adaptive, plain = Search(SPACE, "gp", adaptive=True), Search(SPACE, "random")
    assert progress.known(adaptive, 5) == "goes on from 5 evaluations with results"
    assert progress.known(plain, 1) == "goes on from 1 setting with results"
    failed = _history(["x"], True)
    said = progress.progress(adaptive, failed, 5, Metric(), "about 4 s left")
    assert said == "1 of 5 evaluations, about 4 s left; no score yet"
    said = progress.progress(adaptive, failed, 5, Metric(), "about 4 s left", retrain=8)
    assert said == "1 of 5 evaluations, about 4 s left, then retraining; no score yet"


def test_the_mean_of_the_optimism_is_that_of_the_part_searched_by() -> None:
    """Dies if the mean is not named: that of test is printed just before it."""
    history = _history([[0.9], [0.8]])
    retrained = Retrained({"dev": [0.8, 0.7], "test": [0.6, 0.6]})
    best = histories.settings(history)[1]
    of = Search(SPACE, "random")
    tree = as_json.result(of, history, best, "ended", 1.0, Metric(), retrained)
    highest, taken = [line for line in terminal.worth(tree) if "optimism" in line]
    mean = "less the dev mean with fresh seeds"
    assert f"{mean}: 0.15" in highest and f"{mean}: 0.05" in taken


@pytest.mark.parametrize(("seeds", "known"), [(1, False), (2, True)])
def test_a_probability_is_said_where_the_noise_of_seeds_is_known(
    seeds: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if sd and probability of the prior are printed as if scores had shown them."""
    history = _history([[0.5, 0.6][:seeds]] * 4)
    (setting, *_) = histories.settings(history)
    row = posterior.Row(setting, 0.55, 0.05, 0.25, 0.0)
    monkeypatch.setattr(posterior, "describe", lambda *of: [row])
    of = Search(SPACE, "gp", seeds=seeds)
    said = progress.progress(of, history, 8, Metric(), "")
    assert "4 of 8 settings" in said and "posterior mean 0.55 of setting 0" in said
    assert (
        said.endswith("(sd 0.05), the best among those evaluated with probability 0.25") == known
        and ("sd" in said) == known
    )


def test_a_probability_is_said_where_the_process_knows_the_noise() -> None:
    """Dies if it is said by the seeds of all settings: the process knows those of good ones."""
    bad = [[0.1 * k, 0.1 * k + 0.01] for k in range(4)]
    history = _history([[0.9], [0.8], [0.7], [0.6], *bad])
    said = progress.progress(Search(SPACE, "gp"), history, 9, Metric(), "")
    noise = as_json.noise(history)
    assert noise is not None and noise.df == 4 and not posterior.noise_known(history)
    assert "posterior mean" in said and "sd" not in said and "probability" not in said


def test_a_posterior_mean_is_one_that_a_score_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a mean above the best score passes 100 %."""
    history = _history([[0.99], [0.5]])
    row = posterior.Row(histories.settings(history)[0], 1.02, 0.05, 0.25, 0.0)
    monkeypatch.setattr(posterior, "describe", lambda *of: [row])
    of = Search(SPACE, "gp")
    said = progress.progress(of, history, 8, Metric("accuracy", "fraction"), "")
    assert "posterior mean 100.00 of setting 0" in said
    assert "posterior mean 1.02" in progress.progress(of, history, 8, Metric(), "")
    monkeypatch.setattr(posterior, "describe", lambda *of: [row._replace(mean=0.4)])
    said = progress.progress(of, history, 8, Metric("perplexity", "perplexity"), "")
    assert "posterior mean 1 of setting 0" in said


def test_settings_that_were_stopped_are_not_told_as_whole_ones() -> None:
    """Dies if a table begins with a training that was stopped, or the number of them is hidden."""
    tree = _tree(_stopped(_history([[0.5], [0.4]]), [0.9, 0.8]))
    head, rows = terminal.table(tree)
    assert [row[0] for row in rows] == ["0", "1"] and "epochs" not in head
    assert "2 settings stopped early by halving (step 1), and cannot be taken" in terminal.losses(
        tree
    )
    assert tree["best_so_far"] == [0.5, 0.5, 0.5, 0.5]
    only = _tree(_stopped(History(), [0.3, 0.9]))
    head, rows = terminal.table(only)
    assert head[2] == "steps" and [row[2] for row in rows] == ["1 of 5", "1 of 5"]
    assert only["best_so_far"] == [0.3, 0.9]


def _stopped(history: History, scores: Sequence[float]) -> History:
    """With settings whose trainings were stopped."""
    for score in scores:
        number = len(history.evaluations)
        seeds = histories.fresh_seeds(history, 1)
        history = histories.propose(history, {"x": number + 0.5}, seeds)
        result = histories.Result((score,), stopped=histories.Stopped(1, 5))
        history = histories.tell(history, number, result)
    return history


def test_settings_of_which_a_seed_failed_are_not_the_best_of_the_table() -> None:
    """Dies if a setting leads the table that the search cannot take."""
    history = histories.propose(_history([[0.9], [0.5]]), {"x": 0.0}, [3])
    history = histories.tell(history, 2, histories.Result(failure="diverged"))
    _, rows = terminal.table(_tree(history, search=Search(SPACE, "gp", adaptive=True), best=1))
    assert [row[0] for row in rows] == ["1"]


def test_only_settings_that_can_be_taken_are_as_good_as_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dies if a training that was stopped is said not to be told apart from the best."""
    history = _stopped(_history([[0.1], [0.5], [0.45], [0.3]]), [0.44, 0.46])
    rows = [posterior.Row(of, 0.5, 0.1, 0.1, 0.1) for of in histories.settings(history)]
    monkeypatch.setattr(posterior, "describe", lambda *of: rows)
    of = as_json.posterior(Search(SPACE, "gp"), history, rows[1].setting, Metric())
    assert of is not None and of["alike"] == [0, 1, 2, 3]


def test_the_answer_says_what_was_not_shown() -> None:
    """Dies if a score of the search passes for the setting's worth, or an order for a finding."""
    alone = _tree(_history([[0.9], [0.5]]))
    assert terminal.sentence(alone) == (
        "Take setting 0, the best mean of 2 settings: score 0.9 in the search; not trained again, "
        "so what it is worth is not known; no difference between settings can be called real: "
        "none has two scores that differ."
    )
    fresh = [0.8, 0.82, 0.87]
    said = terminal.sentence(_tree(_history([[0.9], [0.5]]), fresh))
    low, high = stats.t.interval(0.95, 2, np.mean(fresh), stats.sem(fresh))
    assert f"3 fresh seeds give score 0.83, 95 % CI [{low:.4g}, {high:.4g}]; " in said
    assert said.endswith("; whether it is better than the others was not tested.")


@pytest.mark.parametrize(
    ("alike", "known", "said"),
    [
        ([0, 1, 3], True, "; 2 others are not told apart from it by the model."),
        ([0, 1], True, "; 1 other is not told apart from it by the model."),
        ([0], True, "; all others are told apart from it by the model."),
        ([0], False, "which knows the noise of a score by its prior alone."),
    ],
)
def test_the_answer_counts_the_settings_that_are_as_good(
    alike: list[int], known: bool, said: str
) -> None:
    """Dies if the best setting counts as its own rival, or a prior passes for evidence."""
    tree = _tree(_history([[0.9], [0.5], [0.4], [0.8]]), [0.8, 0.9], Search(SPACE, "random"))
    tree["posterior"] = {"alike": alike, "noise_known": known}
    assert terminal.sentence(tree).endswith(said)


def test_a_score_of_few_epochs_is_told_as_such() -> None:
    """Dies if halving's best of epoch 1 passes for the score of a whole training."""
    only = _stopped(History(), [0.3, 0.9])
    tree = _tree(only, best=1)
    assert "score 0.9 in the search after 1 of 5 steps, as halving stopped every setting; " in (
        terminal.sentence(tree)
    )
    assert [*terminal.losses(tree)] == ["2 settings stopped early by halving (step 1)"]
    said = progress.progress(Search(SPACE, "random"), only, 8, Metric(), "")
    assert said.endswith("best score 0.9 (setting 1, stopped after 1 of 5 steps)")
    both = _stopped(_history([[0.5]]), [0.9])
    assert "steps" not in terminal.sentence(_tree(both))
    said = progress.progress(Search(SPACE, "random"), both, 8, Metric(), "")
    assert said.endswith("best score 0.5 (setting 0)")


def test_the_time_that_is_left_is_that_of_later_results() -> None:
    """Dies if the first results, which took the compilation too, are the pace of all others."""
    pace = progress.Pace(2)
    assert pace.left(0, 10, 90.0) == "estimating the time left"
    assert pace.left(2, 10, 100.0) == "estimating the time left"
    assert pace.left(3, 10, 102.0) == "estimating the time left"  # one of two at once
    assert pace.left(4, 10, 108.0) == "about 24 s left"
    assert pace.left(10, 10, 130.0) == "all have ended"
