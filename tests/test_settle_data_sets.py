"""`jaxeval settle table` over several data sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.bandits.settling import Settle
from jaxeval.settle import tables
from jaxeval.stats import claims

PLACES = {"b": 0.0, "a": 0.2, "c": -0.1}


def _places(numbers: range = range(1, 9), scale: float = 1.0) -> list[dict[str, Any]]:
    draw = np.random.default_rng(3)
    return [
        {"model": model, "seed": k, "data": place, "f1": (gain + more) * (scale if more else 1)}
        for model, mean in (("old", 0.5), ("new", 0.54))
        for place, more in PLACES.items()
        for k, gain in zip(numbers, draw.normal(mean, 0.02, len(numbers)), strict=True)
    ]


def _settle_places(rows: Any, **more: Any) -> jaxeval.Settlement:
    how: dict[str, Any] = {"score": "f1", "column": {"dataset": "data"}, "quiet": True}
    return jaxeval.settle_table(rows, "old", "new", **how, **more)


def test_several_data_sets_are_settled_in_their_mean() -> None:
    """Dies if a data set counts more than another, or seeds of all are one sample."""
    rows = _places()
    found = _settle_places(rows)
    means = {
        model: [
            np.mean([r["f1"] for r in rows if (r["model"], r["seed"]) == (model, k)])
            for k in range(1, 9)
        ]
        for model in ("old", "new")
    }
    expected = claims.settle(means["new"], means["old"])
    assert found.interval is not None and found.looks == 8 and found.verdict == "better"
    assert found.interval[:2] == pytest.approx(expected.interval)
    assert "in the mean over 3 data sets" in repr(found) and [*found.data_sets] == [*PLACES]
    (pair,) = jaxeval.compare(rows, score="f1", column={"dataset": "data"}).study.overall
    assert abs(pair.value) == pytest.approx(found.difference)
    fewer = _settle_places([r for r in rows if (r["model"], r["data"]) != ("new", "c")])
    assert [*fewer.data_sets] == ["b", "a"] and any("without c" in note for note in fewer.notes)


def test_a_data_set_that_is_left_out_has_no_say() -> None:
    """Dies if its seeds are waited for, or nobody is told when one data set is left."""
    rows = [r for r in _places() if (r["model"], r["data"]) != ("new", "c")]
    early = [{**r, "seed": r["seed"] - 3 * (r["data"] == "c")} for r in rows]
    assert _settle_places(early).interval == _settle_places(rows).interval
    one = _settle_places([r for r in rows if (r["model"], r["data"]) != ("new", "b")])
    assert one.looks == 8 and any("without b, c" in note for note in one.notes)


def test_a_seed_counts_when_all_data_sets_have_it(tmp_path: Path) -> None:
    """Dies if the mean is of other data sets from seed to seed, or from look to look."""
    rows = _places()
    late = [r for r in rows if (r["model"], r["data"]) != ("old", "b") or r["seed"] != 4]
    assert _settle_places(late).looks == 3
    scores = jaxeval.read_scores(rows[:-8], score="f1", column={"dataset": "data"})
    waiting = tables.settled(scores, Settle(most=99), growing=True)  # new has none on c yet
    assert (waiting.looks, waiting.verdict) == (0, "undecided")
    failed = [{**r, "status": "completed"} for r in rows if r["seed"] < 4]
    failed[-1] = {**failed[-1], "f1": None, "status": "failed"}
    assert _settle_places(failed, missing="drop").failures == {"new": "run 3 failed"}


def test_data_sets_without_a_mean() -> None:
    """Dies if one data set's scale decides alone, or scores without seeds are averaged."""
    with pytest.raises(jaxeval.JaxevalError, match="differ more than tenfold"):
        _settle_places(_places(scale=100))
    rows = [{name: x for name, x in row.items() if name != "seed"} for row in _places()]
    with pytest.raises(jaxeval.JaxevalError, match="expected seeds or splits"):
        _settle_places(rows)
    with pytest.raises(jaxeval.JaxevalError, match="items of one data set"):
        jaxeval.settle_table(_places(), score="f1", column={"item": "seed", "dataset": "data"})


def test_a_data_set_that_comes_after_the_first_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the question changes while one looks."""
    path, rows = tmp_path / "t.csv", _places(range(1, 5))
    for row in rows:  # as good as one another
        row["f1"] -= 0.04 * (row["model"] == "new")
    lines = [",".join(map(str, row.values())) for row in rows]
    path.write_text(
        "\n".join(["model,seed,data,f1", *(x for x in lines if ",c," not in x)]) + "\n"
    )

    def sleep(seconds: float) -> None:
        with path.open("a") as stream:
            stream.write("\n".join(line for line in lines if ",c," in line) + "\n")

    monkeypatch.setattr(tables.time, "sleep", sleep)
    with pytest.raises(jaxeval.JaxevalError, match=r"another data set, c: .* first look, b, a;"):
        _settle_places(path, follow=9)
