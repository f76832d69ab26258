"""`jaxeval settle table` with files that are being written."""

from pathlib import Path

import pytest

import jaxeval
from jaxeval.settle import tables

ROWS = ["model,seed,f1", *(f"old,{seed},{0.8 + seed % 3 / 100:.2f}" for seed in range(1, 7))]
NEW = [f"new,{seed},{0.9 + seed % 3 / 100:.2f}" for seed in range(1, 7)]


@pytest.mark.parametrize("rest", ["", "5"])
def test_a_half_written_line_does_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    """Dies if the first digits of a score count as the score, or an ended file is waited for."""
    path, waits = tmp_path / "scores.csv", []
    path.write_text("\n".join([*ROWS, *NEW]))  # no end of the last line

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if rest and len(waits) == 1:
            with path.open("a") as stream:
                stream.write(f"{rest}\n")

    monkeypatch.setattr(tables.time, "sleep", sleep)
    found = jaxeval.settle_table(path, "old", "new", score="f1", follow=9, quiet=True)
    assert found.scores["new"][-1] == float(f"0.90{rest}") and waits == [9.0]
    assert found.verdict == "better"


def test_a_seed_that_both_lack_is_under_way_while_the_table_grows() -> None:
    """Dies if seeds that end early count before slower ones."""
    rows = [line.split(",") for line in [*ROWS[1:], *NEW]]
    records = [{"model": m, "seed": int(k), "f1": float(x)} for m, k, x in rows if k != "3"]
    scores = jaxeval.read_scores(records, score="f1")
    assert tables.settled(scores, 9, 0.0, 0.05, growing=True).looks == 2
    assert tables.settled(scores, 9, 0.0, 0.05).looks == 5
