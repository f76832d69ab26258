"""The verb `plan`."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval import plan
from jaxeval.errors import DataError
from jaxeval.stats import items

Shown = pytest.CaptureFixture[str]


def _table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of A and B, 40 items, 3 and 4 runs; [I, R] of both."""
    generator = np.random.default_rng(0)
    a, b = (generator.random((40, runs)) < 0.7 for runs in (3, 4))
    rows = ["model,seed,item,correct"]
    for model, answers in (("A", a), ("B", b)):
        rows += [
            f"{model},{run},{item},{int(answers[item, run])}"
            for item, run in np.ndindex(answers.shape)
        ]
    path.write_text("\n".join(rows) + "\n")
    return a.astype(float), b.astype(float)


def test_millers_example(capsys: Shown) -> None:
    """Dies if sds are taken for variances: 969 items."""
    assert plan.main(["--difference", "0.03", "--sd-items", "0.33333333"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("more items alone"))
    assert row.split()[3:] == ["969", "1", "1", "1,938", "0.80"]
    assert "other runs may differ" in lines[-1]


def test_pilot_is_that_of_the_table(tmp_path: Path, capsys: Shown) -> None:
    """Dies if runs and items of the table are exchanged, or A - B is B alone."""
    a, b = _table(tmp_path / "items.csv")
    words = ["--items", str(tmp_path / "items.csv"), "--model", "A", "--minus", "B"]
    assert plan.main([*words, "--difference", "0.1", "--run-cost", "9", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    spread, now = items.spread(a, b)
    expected = items.plan(0.1, spread, now, items.Costs(run=9))
    assert found["runs"] == spread.runs and found["samples"] == 0
    assert [found["now"][name] for name in ("items", "runs", "samples")] == [40, 3, 1]
    assert expected.cheapest is not None
    assert found["cheapest"]["cost"] == expected.cheapest.cost


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--items FILE (a pilot) or --sd-items"),
        (["--sd-items", "1", "--model", "A"], "expected --items beside"),
        (["--sd-items", "1", "--sd-runs", "1"], "--fewest-runs 2"),
        (["--items", "x.csv"], "--model and --minus"),
        (["--items", "x.csv", "--model", "A", "--minus", "B", "--sd-runs", "1"], "no --sd"),
        (["--sd-items", "1", "--power", "1"], "between 0 and 1"),
    ],
)
def test_wrong_arguments_are_one_line(words: list[str], said: str, capsys: Shown) -> None:
    """Dies if a check is lost."""
    with pytest.raises(SystemExit) as stop:
        plan.main(["--difference", "0.1", *words])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_unknown_model_is_named(tmp_path: Path) -> None:
    """Dies if a model that the table lacks is taken as one without runs."""
    _table(tmp_path / "items.csv")
    words = ["--items", str(tmp_path / "items.csv"), "--model", "A", "--minus", "C"]
    with pytest.raises(DataError, match="no model 'C'; it has A, B"):
        plan.main([*words, "--difference", "0.1"])
