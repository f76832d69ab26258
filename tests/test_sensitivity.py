"""`python -m jaxeval.sensitivity`: one sweep, two sweeps, declarations, bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import DataError, JaxevalError
from jaxeval.sensitivity import __main__ as sensitivity


def _sweep(folder: Path, name: str, top: float = 1.0) -> str:
    draw = np.random.default_rng(len(name))
    rows = ["acc\trate\tscheduler\tfactor"]
    for k in range(40):
        scheduler = ("none", "plateau", "warm")[k % 3]
        score = "" if k == 7 else f"{top * draw.beta(5, 1):.3f}"
        factor = f"{draw.uniform():.2f}" if scheduler == "plateau" else ""
        rows.append(f"{score}\t{10 ** draw.uniform(-5, -2):.2e}\t{scheduler}\t{factor}")
    path = folder / name
    path.write_text("\n".join(rows) + "\n")
    return str(path)


WORDS = ["--score", "acc", "--missing", "zero", "--ks", "5,10,80", "--resamples", "50"]
NAMED = ["--hyperparameters", "rate,scheduler,factor"]


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert sensitivity.main([*words, "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_json_has_the_fixed_names(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a key that others build on is renamed, or leaves percent."""
    tree = _json(capsys, _sweep(tmp_path, "a.tsv"), *WORDS, *NAMED)
    assert tree["n"] == 40 and 50 < tree["mean"] < tree["max"] <= 100
    assert set(tree["rel_at_k"]) == set(tree["mean_at_k"]) == {"5", "10"}
    assert tree["skipped_ks"] == [80] and tree["share_zero"] == 2.5
    assert 0 <= tree["expected_equivalent"] <= 100 and 0 <= tree["best_equivalent"] <= 100
    for name in ("rate", "scheduler", "factor"):
        assert {"rho", "maxima", "mean_change"} <= set(tree["by_hyperparameter"][name])
    assert tree["by_hyperparameter"]["scheduler"]["maxima"] is None
    assert "by_hyperparameter.rate.rho" in tree["intervals"]


def test_columns_that_nothing_reads_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the runs of two models pass for one sweep in silence."""
    path = tmp_path / "ab.csv"
    rows = [f"{'AB'[k % 2]},{k},d,{0.5 + 0.01 * k}" for k in range(16)]
    path.write_text("\n".join(["model,rate,data,score", *rows]) + "\n")
    said = "ab: its 16 runs are taken for one sweep; not read: "
    for words, unread in (((), "model, rate ("), (("--hyperparameters", "rate"), "model (")):
        assert sensitivity.main([str(path), "--resamples", "9", *words]) == 0
        assert said + unread in " ".join(capsys.readouterr().out.split())
    assert (
        sensitivity.main([str(path), "--resamples", "9", "--hyperparameters", "rate,model"]) == 0
    )
    assert "not read" not in capsys.readouterr().out


def test_names_may_be_parted_by_spaces_and_json_go_to_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if `--hyperparameters A B --json` is not `--hyperparameters A,B --json -`."""
    path = _sweep(tmp_path, "a.tsv")
    by_comma = _json(capsys, path, *WORDS, *NAMED)
    words = [path, *WORDS, "--hyperparameters", "rate", "scheduler,factor", "--json"]
    assert sensitivity.main(words) == 0
    assert json.loads(capsys.readouterr().out) == by_comma


