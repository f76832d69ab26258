"""Settings as places and back; candidates: none twice, even, the best."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxeval import space as spaces
from jaxeval.tuning import candidates
from jaxeval.tuning.candidates import _is_taken
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import History

TREE = {
    "rate": {"log_uniform": [1e-5, 1e-1]},
    "units": {"integer": [16, 128], "step": 16},
    "size": {"choices": [64, 16, 32]},
    "kind": {"choices": ["none", "plateau", "warmup"]},
    "factor": {"uniform": [0.1, 0.9], "when": {"kind": ["plateau"]}},
    "steps": {"integer": [1, 4], "when": {"kind": ["warmup"], "units": [16, 32, 48]}},
    "shape": {"choices": ["cos", "line"], "when": {"steps": [2, 3]}},
}


SPACE = spaces.from_dict(TREE)


def test_two_choices_are_as_far_apart_as_the_ends_of_an_interval() -> None:
    """Dies if a kernel of one length takes choices for nearer, or further, than numbers."""
    of = encoder(spaces.from_dict({"kind": {"choices": ["a", "b"]}, "x": {"uniform": [0, 1]}}))
    for values in ([{"kind": k, "x": 0.5} for k in "ab"], [{"kind": "a", "x": x} for x in (0, 1)]):
        first, second = of.features(of.places(values))
        assert np.linalg.norm(first - second) == pytest.approx(1.0)


def test_round_trip() -> None:
    """Dies if a value comes back as another one, or is absent where it was drawn."""
    drawn = [spaces.draw(SPACE, 3, k) for k in range(300)]
    back = encoder(SPACE).settings(encoder(SPACE).places(drawn))
    for before, after in zip(drawn, back, strict=True):
        assert before.keys() == after.keys()
        exact = [name for name in before if name not in ("rate", "factor")]
        assert all(before[n] == after[n] and type(before[n]) is type(after[n]) for n in exact)
        assert after["rate"] == pytest.approx(before["rate"])


@given(st.lists(st.floats(-1, 4), min_size=7, max_size=7))
@settings(max_examples=60, deadline=None)
def test_snapped_is_a_setting_that_can_be_drawn(row: list[float]) -> None:
    """Dies if snapping leaves the grid or the range, or is not idempotent."""
    snapped = encoder(SPACE).snap(np.array([row]))
    values = encoder(SPACE).settings(snapped)[0]
    assert values["units"] in range(16, 129, 16) and values["size"] in (16, 32, 64)
    assert 1e-5 <= float(values["rate"]) <= 1e-1
    assert ("factor" in values) == (values["kind"] == "plateau")
    assert ("steps" in values) == (values["kind"] == "warmup" and values["units"] <= 48)
    assert ("shape" in values) == (values.get("steps") in (2, 3))
    again = encoder(SPACE).snap(np.nan_to_num(snapped, nan=0.3))
    np.testing.assert_array_equal(again, snapped)


def test_everything_of_a_small_space() -> None:
    """Dies if settings that differ in inactive hyperparameters alone are counted twice."""
    tree = {name: TREE[name] for name in ("size", "kind", "units", "steps", "shape")}
    space = spaces.from_dict(tree)
    rows = encoder(space).everything
    assert rows is not None
    # 3 sizes x (2 kinds x 8 units + warmup: 5 units + 3 units x (2 steps + 2 x 2 shapes))
    assert len(rows) == 3 * (16 + 5 + 3 * (2 + 4))
    assert encoder(SPACE).everything is None


@pytest.mark.parametrize("high", [1, 300])
def test_whole_numbers_in_the_logarithm(high: int) -> None:
    """Against the share of each number; dies if small numbers are not as frequent as large ones a
    decade on, or a value comes back as another one."""
    space = spaces.from_dict({"n": {"log_integer": [1, high]}, "x": {"uniform": [0, 1]}})
    quantiles = (np.arange(4000) + 0.5) / 4000
    of = space.parameters[0].distribution
    drawn = np.array([of.at(q) for q in quantiles])
    low, top = np.log(0.5), np.log(high + 0.5)
    for k in {1, min(5, high), high}:
        share = (np.log(k + 0.5) - np.log(k - 0.5)) / (top - low)
        assert np.mean(drawn == k) == pytest.approx(share, abs=1e-3)
    values = [{"n": n, "x": 0.5} for n in sorted({1, min(3, high), max(1, high // 2), high})]
    assert encoder(space).settings(encoder(space).places(values)) == values
    rows = encoder(space).from_quantiles(np.stack([quantiles, quantiles], 1))
    assert [v["n"] for v in encoder(space).settings(rows)] == drawn.tolist()


CELLS = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1e-1]},
        "cell": {"choices": ["lstm", "gru"]},
        "layers": {"integer": [1, 4], "when": {"cell": ["lstm"]}},
        "clip": {"uniform": [0.0, 1.0], "when": {"layers": [2, 3]}},
    }
)


def _proposed(method: Any, steps: list[int], seed: int = 3, score: float = 1.0) -> list[Any]:
    """All proposals of batches of these sizes."""
    history = History()
    for count in steps:
        for values in method(CELLS, history, count, seed):
            history = history.propose(values, [1])
        for evaluation in history.pending[::2]:  # some run on
            history = history.tell(evaluation.number, (score,))
    return [evaluation.values for evaluation in history.evaluations]


@pytest.mark.parametrize("method", [candidates.random, candidates.sobol])
def test_batches_and_results_change_nothing(method: Any) -> None:
    """Dies if what is proposed depends on the size of batches, on scores, or not on the seed."""
    whole = _proposed(method, [32])
    assert whole == _proposed(method, [1, 5, 2, 7, 1, 16], score=-9.0)
    assert whole != _proposed(method, [32], seed=4)


@pytest.mark.parametrize("method", [candidates.random, candidates.sobol])
def test_no_point_comes_twice_while_there_are_others(method: Any) -> None:
    """Dies if a batch or a later one repeats a point, or the search for others has no end."""
    few = spaces.from_dict({"a": {"integer": [1, 4]}, "b": {"choices": [True, False]}})
    history = History()
    for count in (3, 5):
        for values in method(few, history, count, 0):
            history = history.propose(values, [1])
    assert len(history.evaluations) == 8
    assert method(few, history, 2, 0) == []
    single = spaces.from_dict({"a": {"choices": ["only"]}})
    assert method(single, History(), 2, 0) == [{"a": "only"}]


def test_random_points_are_those_of_a_sweep() -> None:
    """Dies if a sweep and a random search of one seed differ: a tuner can go on from a sweep."""
    assert _proposed(candidates.random, [20], seed=1) == [
        spaces.draw(CELLS, 1, run) for run in range(20)
    ]
    rates = np.log10([values["rate"] for values in _proposed(candidates.random, [200])])
    assert -4 <= rates.min() < -3.8 and -1.2 < rates.max() <= -1


def _bump(top: np.ndarray) -> Any:
    def bump(rows: np.ndarray) -> np.ndarray:
        return -np.sum((np.nan_to_num(rows, nan=5.0) - top) ** 2, axis=1)

    return bump


def test_maximising_finds_the_top_of_a_bump() -> None:
    """Dies if steps do not shrink, or if a taken setting is returned."""
    values = {"rate": 0.002, "cell": "lstm", "layers": 2, "clip": 0.35}
    top = encoder(CELLS).places([values])[0]
    none = np.empty((0, 4))
    best = candidates.maximise(CELLS, _bump(top), none, none, [1])
    assert best is not None
    np.testing.assert_allclose(best, top, atol=2e-3)
    other = candidates.maximise(CELLS, _bump(top), none, best[None], [1])
    assert other is not None and not _is_taken(other[None], best[None])[0]
    np.testing.assert_allclose(other, top, atol=4e-3)
    rows = np.array([[0.5, np.nan], [0.5, 0.0]])
    np.testing.assert_array_equal(_is_taken(rows, rows[:1]), [True, False])
