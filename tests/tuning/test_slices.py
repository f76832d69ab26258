"""The posterior along one hyperparameter, against the objective."""

import math

import numpy as np

from jaxeval.space import space as spaces
from jaxeval.tuning import history as histories
from jaxeval.tuning import search, slices
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "layers": {"integer": [1, 4]},
        "cell": {"choices": ["lstm", "gru"]},
        "peephole": {"uniform": [0.0, 1.0], "when": {"cell": ["lstm"]}},
    }
)


def _loss(values: dict) -> float:
    peephole = values.get("peephole", 0.5)
    return (
        (math.log10(values["rate"]) + 2) ** 2
        + 0.3 * values["layers"]
        + (0.4 if values["cell"] == "gru" else (peephole - 0.3) ** 2)
    )


def test_slices_follow_the_objective() -> None:
    """Dies if another hyperparameter is varied, the direction or unit is lost, or a place is not
    turned into its value.
    """
    history = History((), higher_is_better=False)
    history, proposed = search.ask(Search(SPACE, "sobol", 1), history, 40)
    for evaluation in proposed:
        result = Result((_loss(dict(evaluation.values)),))
        history = histories.tell(history, evaluation.number, result)
    best = histories.best(history)
    assert best is not None and best.values["cell"] == "lstm"
    by_name = slices.slices(SPACE, history, best)
    assert [*by_name] == ["rate", "layers", "cell", "peephole"]
    assert by_name["layers"].values == [1, 2, 3, 4] and by_name["cell"].values == ["lstm", "gru"]
    assert np.isclose([by_name["rate"].values[0], by_name["rate"].values[-1]], [1e-4, 1.0]).all()
    for name in ("layers", "cell", "peephole"):
        expected = [_loss({**best.values, name: value}) for value in by_name[name].values]
        assert np.abs(by_name[name].median - expected).max() < 0.25
    expected = np.array([_loss({**best.values, "rate": v}) for v in by_name["rate"].values])
    off = np.abs(by_name["rate"].median - expected)
    near = [abs(math.log10(float(value)) + 2) < 1 for value in by_name["rate"].values]
    assert off[near].max() < 0.25 and off.max() < 0.3 * np.ptp(expected)
    for of in by_name.values():
        assert (of.low <= of.median).all() and (of.median <= of.high).all()
        assert (of.low < of.high).all()
        assert len(set(of.values)) == len(of.values)
    for name, of in by_name.items():  # a range that is not told apart holds the value itself
        kept, own = slices.alike(of, best.values[name]), best.values[name]
        if isinstance(own, str):
            assert own in kept
        else:
            assert min(kept) <= own * (1 + 1e-9) and own <= max(kept) * (1 + 1e-9)
    gru = next(s for s in histories.settings(history) if s.values["cell"] == "gru")
    assert "peephole" not in slices.slices(SPACE, history, gru)
    assert slices.slices(SPACE, History(), best) == {}
