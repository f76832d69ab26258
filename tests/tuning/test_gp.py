"""Proposals: settings that can be drawn, no setting twice, whatever the results are."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.tuning import encoding, gp, maximising, sampling, success
from jaxeval.tuning import history as histories
from jaxeval.tuning.gaussian_process import Data
from jaxeval.tuning.history import History, Result

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "layers": {"integer": [1, 4]},
        "kind": {"choices": ["a", "b"]},
        "momentum": {"uniform": [0.0, 1.0], "when": {"kind": ["a"]}},
    }
)


def _score(values: dict) -> float:
    missed = {"a": (values.get("momentum", 0) - 0.7) ** 2, "b": 0.3}[values["kind"]]
    return -((math.log10(values["rate"]) + 2) ** 2) - 0.1 * (values["layers"] - 3) ** 2 - missed


def _ended(
    space: Space, count: int, result: Callable[[dict], Result], higher: bool = True
) -> History:
    """A history of random settings; `result` maps a setting to a Result."""
    history = History((), higher)
    for run in range(count):
        values = spaces.draw(space, 5, run)
        outcome = result(values)
        history = histories.propose(history, values, range(max(1, len(outcome.scores))))
        history = histories.tell(history, run, outcome)
    return history


def _scored(values: dict) -> Result:
    return Result((_score(values),))


def _check(history: History, proposed: list[dict]) -> None:
    """All can be drawn, and none is there twice."""
    every = [*(e.values for e in history.evaluations), *proposed]
    assert len({histories.identity(values) for values in every}) == len(every)
    assert encoding.settings(SPACE, encoding.places(SPACE, proposed)) == proposed


def test_better_than_random() -> None:
    """Dies if proposals ignore the results: of 4 rounds of 4 after 12 draws the best is near."""
    history = _ended(SPACE, 12, _scored)
    for _ in range(4):
        for values in gp.propose(SPACE, history, 4, 0):
            history = histories.propose(history, values, (0,))
            history = histories.tell(history, len(history.evaluations) - 1, _scored(values))
    scores = [e.result.scores[0] for e in history.evaluations if e.result is not None]
    assert max(scores[12:]) > -0.02 > max(scores[:12])
    best = gp.best_setting(SPACE, history)
    assert best is not None and _score(dict(best)) > -0.02


@pytest.mark.parametrize("fantasies", [1, 16])
def test_batch_is_what_single_requests_give(fantasies: int) -> None:
    """Dies if a proposal depends on the batch it is asked for in, or ignores what runs."""
    history = _ended(SPACE, 10, _scored)
    batch = gp.propose(SPACE, history, 4, 3, fantasies)
    _check(history, batch)
    assert gp.propose(SPACE, history, 4, 3, fantasies) == batch
    for values in batch:
        assert gp.propose(SPACE, history, 1, 3, fantasies) == [values]
        history = histories.propose(history, values, (0,))
    assert gp.propose(SPACE, history, 1, 4, fantasies) != gp.propose(
        SPACE, history, 1, 3, fantasies
    )


def test_first_proposals_are_those_of_any_batch_size() -> None:
    """Dies if the change from Sobol points to the model depends on the batch."""
    history = _ended(SPACE, 6, _scored)
    batch = gp.propose(SPACE, history, 4, 3, 4)
    for values in batch:
        assert gp.propose(SPACE, history, 1, 3, 4) == [values]
        history = histories.propose(history, values, (0,))


def test_the_model_waits_for_results() -> None:
    """Dies if the model proposes with fewer than four results, when it asks for corners of the
    space, or Sobol points go on after them: what counts has ended, however much runs."""
    for ended, running in ((0, 9), (1, 7), (3, 9), (4, 4), (4, 3)):
        history = _ended(SPACE, ended, _scored)
        for values in sampling.sobol(SPACE, history, running, 3):
            history = histories.propose(history, values, (0,))
        sobol = gp.propose(SPACE, history, 1, 3, 4) == sampling.sobol(SPACE, history, 1, 3)
        assert sobol == (ended < 4 or ended + running < 8)


def test_order_of_results_changes_nothing() -> None:
    """Dies if a proposal depends on which result came first."""
    history = _ended(SPACE, 0, _scored)
    for values in gp.propose(SPACE, history, 9, 0):
        history = histories.propose(history, values, (0,))
    ways = []
    for order in (range(9), reversed(range(9))):
        shuffled = history
        for number in order:
            shuffled = histories.tell(
                shuffled, number, _scored(shuffled.evaluations[number].values)
            )
        ways.append(gp.propose(SPACE, shuffled, 2, 0, 8))
    assert ways[0] == ways[1]


RESULTS = {
    "all failed": lambda values: Result(failure="diverged"),
    "all equal": lambda values: Result((1.5,)),
    "huge range": lambda values: Result((10 ** (values["layers"] * 75.0) * values["rate"],)),
    "tiny range": lambda values: Result((1 + 1e-15 * values["layers"],)),
    "many seeds": lambda values: Result((values["rate"], values["rate"] + 0.1, 0.0)),
    "half failed": lambda values: (
        Result(failure="out of memory") if values["layers"] > 2 else Result((values["rate"],))
    ),
}


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("count", [1, 9])
def test_results_of_any_kind(kind: str, count: int) -> None:
    """Dies if a result without spread, without scores or of any size stops the tuner."""
    history = _ended(SPACE, count, RESULTS[kind], higher=False)
    _check(history, gp.propose(SPACE, history, 3 if count > 1 else 9, 0, 8))


def test_failures_are_avoided() -> None:
    """Dies if failures are dropped: the best scores border on what fails."""
    space = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})

    def result(values: dict) -> Result:
        fails = values["x"] > 0.5
        return Result(failure="out of memory") if fails else Result((values["x"],))

    history = _ended(space, 24, result)
    for k in range(24, 40, 4):
        for values in gp.propose(space, history, 4, 0, 16):
            history = histories.propose(history, values, (0,))
        for number in range(k, k + 4):
            outcome = result(dict(history.evaluations[number].values))
            history = histories.tell(history, number, outcome)
    proposed = [float(evaluation.values["x"]) for evaluation in history.evaluations[24:]]
    assert max(x for x in proposed if x <= 0.5) > 0.49
    assert sum(x > 0.5 for x in proposed[8:]) <= 4
    points = np.array([[0.1, 0.5], [0.9, 0.5]])
    probability = np.exp(success.log_probability(gp.fit(space, history).success, points))
    assert probability[0] > 0.6 and probability[1] < 0.1
    assert gp.fit(SPACE, _ended(SPACE, 5, _scored)).success is None


def test_small_spaces_end() -> None:
    """Dies if a setting is proposed twice once all were, or some are never proposed."""
    space = spaces.from_dict(
        {
            "a": {"choices": ["x", "y"]},
            "b": {"integer": [1, 5], "when": {"a": ["x"]}},
            "c": {"integer": [3, 3]},
        }
    )
    history, every = History(), []
    while proposed := gp.propose(space, history, 2, 0, 4):
        for values in proposed:
            every.append(histories.identity(values))
            history = histories.propose(history, values, (0,))
            score = Result((float(values.get("b", 0)),))
            history = histories.tell(history, len(history.evaluations) - 1, score)
    assert len(every) == len(set(every)) == 6


def test_space_of_one_value() -> None:
    """Dies if a hyperparameter without a choice breaks the model."""
    space = spaces.from_dict({"c": {"integer": [3, 3]}, "x": {"uniform": [0.0, 1.0]}})
    history = _ended(space, 9, lambda values: Result((values["x"],)))
    assert all(values["c"] == 3 for values in gp.propose(space, history, 2, 0, 4))
    only = spaces.from_dict({"c": {"choices": ["a"]}})
    history = _ended(only, 1, lambda values: Result((1.0,)))
    assert gp.propose(only, history, 2, 0) == []


def test_more_settings_than_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the part that a long history is reduced to lacks the best, or is unordered."""
    monkeypatch.setattr(gp, "_FITTED", 12)
    monkeypatch.setattr(gp, "_CONDITIONED", 16)
    history = _ended(SPACE, 30, _scored)
    fitted = gp.fit(SPACE, history)
    assert fitted.model is not None and len(fitted.model.data.targets) == 16
    assert fitted.targets is not None
    assert set(np.sort(fitted.targets.values)[-8:]) <= set(fitted.model.data.targets)
    _check(history, gp.propose(SPACE, history, 2, 0, 8))
    part = gp._part(Data(*(np.arange(100.0) for _ in range(4))), 10)
    np.testing.assert_array_equal(part.targets[-5:], np.arange(95.0, 100))
    np.testing.assert_array_equal(part.targets, part.variances)


