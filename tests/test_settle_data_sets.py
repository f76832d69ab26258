"""`jaxeval settle table` over several data sets."""

from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.stats import anytime

PLACES = {"b": 0.0, "a": 0.2, "c": -0.1}


def _rows(scale: float = 1.0) -> list[dict[str, Any]]:
    draw = np.random.default_rng(3)
    return [
        {"model": model, "seed": k, "data": place, "f1": (x + more) * (scale if more else 1)}
        for model, mean in (("old", 0.5), ("new", 0.54))
        for place, more in PLACES.items()
        for k, x in enumerate(draw.normal(mean, 0.02, 8), 1)
    ]


def _settle(rows: Any, **more: Any) -> jaxeval.Settlement:
    how: dict[str, Any] = {"score": "f1", "column": {"dataset": "data"}, "quiet": True}
    return jaxeval.settle_table(rows, "old", "new", **how, **more)


def test_several_data_sets_are_settled_in_their_mean() -> None:
    """Dies if a data set counts more than another, or seeds of all are one sample."""
    rows = _rows()
    found = _settle(rows)
    by_seed = {(r["model"], r["seed"]): list[float]() for r in rows}
    for r in rows:
        by_seed[r["model"], r["seed"]].append(r["f1"])
    new, old = ([np.mean(by_seed[m, k]) for k in range(1, 9)] for m in ("new", "old"))
    assert found.interval is not None and found.looks == 8 and found.verdict == "better"
    assert found.interval[:2] == pytest.approx(anytime.settle(new, old).interval)
    assert "mean over the data sets b, a, c" in found.document().notes
    (pair,) = jaxeval.compare(rows, score="f1", column={"dataset": "data"}).study.overall
    assert abs(pair.value) == pytest.approx(found.difference)


def test_a_seed_counts_when_all_data_sets_have_it() -> None:
    """Dies if the mean is of other data sets from seed to seed, or a failure on one is none."""
    rows = _rows()
    late = [r for r in rows if (r["model"], r["data"], r["seed"]) != ("old", "b", 4)]
    assert _settle(late).looks == 3
    failed = [{**r, "status": "completed"} for r in rows if r["seed"] < 4]
    failed[-1] = {**failed[-1], "f1": None, "status": "failed"}
    assert _settle(failed, missing="drop").failures == {"new": "seed 3 failed"}


def test_data_sets_without_a_mean(tmp_path: Any) -> None:
    """Dies if one scale decides alone, what lacks a data set is averaged, or data sets that come
    later change the question."""
    with pytest.raises(jaxeval.JaxevalError, match="differ more than tenfold"):
        _settle(_rows(scale=100))
    lacking = [r for r in _rows() if (r["model"], r["data"]) != ("new", "c")]
    with pytest.raises(jaxeval.JaxevalError, match="new: no usable score on c"):
        _settle(lacking)
    nameless = [{name: x for name, x in row.items() if name != "seed"} for row in _rows()]
    with pytest.raises(jaxeval.JaxevalError, match="expected several seeds of each data set"):
        _settle(nameless)
    table = tmp_path / "t.csv"
    lines = [",".join(map(str, row.values())) for row in _rows()]
    table.write_text("\n".join(["model,seed,data,f1", *lines]) + "\n")
    with pytest.raises(jaxeval.JaxevalError, match="a later one would change the mean"):
        _settle(table, follow=9)
