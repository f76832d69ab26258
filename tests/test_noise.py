"""`noise`: trained end to end, and read from a table."""

import importlib
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import jaxeval
from jaxeval import __main__ as command
from jaxeval import runs
from jaxeval.errors import ConfigError, DataError
from jaxeval.report import noise as report
from jaxeval.stats import crossed
from tests import tiny_corpora
from tests.runs.reading import read

verb = importlib.import_module("jaxeval.noise")  # of the package, it is the function

TINY = [*tiny_corpora.BAG, "training.epochs=8", "training.lanes=2"]
SPLITS, SEEDS = 3, 2


def test_a_study_of_trained_members(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a cell holds another member's score, or splits are not trained.

    The scores are read from the database again, and laid out here by hand.
    """
    options = ["--splits", str(SPLITS), "--seeds", str(SEEDS), "--out", str(tmp_path)]
    words = ["noise", *TINY, "--by", "split,seed", *options]
    assert command.main([*words, "--precision", "0.05", "--json", "-"]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    members = runs.load(tmp_path)
    assert {(m.split, m.seed) for m in members} == {*itertools.product((1, 2, 3), (1, 2))}
    assert {m.name for m in members} == {"sentiment"}  # those that train would train
    for part in ("dev", "test"):
        table = np.full((SPLITS, SEEDS), math.nan)
        for member in members:
            table[member.split - 1, member.seed - 1] = getattr(member, part)
        study, found = crossed.components(table), parts[part]["components"]
        assert found["mean"] == study.mean and study.total.sd > 0
        for name, component in study.components.items():
            assert found["components"][name]["sd"] == pytest.approx(component.sd)
    assert parts["test"]["plan"]["precision"] == 0.05
    assert command.main(words) == 0
    said = capsys.readouterr().out
    share = study.components["split"].share or 0
    of_split = f"The variance of test macro_f1 is {100 * share:.0f} % due to the split, "
    assert said.startswith(of_split) and "split x seed, error" in said
    assert "test macro_f1 (%), 3 splits x 2 seeds: mean" in said and "dev macro_f1" not in said
    assert "For a mean test macro_f1 within 1 point" in said  # the metric's margin


def _table(folder: Path, gap: float = 0.01) -> tuple[Path, np.ndarray]:
    """Model b is model a plus a gap and an interaction of its own."""
    draw = np.random.default_rng(0)
    a = 0.7 + 0.02 * draw.normal(size=(5, 1)) + 0.01 * draw.normal(size=(5, 4))
    both = np.stack([a, a + gap + 0.002 * draw.normal(size=(5, 4))])
    rows = [f"{'ab'[m]},{i},{j},{float(both[m, i, j])!r}" for m, i, j in np.ndindex(both.shape)]
    file = folder / "scores.csv"
    file.write_text("\n".join(["model,split,seed,f1", *rows]) + "\n")
    return file, both


def test_a_table_of_scores(tmp_path: Path) -> None:
    """Dies if a table's scores are laid out wrongly, or a split is dropped in silence."""
    file, (a, b) = _table(tmp_path)
    for model, scores in (("a", a), ("b", b)):
        found = jaxeval.noise_table(file, score="f1", model=model, precision=0.001)
        study, of = crossed.components(scores), found.parts["score"]
        assert isinstance(of, report.CrossedStudy) and found.unit == "fraction"
        assert of.components.mean == pytest.approx(study.mean) and of.plan is not None
        sds = [part.sd for part in of.components.components.values()]
        np.testing.assert_allclose(sds, [part.sd for part in study.components.values()])
    said = "\n".join([*found.document().answer, str(found.document().blocks[0])])
    assert "f1 of b (%), 5 splits x 4 seeds" in said
    assert "For a mean f1 of b within 0.1 points" in said
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if not line.startswith("a,2,3,")) + "\n")
    of = jaxeval.noise_table(file, score="f1", model="a").parts["score"]
    assert isinstance(of, report.CrossedStudy) and of.components.splits == 4 and of.plan is None
    assert of.dropped == ("split 2 is left out: no score of 1 of its 4 cells",)
    alone = ["split,seed,f1", *(line[2:] for line in lines if line.startswith("b,"))]
    file.write_text("\n".join(alone) + "\n")
    (said,) = jaxeval.noise_table(file).document().answer
    assert said.startswith("The variance of f1 is ")
    file.write_text("\n".join([f"{alone[0]},acc", *(f"{line},0.5" for line in alone[1:])]) + "\n")
    assert jaxeval.noise_table(file, score="f1").document().answer == [said]
    with pytest.raises(DataError, match=r"f1, acc look like .*: column=\{'score': 'f1'\}$"):
        jaxeval.noise_table(file)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--splits", "3"], "--splits 3: needs --by split,seed"),
        (["--by", "split,seed", "--splits", "1"], "2 or more --splits"),
        (["--by", "split,seed", "--splits", "2000", "--seeds", "2000"], "at most 1000000 runs"),
        (["table", "F", "--score", "f1"], "expected --model with one of a, b"),
    ],
)
def test_bad_input_is_explained(tmp_path: Path, words: list[str], message: str) -> None:
    """Dies if an option is passed over in silence, or a million members are begun."""
    words = [str(_table(tmp_path)[0]) if word == "F" else word for word in words]
    with pytest.raises((ConfigError, DataError), match=message):
        command.main(["noise", *words])