def test_maximising_finds_the_top_of_a_bump() -> None:
    """Dies if steps do not shrink, or if a taken setting is returned."""
    top = encoding.places(SPACE, [{"rate": 0.02, "layers": 2, "kind": "a", "momentum": 0.35}])[0]

    def bump(rows: np.ndarray) -> np.ndarray:
        return -np.sum((np.nan_to_num(rows, nan=5.0) - top) ** 2, axis=1)

    none = np.empty((0, 4))
    best = maximising.maximise(SPACE, bump, none, none, [1])
    assert best is not None
    np.testing.assert_allclose(best, top, atol=2e-3)
    other = maximising.maximise(SPACE, bump, none, best[None], [1])
    assert other is not None and not maximising.is_taken(other[None], best[None])[0]
    np.testing.assert_allclose(other, top, atol=4e-3)


def test_maximising_looks_beside_the_best_at_every_step() -> None:
    """Dies if only wide steps are made there: they miss a peak that is narrow."""
    space = spaces.from_dict({f"x{k}": {"uniform": [0.0, 1.0]} for k in range(4)})
    near = np.full((1, 4), 0.35)

    def value(rows: np.ndarray) -> np.ndarray:
        away = np.sum((rows - near) ** 2, axis=1)
        wide: np.ndarray = -np.sum((rows - 0.8) ** 2, axis=1)
        return wide + 3.0 * np.exp(-away / 0.01**2)

    for seed in range(5):
        best = maximising.maximise(space, value, near, near, [seed])
        assert best is not None
        np.testing.assert_allclose(best, near[0], atol=5e-3)


