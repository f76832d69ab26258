"""Asynchronous successive halving: the rule, by hand and by force; budgets in the process."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.space import space as spaces
from jaxeval.space.distributions import Value
from jaxeval.tuning import acquisition, encoding, gaussian_process, gp, halving, kernels, sampling
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import History, Result, Stopped
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict({"x": {"uniform": [0, 1]}, "y": {"choices": ["a", "b"]}})


def _running(count: int, higher_is_better: bool = True) -> History:
    history = History((), higher_is_better)
    for number in range(count):
        values = {"x": (number + 0.5) / count, "y": "ab"[number % 2]}
        history = histories.propose(history, values, [number + 1])
    return history


def test_rungs_are_powers_below_the_last_epoch() -> None:
    """Dies if the last epoch is a rung, or the first one is not where it was asked for."""
    assert Halving(3).rungs(30) == [1, 3, 9, 27]
    assert Halving(3).rungs(27) == [1, 3, 9]
    assert Halving(2, 5).rungs(20) == [5, 10]
    assert Halving(4, 5).rungs(5) == []
    with pytest.raises(ConfigError, match="a factor of at least 2"):
        Halving(1)
    with pytest.raises(ConfigError, match="halving: expected one seed a setting"):
        Search(SPACE, "random", seeds=2, halving=Halving(3))


def test_of_a_whole_rung_the_best_third_goes_on() -> None:
    """Dies if the direction is lost, ties are broken, or the number kept is rounded up."""
    for sign, higher_is_better in ((1.0, True), (-1.0, False)):
        history = _running(7, higher_is_better)
        scores = [sign * score for score in (0.1, 0.7, 0.3, 0.7, 0.5, 0.2, 0.6)]
        reached = {number: (score, Stopped(1, 9)) for number, score in enumerate(scores)}
        history = halving.judge(Halving(3), history, reached)
        assert [e.number for e in histories.pending(history)] == [1, 3]  # 7 // 3 = 2
        result = history.evaluations[4].result
        assert result == Result((scores[4],), stopped=Stopped(1, 9))
        assert histories.from_dict(histories.to_dict(history)) == history


def test_who_arrives_later_is_held_against_all_before() -> None:
    """Dies if a rung forgets those that were stopped, or another rung's scores count."""
    random = np.random.default_rng(0)
    scores, history = random.random((30, 2)), _running(30)
    rungs: tuple[list[float], list[float]] = ([], [])
    for number in range(30):
        for rung in range(2):
            rungs[rung].append(scores[number, rung])
            reached = {number: (float(scores[number, rung]), Stopped(1 + rung, 9))}
            history = halving.judge(Halving(3), history, reached)
            kept = sorted(rungs[rung])[-max(1, len(rungs[rung]) // 3) :]
            stopped = history.evaluations[number].result is not None
            assert stopped == (scores[number, rung] < kept[0])
            if stopped:
                break
    assert 1 < len(histories.pending(history)) < 10 < len(rungs[1]) + 5


def test_who_ends_by_itself_is_compared_with_and_not_stopped() -> None:
    """Dies if a training that ended at a rung does not count there, or is stopped beside."""
    reached = {0: (0.9, Stopped(1, 9)), 1: (0.1, Stopped(1, 9)), 2: (0.5, Stopped(1, 9))}
    history = halving.judge(Halving(3), _running(3), reached, ended=[0])
    assert [e.number for e in histories.pending(history)] == [0]
    assert history.evaluations[0].rungs == (0.9,)


def test_a_stopped_setting_is_not_taken() -> None:
    """Dies if a score of few epochs wins over one of a whole training."""
    history = _running(3)
    history = histories.tell(history, 0, Result((0.9,), stopped=Stopped(3, 9)))
    best = histories.best(history)
    assert best is not None and best.numbers == (0,)  # there is no other
    history = histories.tell(history, 1, Result((0.5,)))
    best, by_process = histories.best(history), gp.best_setting(SPACE, history)
    assert best is not None and best.numbers == (1,)
    assert by_process == history.evaluations[1].values


def test_the_process_knows_the_budget_of_a_score() -> None:
    """Against a process over one axis more; dies if budgets are lost, or predictions are of
    trainings that were stopped."""
    history = _running(6)
    for number, epochs in enumerate((1, 3, 9, 1, 3, 9)):
        stopped = None if epochs == 9 else Stopped(epochs, 9)
        history = histories.tell(history, number, Result((0.1 * number,), stopped=stopped))
    fitted = gp.fit(SPACE, history)
    model = fitted.model
    assert model is not None and fitted.features.shape == (6, 3)
    assert np.allclose(model.data.features[:, 3], [0, 0.5, 1, 0, 0.5, 1])
    new = encoding.features(SPACE, encoding.places(SPACE, [{"x": 0.2, "y": "b"}]))
    at = np.column_stack([new, [1.0]])
    data, columns = model.data.features, model.columns
    inner = kernels.covariance(model.kernel, columns, data, data) + 1.0
    inner += math.exp(model.noise) * np.eye(6)
    cross = kernels.covariance(model.kernel, columns, at, data) + 1.0
    mean = cross @ np.linalg.solve(inner, model.data.targets)
    predicted = gaussian_process.predict(model, new)
    assert predicted.mean == pytest.approx(mean, abs=1e-6)
    joint = gaussian_process.joint(model, np.concatenate([new, fitted.features]))[0]
    assert joint[0] == pytest.approx(mean[0], abs=1e-6)


def test_scores_of_few_epochs_do_not_hide_what_they_promise() -> None:
    """Where a training gains .5 by its later epochs, dies if a stopped setting counts as if its
    score were that of a whole training."""
    history = History()
    for x, whole in itertools.product(np.linspace(0, 1, 9), (True, False)):
        number = len(history.evaluations)
        history = histories.propose(history, {"x": float(x + 1e-3 * whole), "y": "a"}, [number])
        score = 0.3 * math.sin(3 * x) + 0.5 * whole
        result = Result((score,), stopped=None if whole else Stopped(1, 9))
        history = histories.tell(history, number, result)
    fitted = gp.fit(SPACE, history)
    assert fitted.model is not None
    means = gaussian_process.predict(fitted.model, fitted.features).mean
    assert np.allclose(means[1::2], means[::2], atol=0.25)  # of targets, which differ by 1.5


def test_a_process_that_does_not_know_of_epochs_is_refused() -> None:
    """Dies if method botorch learns scores of stopped trainings as those of whole ones."""
    with pytest.raises(ConfigError, match="halving: expected another method than botorch"):
        Search(SPACE, "botorch", halving=Halving(2))
    Search(SPACE, "botorch")


def test_scores_at_rungs_of_trainings_that_went_on() -> None:
    """Dies if a result is told twice, running or whole trainings are left out or failed ones are
    not, or a rung has the budget of another."""
    history = _running(6)
    for rung, epochs in enumerate((1, 3)):
        running = [e.number for e in histories.pending(history)]
        reached = {n: (0.1 * n + rung, Stopped(epochs, 9)) for n in running}
        history = halving.judge(Halving(3), history, reached)
    assert [e.number for e in histories.pending(history)] == [5]
    known = [(at.number, at.score, at.budget) for at in halving.at_rungs(history)]
    # 4 was stopped at the second rung
    assert known == [(4, 0.4, 0.0), (5, 0.5, 0.0), (5, 1.5, 0.5)]
    whole = histories.tell(history, 5, Result((3.0,)))
    assert halving.at_rungs(whole) == halving.at_rungs(history)
    failed = histories.tell(history, 5, Result(failure="diverged"))
    assert [at.number for at in halving.at_rungs(failed)] == [4]
    assert halving.at_rungs(_running(3)) == []


ORDER = np.random.default_rng(0).permutation(12) / 12  # of losses


def test_the_next_setting_improves_where_enough_trainings_have_been() -> None:
    """Against expected improvement written out; dies if it is sought at another budget than the
    largest that three settings (two hyperparameters, and one) have had."""
    space = spaces.from_dict({name: {"integer": [0, 9]} for name in "ab"})
    history = History((), False)
    for values in sampling.sobol(space, history, 12, 0):
        history = histories.propose(history, values, histories.fresh_seeds(history, 1))
    for epochs in (1, 3, 9):
        running = histories.pending(history)
        score = {e.number: ORDER[e.number] + 9 / epochs for e in running}
        reached = {n: (score[n], Stopped(epochs, 27)) for n in score}
        history = halving.judge(Halving(3), history, reached)
    (last,) = histories.pending(history)
    history = histories.tell(history, last.number, Result((0.0,)))
    furthest = [len(e.rungs) for e in history.evaluations]
    assert sorted(furthest)[-5:] == [1, 2, 2, 2, 3]  # and one of those of 3 has ended
    fitted = gp.fit(space, history)
    model = fitted.model
    assert model is not None and fitted.budget == pytest.approx(1 / 3)
    # three rungs and the end; of the third one no budget is known, as nobody was stopped there
    assert len(model.data.targets) == 12 + 4 + 0 + 1
    places = encoding.everything(space)
    assert places is not None
    at = np.column_stack([encoding.features(space, places), np.full(len(places), 1 / 3)])
    known = encoding.places(space, [e.values for e in history.evaluations])
    taken = (places[:, None] == known).all(axis=2).any(axis=1)
    able = (places[:, None] == known[np.array(furthest) > 1]).all(axis=2).any(axis=1)
    best = fitted.features[gp.ranked(fitted, fitted.budget)]
    assert len(best) == able.sum()  # over draws of those that had the budget
    best = np.column_stack([best, np.full(len(best), 1 / 3)])
    draws = acquisition.fantasise(model, best, acquisition.FANTASIES, [0, len(known), 0])
    values = acquisition.log_batch_improvement(model, draws, at)
    expected = encoding.settings(space, places[~taken][[np.argmax(values[~taken])]])
    assert gp.propose(space, history, 1, 0) == expected


GRID = spaces.from_dict({f"x{k}": {"integer": [0, 7]} for k in range(3)})


def _loss(values: Mapping[str, Value]) -> float:
    return sum((float(values[f"x{k}"]) / 7 - 0.3) ** 2 for k in range(3))


def _after_epoch(history: History, epochs: dict[int, int], halved: bool) -> History:
    """One more of all that run, of nine: the loss falls by 1 / epoch, of all settings alike."""
    running = {e.number: _loss(e.values) for e in histories.pending(history)}
    for n in running:
        epochs[n] = epochs.get(n, 0) + 1
        running[n] += 1 / epochs[n]
    rungs = Halving(3).rungs(9) if halved else []
    reached = {n: (running[n], Stopped(epochs[n], 9)) for n in running if epochs[n] in rungs}
    history = halving.judge(Halving(3), history, reached)
    for n in running:
        if epochs[n] == 9:
            history = histories.tell(history, n, Result((running[n],)))
    return history


def _regret(halved: bool, seed: int) -> float:
    """After 18 epochs of four lanes, as many as eight whole trainings have."""
    search = Search(GRID, "gp", seed, halving=Halving(3) if halved else None)
    history, epochs = History((), False), dict[int, int]()
    for _ in range(18):
        free = 4 - len(histories.pending(history))
        history, _ = searches.ask(search, history, free)
        history = _after_epoch(history, epochs, halved)
    best = searches.best(search, history)
    assert best is not None
    return _loss(best.values)


def test_halving_finds_better_settings_in_as_many_epochs() -> None:
    """Where the best early are the best at the end. Dies if the process learns from no rung, and
    improves on whole trainings before it knows enough of them."""
    assert _regret(True, 2) < 0.01 < _regret(False, 2)
