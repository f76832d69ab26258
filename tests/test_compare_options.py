"""`jaxeval compare options`: configurations that differ in one column are pairs."""

from pathlib import Path

import numpy as np
import pytest

import jaxeval
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
    asked = ["--option", "batch", "--score", "f1", "--group", "set"]
    words = ["options", _networks(tmp_path), *asked]
    tree = comparing.json_of(capsys, *words, "--ignore", "ID")
    first = tree["groups"][0]
    assert (first["group"], first["n"], first["best"]) == (["pos"], 3, "8")
    assert [option["value"] for option in first["options"]] == ["8", "32"]
    assert first["options"][0]["wins"] == 1.0
    loser = first["options"][1]
    assert loser["median_difference"] == pytest.approx(-0.01, abs=0.005)
    assert loser["adjusted"]["sign_test"] >= loser["sign_test"]["p_value"]
    assert tree["seed_effect"][0]["configurations"] == 6
    shown = comparing.shown(capsys, *words, "--ignore", "ID")
    assert shown.startswith("pos: batch 8 wins in 100.0 % of 3 configurations")
    with pytest.raises(JaxevalError, match="no column 'IDD'; did you mean ID"):
        comparing.main(*words, "--ignore", "IDD")
    header, *rows = (line.split("\t") for line in words[1].read_text().splitlines())
    records = [dict(zip(header, row, strict=True)) for row in rows]
    found = jaxeval.compare_options(
        records, option="batch", score="f1", group=["set"], ignore=["ID"]
    )
    assert shown.startswith(found.document().answer[0])


def test_a_tie_and_a_single_configuration(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the first of two values that win as often is the winner without a word, the sd of
    one configuration is 0, or the spread of two, which lie as far from their median, is tested."""
    path = tmp_path / "t.csv"
    words = ["options", str(path), "--option", "act", "--score", "acc"]
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\na,2,0.6\nb,2,0.7\n")
    (tied,) = comparing.json_of(capsys, *words)["groups"]
    assert tied["as_often"] == ["a", "b"] and tied["best"] == "a"
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\na,2,0.6\nb,2,0.53\n")
    (two,) = comparing.json_of(capsys, *words)["groups"]
    assert [two["options"][1][name] is None for name in ("sign_test", "brown_forsythe")] == [0, 1]
    assert two["as_often"] == ["a"]
    path.write_text("act,set,acc\na,1,0.5\nb,1,0.4\n")
    (one,) = comparing.json_of(capsys, *words)["groups"]
    assert [option["sd"] for option in one["options"]] == [None, None]


@pytest.mark.parametrize(
    ("column", "cell", "score", "flag", "higher", "assumed"),
    [
        ("higher_is_better", "false", "f1", None, False, False),
        ("higher_is_better", "false", "points", "--lower-is-better", False, False),
        ("metric", "nll", "points", None, False, False),
        ("metric", "cosine", "points", None, True, True),
        ("backend", "x", "loss", "--no-lower-is-better", True, False),
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
    words = [path, "--score", score, *([flag] if flag else [])]
    options = comparing.json_of(capsys, "options", *words, "--option", "size")
    assert (options["higher_is_better"], options["direction_assumed"]) == (higher, assumed)
    tree = comparing.json_of(capsys, *words, "--column", "model=size")
    assert (tree["higher_is_better"], tree["direction"] == "assumed") == (higher, assumed)
    assert options["groups"][0]["best"] == ("2" if higher else "1")


def test_a_recorded_direction_is_not_contradicted(tmp_path: Path) -> None:
    """Dies if a flag turns what is recorded, or a distance that is studied is a metric."""
    path = tmp_path / "nets.csv"
    rows = [f"{m},{k},{k + (m == 'l1')}" for m in ("l1", "mse") for k in range(8)]
    path.write_text("metric,k,points\n" + "\n".join(rows) + "\n")
    words = ["options", str(path), "--option", "metric", "--score", "points"]
    assert comparing.main(*words) == 0
    recorded = [f"{row},false" for row in rows]
    path.write_text("metric,k,points,higher_is_better\n" + "\n".join(recorded) + "\n")
    with pytest.raises(JaxevalError, match="the table says that lower points is better"):
        comparing.main(*words, "--no-lower-is-better")