def test_maximising_finds_the_best_choices() -> None:
    """Dies if choices do not move in late rounds: one of 390,625 settings is the best."""
    space = spaces.from_dict({f"c{k}": {"choices": [*"abcde"]} for k in range(8)})
    random = np.random.default_rng(0)
    worth = random.normal(size=(8, 5))
    couples = random.normal(size=(7, 5, 5))

    def value(rows: np.ndarray) -> np.ndarray:
        index = rows.astype(int)
        alone = sum(worth[k, index[:, k]] for k in range(8))
        return alone + 0.5 * sum(couples[k, index[:, k], index[:, k + 1]] for k in range(7))

    table = worth[0]  # the highest value, by dynamic programming
    for k in range(7):
        table = (table[:, None] + 0.5 * couples[k]).max(axis=0) + worth[k + 1]
    none = np.empty((0, 8))
    best = maximising.maximise(space, value, none, none, [1])
    assert best is not None and value(best[None])[0] == pytest.approx(table.max())


def test_is_taken_compares_inactive_ones() -> None:
    """Dies if NaN is unlike itself, or like a number."""
    rows = np.array([[0.5, np.nan], [0.5, 0.0]])
    np.testing.assert_array_equal(maximising.is_taken(rows, rows[:1]), [True, False])


def _running(*settings: dict) -> np.ndarray:
    return encoding.places(SPACE, settings)


def test_a_running_program_is_preferred_at_its_price() -> None:
    """Dies if more is given up than allowed, less is taken than there is, or conditions break."""
    best = _running({"rate": 0.01, "layers": 3, "kind": "b"})[0]
    others = _running(
        {"rate": 0.5, "layers": 1, "kind": "a", "momentum": 0.9},
        {"rate": 0.5, "layers": 2, "kind": "b"},
    )

    def value(rows: np.ndarray) -> np.ndarray:  # of rate, of layers, of kind
        lost = {0.0: 0.3, 1 / 3: 0.2, 2 / 3: 0.0, 1.0: 1.0}
        values: np.ndarray = np.array([-lost[float(v)] for v in rows[:, 1]])
        return values - (rows[:, 0] - 0.5) ** 2 - 0.05 * (rows[:, 2] == 0)

    def chosen(lack: float, *names: str) -> dict:
        columns = [[p.name for p in SPACE.parameters].index(name) for name in names]
        row = maximising.sharing(SPACE, value, best, others, columns, others, lack, [0])
        (values,) = encoding.settings(SPACE, row[None])
        return values

    assert chosen(-0.19, "layers") == chosen(0.0, "layers") == {
        "rate": pytest.approx(0.01), "layers": 3, "kind": "b"
    }  # fmt: skip
    assert chosen(-0.21, "layers")["layers"] == 2
    assert chosen(-9.0, "layers", "kind") == {
        "rate": pytest.approx(0.01), "layers": 2, "kind": "b"
    }  # fmt: skip
    alike = maximising.sharing(SPACE, value, best, others[:1], [2], others, -9.0, [0])
    (values,) = encoding.settings(SPACE, alike[None])
    assert values["kind"] == "a" and values["layers"] == 3 and 0 <= values["momentum"] <= 1


