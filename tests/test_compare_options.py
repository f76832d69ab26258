"""`jaxeval compare options`: configurations that differ in one column are pairs."""

import re
from pathlib import Path

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import JaxevalError
from tests import comparing


def _networks(folder: Path) -> Path:
    draw = np.random.default_rng(4)
    rows = ["ID\tbatch\tlayers\tbackend\tset\tf1"]
    for k, (data, layers, batch, _) in enumerate(
        (d, la, b, s) for d in ("pos", "ner") for la in "123" for b in ("32", "8") for s in (1, 2)
    ):
        f1 = 0.8 + 0.01 * (batch == "8") + 0.02 * int(layers) + 0.001 * draw.normal()
        backend = "theano"
        rows.append(f"{k}\t{batch}\t{layers}\t{backend}\t{data}\t{f1:.5f}")
    path = folder / "networks.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_options_pairs_configurations(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if ids keep configurations apart."""
    path = str(_networks(tmp_path))
    words = ["options", "--table", path, "--option", "batch", "--score", "f1", "--group", "set"]
    words += ["--ignore", "ID"]
    tree = comparing.json_of(capsys, *words)
    first = tree["paired_options"][0]
    assert (first["group"], first["n"], first["best"]) == (["pos"], 3, "8")
    assert [option["value"] for option in first["options"]] == ["8", "32"]
    assert first["options"][0]["wins"] == 1.0
    loser = first["options"][1]
    assert loser["median_difference"] == pytest.approx(-0.01, abs=0.005)
    assert loser["sign_test"]["p_adjusted"] >= loser["sign_test"]["p_value"]
    assert tree["seed_effect"][0]["configurations"] == 6
    assert compare.main(words) == 0
    shown = capsys.readouterr().out
    assert "8 *" in shown and "what the seed alone does" in shown
    of_two_layers = comparing.json_of(capsys, *words, "--where", "layers=2")
    assert of_two_layers["paired_options"][0]["n"] == 1
    for change, message in (
        (["--where", "layers=9"], "layers=9: no row has this value"),
        (["--ignore", "IDD"], "no column 'IDD'; did you mean ID"),
        (["--ignore", "backend"], "or depend on the option out of the key: --ignore "),
    ):
        with pytest.raises(JaxevalError, match=message):
            compare.main([*words, *change])


def test_a_tie_and_a_single_configuration(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the first of two values that win as often is the winner without a word, the sd of
    one configuration is 0, or the spread of two, which lie as far from their median, is tested."""
    path = tmp_path / "t.csv"
    words = ["options", "--table", str(path), "--option", "act", "--score", "acc"]
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\na,2,0.6\nb,2,0.7\n")
    assert compare.main(words) == 0
    assert "all: a and b win as often; the first is named" in capsys.readouterr().out
    (tied,) = comparing.json_of(capsys, *words)["paired_options"]
    assert tied["level"] == ["a", "b"] and tied["best"] == "a"
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\na,2,0.6\nb,2,0.53\n")
    (two,) = comparing.json_of(capsys, *words)["paired_options"]
    assert [two["options"][1][name] is None for name in ("sign_test", "brown_forsythe")] == [0, 1]
    assert two["level"] == ["a"]
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\n")
    assert compare.main(words) == 0
    shown = capsys.readouterr().out
    assert "0.0000" not in shown and "win as often" not in shown
    (one,) = comparing.json_of(capsys, *words)["paired_options"]
    assert [option["sd"] for option in one["options"]] == [None, None]


def test_columns_that_part_the_options_are_named(tmp_path: Path) -> None:
    """Dies if the message does not say which columns to leave out: a measure, the rows' numbers;
    a setting that configurations share stays, and what is said does away with the error."""
    path = tmp_path / "t.csv"
    rows = [f"{k},{k % 3},{'ab'[k // 6]},{0.5 + k / 50},{k / 7:.3f}" for k in range(12)]
    path.write_text("\n".join(["run,layers,act,acc,loss", *rows]) + "\n")
    words = ["options", "--table", str(path), "--option", "act", "--score", "acc"]
    with pytest.raises(JaxevalError, match="as run, loss hardly take the same") as caught:
        compare.main(words)
    (advice,) = re.findall(r"--ignore \S+(?=,)", str(caught.value))
    assert advice == "--ignore run,loss"
    assert compare.main([*words, *advice.split()]) == 0


@pytest.mark.parametrize(
    ("column", "cell", "score", "flag", "higher", "assumed"),
    [
        ("higher_is_better", "false", "f1", None, False, False),
        ("higher_is_better", "True", "loss", None, True, False),
        ("higher_is_better", "false", "points", "--lower-is-better", False, False),
        ("metric", "nll", "points", None, False, False),
        ("metric", "nll", "points", "--higher-is-better", True, False),
        ("metric", "f1", "loss", None, True, False),
        ("metric", "cosine", "loss", None, False, False),
        ("metric", "cosine", "points", None, True, True),
        ("backend", "x", "loss", "--higher-is-better", True, False),
    ],
)
def test_the_direction_is_that_of_compare(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    column: str,
    cell: str,
    score: str,
    flag: str | None,
    higher: bool,
    assumed: bool,
) -> None:
    """Dies if a name comes before what is recorded, or the two verbs have rules of their own."""
    path = tmp_path / "nets.csv"
    rows = [f"{size},{k},{0.1 * k + size},{cell}" for size in (1, 2) for k in range(8)]
    path.write_text(f"size,k,{score},{column}\n" + "\n".join(rows) + "\n")
    words = ["--table", path, "--score", score, *([flag] if flag else [])]
    options = comparing.json_of(capsys, "options", *words, "--option", "size")
    compared = comparing.json_of(capsys, *words, "--column", "model=size")
    for tree in (options, compared):
        assert (tree["higher_is_better"], tree["direction_assumed"]) == (higher, assumed)
    assert options["paired_options"][0]["best"] == ("2" if higher else "1")


def test_a_recorded_direction_is_not_contradicted(tmp_path: Path) -> None:
    """Dies if a flag turns what is recorded, or a distance that is studied is a metric."""
    path = tmp_path / "nets.csv"
    rows = [f"{m},{k},{k + (m == 'l1')}" for m in ("l1", "mse") for k in range(8)]
    path.write_text("metric,k,points\n" + "\n".join(rows) + "\n")
    words = ["options", "--table", str(path), "--option", "metric", "--score", "points"]
    assert compare.main(words) == 0
    recorded = [f"{row},false" for row in rows]
    path.write_text("metric,k,points,higher_is_better\n" + "\n".join(recorded) + "\n")
    with pytest.raises(JaxevalError, match="the table says that lower points is better"):
        compare.main([*words, "--higher-is-better"])