def test_repeats_are_shown_as_all_scores_are(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if fractions are shown as such where all others are per cent, or what is recorded is
    trained again."""
    words = ["noise", *TINY, "--seeds", "2", "--repeats", "2", "--out", str(tmp_path)]
    assert command.main(words) == 0
    said = capsys.readouterr()
    assert "macro_f1 (%)" in said.out
    assert said.out.startswith("The same seed gave the same test macro_f1 bit for bit")
    members = [member for member in runs.load(tmp_path) if not member.repeat]
    test = [100 * member.test for member in members if member.test is not None]
    assert f"{np.mean(test):.2f}" in said.out and f"{np.std(test, ddof=1):.3g}" in said.out
    assert said.err.count("members of task") == 1
    assert command.main(words) == 0
    assert "4 members of task sentiment; 4 recorded already" in capsys.readouterr().err


HEAD = "model,fold,run,score"


@pytest.mark.parametrize(
    ("head", "rows", "error"),
    [
        ("model,run,score", ["a,x,0.5", "a,y,0.5"], "no column split"),
        (f"{HEAD},dataset", ["a,1,x,0.5,d", "a,1,x,0.5,e"], "data sets"),
        ("model,fold,rep,score", ["a,1,1,.5", "a,2,1,.4", "a,1,2,.3", "a,2,2,.5"], "several"),
    ],
)
def test_a_table_that_is_no_design(tmp_path: Path, head: str, rows: list[str], error: str) -> None:
    """Dies if models or data sets are mixed, or an axis is made up."""
    with pytest.raises(DataError, match=error):
        verb._cells(read(tmp_path, "\n".join([head, *rows])), None)


def test_a_mean_lies_where_scores_can(tmp_path: Path) -> None:
    """Dies if the interval of a mean F1 reaches beyond its range."""
    table = tmp_path / "a.csv"
    cells = [(k, n) for k in (1, 2) for n in (1, 2)]
    lines = [f"a,{k},{n},{0.02 + 0.05 * (k + n == 2)}" for k, n in cells]
    table.write_text("\n".join(["model,split,seed,f1", *lines]))
    alone = jaxeval.noise_table(table, model="a", precision=0.05)
    assert alone.parts["score"].components.mean_interval.low == 0.0


def test_a_crash_that_counts_as_a_score_is_named() -> None:
    """Dies if one run's crash passes for the interaction of splits and seeds."""
    cells = [
        {"split": k, "seed": n, "f1": 0.8 + (k + n) / 100} for k in range(3) for n in range(3)
    ]
    cells[4]["f1"] = 0.0
    assert jaxeval.noise_table(cells).warnings[0].startswith("1 of 9 scores of f1 is far worse")