def test_a_batch_shares_programs_where_that_is_free() -> None:
    """Dies if what is compiled in is ignored, or what runs is not what is shared."""
    history = _ended(SPACE, 12, _scored)
    alone = gp.propose(SPACE, history, 4, 0)
    assert gp.propose(SPACE, history, 4, 0, compiled=["layers", "kind"], price=0.0) == alone
    shared = gp.propose(SPACE, history, 4, 0, compiled=["layers", "kind"], price=0.9999)
    _check(history, shared)
    assert shared[0] == alone[0]  # nothing runs before it
    assert len({(values["layers"], values["kind"]) for values in shared}) == 1
    assert len({(values["layers"], values["kind"]) for values in alone}) > 1


def _five() -> tuple[Space, Callable[[dict], float]]:
    """A choice of five branches with two numbers each, and a regret: b has a narrow best."""
    of = {"a": (1.5, 0.3, 0.05, 2.0), "b": (4.2, 0.8, 0.0, 1.2), "c": (3.0, 0.5, 0.08, 2.0)}
    of |= {"d": (2.0, 0.1, 0.1, 3.0), "e": (5.0, 0.6, 0.12, 2.0)}
    tree: dict[str, object] = {"kind": {"choices": [*of]}}
    for name in of:
        when = {"when": {"kind": [name]}}
        tree[f"{name}_rate"] = {"log_uniform": [1e-6, 1.0], **when}
        tree[f"{name}_own"] = {"uniform": [0.0, 1.0], **when}

    def regret(values: dict) -> float:
        name = values["kind"]
        rate, own, least, width = of[name]
        gap = (math.log10(values[f"{name}_rate"]) + rate) / width
        return least + 1 - math.exp(-(gap**2)) + 0.4 * (values[f"{name}_own"] - own) ** 2

    return spaces.from_dict(tree), regret


@pytest.mark.parametrize("seed", [0, 3])
def test_one_at_a_time_leaves_a_branch_that_is_not_the_best(seed: int) -> None:
    """Dies if the search stays in a branch: the second best is at .05, the others further."""
    space, regret = _five()
    random, history = np.random.default_rng([seed, 1]), History((), higher_is_better=False)
    for number in range(50):
        (values,) = gp.propose(space, history, 1, seed)
        history = histories.propose(history, values, (0,))
        score = regret(values) + 0.005 * random.normal()
        history = histories.tell(history, number, Result((float(score),)))
    taken = gp.best_setting(space, history)
    assert taken is not None and regret(dict(taken)) < 0.01
    lengths = gp.gaussian_process.prior(encoding.layout(space), False, False).mean[2:]
    assert encoding.layout(space).together == 3  # of eleven
    np.testing.assert_allclose(lengths, math.sqrt(2) - 3 + math.log(3) / 2)


def test_what_is_taken_of_many_peaks_is_near_the_best_score() -> None:
    """Dies if a smooth model alone chooses: peaks of no width are noise to it."""
    space = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}, "y": {"uniform": [0.0, 1.0]}})
    rugged = np.random.default_rng(0).normal(size=60)
    history = History((), higher_is_better=True)
    for number, value in enumerate(rugged):
        history = histories.propose(history, spaces.draw(space, 5, number), (0,))
        history = histories.tell(history, number, Result((float(value),)))
    fitted = gp.fit(space, history)
    assert fitted.model is not None and math.exp(fitted.model.noise) > 0.3
    assert np.argmax(rugged) in gp.ranked(fitted)[:3]