def test_orders_and_conditions_by_flag_or_file(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a declared order or condition is not kept to."""
    path = _sweep(tmp_path, "a.tsv")
    order, when = "scheduler=none,plateau,warm", "factor:scheduler=plateau"
    flags = _json(capsys, path, *WORDS, *NAMED, "--order", order, "--when", when)
    declared = tmp_path / "d.toml"
    declared.write_text(
        '[scheduler]\nchoices = ["none", "plateau", "warm"]\nordered = true\n'
        "[rate]\nlog_uniform = [1e-5, 1e-2]\n"
        '[factor]\nuniform = [0, 1]\nwhen = { scheduler = ["plateau"] }\n'
    )
    file = _json(capsys, path, *WORDS, *NAMED, "--space", str(declared))
    assert flags == file
    assert set(_json(capsys, path, *WORDS, "--space", str(declared))["by_hyperparameter"]) == {
        *("scheduler", "rate", "factor")  # the space names the columns
    }
    assert flags["by_hyperparameter"]["factor"]["n"] == 13
    assert flags["by_hyperparameter"]["scheduler"]["maxima"] is not None


def test_two_sweeps_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the difference is missing, or a figure is."""
    a, b = _sweep(tmp_path, "a.tsv"), _sweep(tmp_path, "bb.tsv", 0.5)
    tree = _json(capsys, a, b, *WORDS, *NAMED)
    gap = tree["difference"]["mean"]
    assert gap["estimate"] == pytest.approx(tree["sweeps"][0]["mean"] - tree["sweeps"][1]["mean"])
    assert gap["interval"]["low"] > 0
    out = tmp_path / "figures"
    assert sensitivity.main([a, b, *WORDS, *NAMED, "--figures", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "A - B" in shown and "1 unusable scores counted as 0, the first in row 9" in shown
    assert {p.stem for p in out.iterdir()} == {"ranks", "profile", "marginals", "near_best"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["S", "--score", "acc"], "row 9, column acc: missing"),
        (["S", "--score", "accuracy"], "no column 'accuracy'; expected one of acc"),
        (["S", *WORDS, "--hyperparameters", "rat"], "no column 'rat'; did you mean rate"),
        (["S", *WORDS, "--order", "warm=1"], "warm: no such hyperparameter"),
        (["S", *WORDS, "--when", "factor"], "expected NAME:OTHER=A,B"),
        (["S", "S", *WORDS], "expected once, got twice"),
        (
            ["P", "--hyperparameters", "rate"],
            "p.csv: row 3, column score: expected fractions from 0 to 1, found 85.645; divide",
        ),
        (["P", "S", *NAMED], "p.csv: row 3"),
        (["P", "--hyperparameters", "score"], "p.csv: row 3"),
        (
            ["S", *WORDS, "--hyperparameters", "rate,acc"],
            "--hyperparameters acc: these are the scores",
        ),
        (
            ["S", *WORDS, *NAMED, "--when", "factor:scheduler=platau"],
            "scheduler is never 'platau'; it is none, plateau, warm",
        ),
        (
            ["S", *WORDS, *NAMED, "--when", "factor:scheduler=x,y"],
            "scheduler is never 'x'",
        ),
        (["S", *WORDS, *NAMED, "--by", "language"], "language: s has no such label; it has none"),
        (["S", *WORDS, "--space", "D"], "rate.orders: unknown key"),
        (["S", *WORDS, "--rope", "-1"], "rope"),
        (["S", *WORDS, "--rope", "1"], "--rope 1: the scores are fractions; 1 point is 0.01"),
        (["S", *WORDS, "--json", "S"], "expected a name that ends in .json"),
    ],
)
def test_bad_input_is_explained(tmp_path: Path, words: list[str], message: str) -> None:
    """Dies if one of these is a traceback or goes on."""
    declared = tmp_path / "d.toml"
    declared.write_text("[rate]\norders = [1]\n")
    (tmp_path / "p.csv").write_text("rate,score\n1,0.9\n2,85.645\n3,86\n")
    paths = {"P": str(tmp_path / "p.csv"), "S": _sweep(tmp_path, "s.tsv"), "D": str(declared)}
    with pytest.raises(JaxevalError, match=message):
        sensitivity.main([paths.get(word, word) for word in words])


@pytest.mark.parametrize(
    ("score", "said"),
    [("87.5", "found 87.5; divide"), ("1.0000000000000002", "1.0000000000000002$")],
)
def test_a_score_beyond_1_is_shown_as_it_is(tmp_path: Path, score: str, said: str) -> None:
    """Dies if a rounding above 1 is a percentage, or is said to be 1."""
    path = tmp_path / "s.csv"
    path.write_text(f"score,size\n0.5,1\n{score},2\n0.25,3\n")
    with pytest.raises(DataError, match=f"row 3, column score: .*{said}"):
        sensitivity.main([str(path), "--hyperparameters", "size"])


def test_a_condition_may_name_a_value_that_was_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a sweep that happens to lack one of a condition's values is refused."""
    words = [_sweep(tmp_path, "s.tsv"), *WORDS, *NAMED]
    printed = []
    for values in ("plateau", "plateau,x"):
        sensitivity.main([*words, "--when", f"factor:scheduler={values}"])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
