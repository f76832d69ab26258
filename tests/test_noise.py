"""`noise --by split,seed`: trained end to end, and read from a table."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from jaxeval import noise, runs, studies
from jaxeval.errors import ConfigError, DataError
from jaxeval.stats import crossed, nested
from jaxeval.studies import proposers
from tests import tiny_corpora

TINY = [*tiny_corpora.BAG, "training.epochs=8", "training.lanes=2"]
SPLITS, SEEDS = 3, 2


def _trained(folder: Path, *words: str) -> list[str]:
    options = ["--splits", str(SPLITS), "--seeds", str(SEEDS), "--out", str(folder), *words]
    return [*TINY, "--by", "split,seed", *options]


def test_a_study_of_trained_members(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a cell holds another member's score, or splits are not trained.

    The scores are read from the database again, and laid out here by hand.
    """
    words = _trained(tmp_path)
    assert noise.main([*words, "--precision", "0.05", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    members = runs.load(tmp_path)
    assert {(m.split, m.seed) for m in members} == {*itertools.product((1, 2, 3), (1, 2))}
    assert {m.name for m in members} == {"sentiment"}  # those that train would train
    for part in ("dev", "test"):
        table = np.full((SPLITS, SEEDS), math.nan)
        for member in members:
            table[member.split - 1, member.seed - 1] = getattr(member, part)
        study = crossed.components(table)
        assert tree[part]["mean"] == study.mean and study.total.sd > 0
        for name, component in study.components.items():
            assert tree[part]["components"][name]["sd"] == pytest.approx(component.sd)
    assert tree["test"]["plan"]["precision"] == 0.05
    assert noise.main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("Of the variance of test macro_f1 ") and "split x seed, error" in said
    assert "test macro_f1 (%), 3 splits x 2 seeds: mean" in said and "dev macro_f1" not in said
    assert "For a mean test macro_f1 within 1 point" in said  # the metric's margin
    assert noise.main([*words, "--details"]) == 0
    assert "dev macro_f1 (%), 3 splits x 2 seeds: mean" in capsys.readouterr().out


def test_trials_of_a_crossed_design() -> None:
    """Dies if a cell is missing, or repeated runs are recorded as those of the config itself."""
    config = studies.read(None, TINY)
    cells = set(itertools.product((1, 2, 3), (5, 7)))
    once = proposers.crossed(config, [5, 7], [1, 2, 3])
    assert {(t.split, t.seed) for t in once} == cells and len(once) == 6
    assert once == proposers.seeds_by_splits(config, [5, 7], [1, 2, 3])
    twice = proposers.crossed(config, [5, 7], [1, 2, 3], 2)
    assert {(t.split, t.seed, t.repeat) for t in twice} == {(*c, k) for c in cells for k in (0, 1)}
    assert {t.study.name for t in twice if t.study} == {"noise"} and len(twice) == 12


def test_equal_scores_are_no_ground_for_a_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if two runs are said to be enough where a model that learned nothing scores 0."""
    rows = [f"{split},{seed},0" for split, seed in itertools.product("123", "123")]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["split,seed,m", *rows]) + "\n")
    words = ["--by", "split,seed", "--table", str(file), "--precision", "0.01"]
    assert noise.main(words) == 0
    said = capsys.readouterr().out
    assert "all runs have the same score" in said and "train" not in said


def _table(folder: Path, gap: float = 0.01) -> tuple[Path, np.ndarray]:
    """Model b is model a plus a gap and an interaction of its own."""
    draw = np.random.default_rng(0)
    a = 0.7 + 0.02 * draw.normal(size=(5, 1)) + 0.01 * draw.normal(size=(5, 4))
    both = np.stack([a, a + gap + 0.002 * draw.normal(size=(5, 4))])
    rows = [f"{'ab'[m]},{i},{j},{float(both[m, i, j])!r}" for m, i, j in np.ndindex(both.shape)]
    file = folder / "scores.csv"
    file.write_text("\n".join(["model,split,seed,f1", *rows]) + "\n")
    return file, both


def test_a_table_of_scores(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a table's scores are laid out wrongly, or a paired difference is of other cells."""
    file, (a, b) = _table(tmp_path)
    words = ["--by", "split,seed", "--table", str(file), "--score", "f1", "--model", "b"]
    for more, scores in (([], b), (["--minus", "a"], b - a)):
        assert noise.main([*words, *more, "--json", "-"]) == 0
        tree = json.loads(capsys.readouterr().out)
        study = crossed.components(scores)
        assert tree["unit"] == "fraction" and tree["score"]["plan"] is None
        assert tree["score"]["mean"] == pytest.approx(study.mean)
        sds = [part["sd"] for part in tree["score"]["components"].values()]
        np.testing.assert_allclose(sds, [part.sd for part in study.components.values()])
    assert noise.main([*words, "--minus", "a", "--precision", "0.001", "--split-cost", "2"]) == 0
    said = capsys.readouterr().out
    assert "f1 of b - a (%), 5 splits x 4 seeds" in said
    assert "cost" in said and "For a mean f1 of b - a within 0.1 points" in said


def test_what_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a split or seed is dropped in silence."""
    file, _ = _table(tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if not line.startswith("a,2,3,")) + "\n")
    words = ["--by", "split,seed", "--table", str(file), "--score", "f1", "--model", "a"]
    assert noise.main(words) == 0
    said = capsys.readouterr().out
    assert "4 splits x 4 seeds" in said and "split 2 is left out: no score of 1 of its 4" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--splits", "3"], "--splits: goes with --by split,seed"),
        (["--split-cost", "3"], "--split-cost: goes with --by split,seed"),
        (["--by", "split,seed", "--splits", "1"], "2 or more --splits"),
        (["--by", "split,seed"], "expected a CONFIG, which is trained, or recorded scores in"),
        (["--by", "split,seed", "--seed-list", "4"], "2 or more seeds"),
        (["--by", "split,seed", "--minus", "a"], "--table or --runs"),
        (["--by", "split,seed", "c.toml", "--table", "x.csv"], "no CONFIG"),
        (
            ["--by", "split,seed", "--table", "x.csv", "--splits", "3"],
            "--splits: expected without",
        ),
        (["--by", "split,seed", "--table", "x", "--seed-list", "3,4"], "--seed-list: expected"),
        (["--by", "split,seed", "--table", "x.csv", "--seeds", "3"], "--seeds: expected without"),
        (["--by", "split,seed", "--metric", "f1"], "--metric: expected with --table or --runs"),
        (["--score", "f1", "--missing", "drop"], "--missing, --score: expected with --table"),
        (["--by", "split,seed", "--table", "x", "--minus", "a"], "--minus a: expected another"),
        (
            ["--by", "split,seed", "--table", "x", "--model", "a", "--minus", "a"],
            "--minus a: expected another model in --model",
        ),
        (["--by", "split"], "invalid choice"),
    ],
)
def test_options_that_do_not_go_together(
    words: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an option is passed over in silence, or a table and a config are both named."""
    with pytest.raises((SystemExit, ConfigError)) as raised:
        noise.main(words)
    assert message in capsys.readouterr().err + str(raised.value)


def test_too_much_or_nothing_to_study(tmp_path: Path) -> None:
    """Dies if a million members are begun, or two models are taken for one."""
    with pytest.raises(ConfigError, match="at most 1000000 runs"):
        noise.main(["--by", "split,seed", "--splits", "2000", "--seeds", "2000"])
    with pytest.raises(DataError, match="expected --model with one of a, b"):
        noise.main(["--by", "split,seed", "--table", str(_table(tmp_path)[0]), "--score", "f1"])


def test_repeats_are_shown_as_all_scores_are(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if fractions are shown as such where all others are per cent, or an experiment is
    announced once a repeat."""
    words = [*TINY, "--seeds", "2", "--repeats", "2", "--out", str(tmp_path)]
    assert noise.main(words) == 0
    said = capsys.readouterr()
    assert "macro_f1 (%)" in said.out
    assert said.out.startswith("The same seed gave the same test macro_f1, to the last bit")
    members = [member for member in runs.load(tmp_path) if not member.repeat]
    dev = [100 * member.dev for member in members if member.dev is not None]
    assert f"{np.mean(dev):.2f}" in said.out and f"{np.std(dev, ddof=1):.3g}" in said.out
    assert "no CONFIG is named: this is the embedded default with these changes" in said.err
    assert said.err.count("4 members of task sentiment") == 1
    assert said.err.count("members of task") == 1
    assert noise.main(words) == 0
    assert "4 members of task sentiment; 4 are recorded already" in capsys.readouterr().err


def test_whether_seeds_or_repeats_differ_by_more_mirrors() -> None:
    """Dies if the larger sd is the other one's, or is named where the intervals overlap."""
    draw = np.random.default_rng(0)
    wide, thin = draw.normal(size=(30, 1)), 0.01 * draw.normal(size=(30, 8))
    said = noise._of_seeds(nested.noise((wide + thin).tolist()), "f1")
    assert said == "Seeds differ by more in test f1 than runs of one seed do."
    rows = (0.01 * wide + 100 * thin).tolist()
    said = noise._of_seeds(nested.noise(rows), "f1")
    assert said == "Runs of one seed differ by more in test f1 than seeds do."
    said = noise._of_seeds(nested.noise([[1.0, 2.0], [2.5, 3.1], [0.4, 2.2]]), "f1")
    assert said == "Whether seeds differ by more in test f1 than runs of one seed was not shown."
