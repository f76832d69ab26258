"""What `python -m jaxeval.compare` warns of before its verdict."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import DataError
from tests import comparing


@pytest.mark.parametrize(
    ("column", "value", "count", "warned"),
    [
        ("split", "{}", 6, True),
        ("fold", "{}", 6, False),
        ("cv_fold", "{}", 10, False),
        ("cv_fold", "{}", 25, True),  # five cross-validations of five folds
        ("split", "fold{}", 10, False),
        ("split", "rep{}", 10, True),
    ],
)
def test_splits_of_one_corpus_are_not_called_independent(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    column: str,
    value: str,
    count: int,
    warned: bool,
) -> None:
    """Dies if random splits or repeated folds pass without a word, or ten folds do not."""
    for datasets in (("x",), ("x", "y")):
        tree = comparing.json_of(
            capsys, "--table", _splits(tmp_path, datasets, column, value, count)
        )
        assert tree["unit"] == "split"
        said = [line for line in tree["warnings"] if "where they overlap" in line]
        assert warned == bool(said)
        of = "splits of one corpus:" if len(datasets) == 1 else "splits of one corpus each:"
        assert all(line.startswith(of) for line in said)


def _splits(folder: Path, datasets: tuple[str, ...], column: str, value: str, count: int) -> Path:
    draw = np.random.default_rng(3)
    rows = [
        f"{model},{dataset},{value.format(k)},{draw.normal(0.8, 0.05):.4f}"
        for dataset in datasets
        for model in "AB"
        for k in range(count)
    ]
    path = folder / "splits.csv"
    path.write_text("\n".join([f"model,dataset,{column},score", *rows]))
    return path


@pytest.mark.parametrize(("n", "sd", "warned"), [(30, 4, True), (12, 4, False), (30, 1, False)])
def test_a_small_sample_that_is_the_wider_one_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture, n: int, sd: float, warned: bool
) -> None:
    """Dies if p-values that are far too small are printed without a word, or all are doubted."""
    rows = [f"A,{0.8 + sd * k / 3000}" for k in range(-5, 5)]
    rows += [f"B,{0.7 + (k / n - 0.5) / 250}" for k in range(n)]
    for turned in (rows, rows[::-1]):
        path = tmp_path / "wide.csv"
        path.write_text("\n".join(["model,score", *turned]))
        warnings = comparing.json_of(capsys, "--table", path)["warnings"]
        assert warned == any("the 10 scores of A are spread 2 times" in line for line in warnings)


@pytest.mark.parametrize(
    ("few", "apart", "warned"), [(10, 9, True), (10, 0, False), (9, 9, False)]
)
def test_nothing_is_doubted_where_no_difference_is_claimed(
    tmp_path: Path, capsys: pytest.CaptureFixture, few: int, apart: float, warned: bool
) -> None:
    """Dies if a p-value that is large, or that the verdict does not rest on, as it does on
    Welch's of nine scores, is called too small."""
    rows = [f"A,{apart + 4 * k / few:.4f}" for k in range(-(few // 2), few - few // 2)]
    rows += [f"B,{k / 20:.4f}" for k in range(-10, 11)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(["model,score", *rows]))
    warnings = comparing.json_of(capsys, "--table", path)["warnings"]
    assert warned == any("are spread 2 times" in line for line in warnings)


def test_counts_that_differ_between_data_sets_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a crashed run turns the headline round, or passes without a word."""
    rows = ["model,dataset,seed,score"]
    for model, better in (("weak", 0), ("strong", 1)):
        for dataset, base in (("easy", 90), ("hard", 50)):
            runs = 4 if (model, dataset) == ("weak", "hard") else 5
            rows += [f"{model},{dataset},{k},{base + better + k / 10}" for k in range(runs)]
    path = tmp_path / "crashed.csv"
    path.write_text("\n".join(rows))
    tree = comparing.json_of(capsys, "--table", path)
    told = "seeds of weak: 5 on easy, 4 on hard; every data set weighs the same"
    assert told in tree["warnings"] and not any("of strong:" in line for line in tree["warnings"])
    means = tree["across_datasets"]["interquartile_mean"]
    assert means["weak"]["estimate"] == pytest.approx(70.175, abs=0.05)
    assert means["strong"]["estimate"] == pytest.approx(71.2)
    assert np.mean(tree["across_datasets"]["means"]["weak"]) == pytest.approx(70.175)


def test_a_model_of_one_score_ends_no_comparison_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if two models are not compared as a third has one finished run, or it is not said."""
    path = tmp_path / "t.csv"
    rows = [f"{m},{k},0.{k}{j},finished" for j, m in enumerate("AB", 1) for k in range(1, 6)]
    rows += ["C,1,0.5,finished", "C,2,,failed"]
    path.write_text("\n".join(["model,seed,score,status", *rows]))
    tree = comparing.json_of(capsys, "--table", path)
    assert len(tree["pairs"]) == 1
    assert "left out, as they have one score each: C" in tree["warnings"]
    with pytest.raises(DataError, match="C: 1 score, which says nothing"):
        compare.main(["--table", str(path), "A", "B", "C"])
