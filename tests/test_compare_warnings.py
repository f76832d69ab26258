"""What `python -m jaxeval.compare` warns of before its verdict."""

from pathlib import Path

import numpy as np
import pytest

from tests import comparing


@pytest.mark.parametrize(("column", "warned"), [("split", True), ("fold", False)])
def test_splits_of_one_corpus_are_not_called_independent(
    tmp_path: Path, capsys: pytest.CaptureFixture, column: str, warned: bool
) -> None:
    """Dies if random splits pass for new data without a word, or folds are warned of."""
    draw = np.random.default_rng(3)
    rows = [f"{model},{k},{draw.normal(0.8, 0.05):.4f}" for model in "AB" for k in range(6)]
    path = tmp_path / "splits.csv"
    path.write_text("\n".join([f"model,{column},score", *rows]))
    tree = comparing.json_of(capsys, "--table", path)
    assert tree["unit"] == "split"
    assert warned == any("where they overlap" in line for line in tree["warnings"])


@pytest.mark.parametrize(("n", "sd", "warned"), [(30, 4, True), (9, 4, False), (30, 1, False)])
def test_a_small_sample_that_is_the_wider_one_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture, n: int, sd: float, warned: bool
) -> None:
    """Dies if p-values that are far too small are printed without a word, or all are doubted."""
    rows = [f"A,{0.8 + sd * k / 1000}" for k in (-1.5, -0.7, 0, 0.7, 1.5)]
    rows += [f"B,{0.7 + (k / n - 0.5) / 250}" for k in range(n)]
    for turned in (rows, rows[::-1]):
        path = tmp_path / "wide.csv"
        path.write_text("\n".join(["model,score", *turned]))
        warnings = comparing.json_of(capsys, "--table", path)["warnings"]
        assert warned == any("the 5 scores of A are spread 2 times" in line for line in warnings)
