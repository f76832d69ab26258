"""The unit of replication of a table of scores, and pools that keep its pairing."""

from pathlib import Path

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import flat, units
from jaxeval.runs.layout import Layout


def _write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


SPLITS = "".join(
    f"{model},{split},{seed},{score}\n"
    for model, split, seed, score in (
        ("A", "x", 1, 1.0),
        ("A", "x", 2, 3.0),
        ("A", "y", 1, 5.0),
        ("B", "y", 1, 2.0),
        ("B", "x", 1, 4.0),
    )
)


def test_the_unit_of_replication_is_named_and_averaged_within(tmp_path: Path) -> None:
    """Dies if seeds of one split count as independent by default, or labels are mixed up."""
    table = flat.read(_write(tmp_path, "a.csv", "model,split,seed,score\n" + SPLITS), Layout())
    by_split = units.samples(table)
    assert (by_split.unit, by_split.averaged) == ("split", (1, 2))
    a, b = by_split.by_dataset[""]["A"], by_split.by_dataset[""]["B"]
    assert dict(zip(a.labels, a.scores, strict=True)) == {"x": 2.0, "y": 5.0}
    first, second = units.paired(a, b)
    assert (first.tolist(), second.tolist()) == ([2.0, 5.0], [4.0, 2.0])
    assert len(units.samples(table, "row").by_dataset[""]["A"].scores) == 3
    with pytest.raises(
        DataError, match="--unit dataset: no such column; expected one of seed, split"
    ):
        units.samples(table, "dataset")


def test_pools_for_replay_keep_the_pairing(tmp_path: Path) -> None:
    """Dies if the k-th scores of two models belong to different splits."""
    text = "model,split,score\nA,x,1\nA,y,2\nA,z,3\nB,z,30\nB,x,10\n"
    table = flat.read(_write(tmp_path, "a.csv", text), Layout())
    together = units.pools(table, together=True)
    assert {m: v.tolist() for m, v in together.items()} == {"A": [1, 3], "B": [10, 30]}
    assert [len(v) for v in units.pools(table, together=False).values()] == [3, 2]
    rows = flat.read(_write(tmp_path, "b.csv", "A,B\n1,2\n"), Layout())
    with pytest.raises(DataError, match="expected a seed or split that all models have"):
        units.pools(rows, together=True)


def test_copies_are_of_models_that_vary_nowhere(tmp_path: Path) -> None:
    """Dies if a model that is all right on an easy data set, and varies on another, is one run."""
    rows = [f"{m},{d},{seed},{score}\n" for m, d, seed, score in (
        ("A", "easy", 1, 1.0), ("A", "easy", 2, 1.0), ("A", "hard", 1, 0.5), ("A", "hard", 2, 0.6),
        ("B", "easy", 1, 0.9), ("B", "easy", 2, 0.9), ("B", "hard", 1, 0.4), ("B", "hard", 2, 0.4),
        ("C", "easy", 1, 0.7),
    )]  # fmt: skip
    table = flat.read(
        _write(tmp_path, "a.csv", "model,dataset,seed,score\n" + "".join(rows)), Layout()
    )
    kept, copies = units.without_copies(units.samples(table))
    assert copies == (units.Copies("B", "easy", 0.9, 2), units.Copies("B", "hard", 0.4, 2))
    counts = {
        d: {m: len(of.scores) for m, of in cell.items()} for d, cell in kept.by_dataset.items()
    }
    assert counts == {"easy": {"A": 2, "B": 1, "C": 1}, "hard": {"A": 2, "B": 1}}
    one_each = units.samples(table, "dataset")
    assert units.without_copies(one_each) == (one_each, ())
