"""`jaxeval compare options`: configurations that differ in one column are pairs."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import JaxevalError
from tests import comparing


def _networks(folder: Path) -> Path:
    draw = np.random.default_rng(4)
    rows = ["ID\tbatch\tlayers\tbackend\tset\tf1"]
    for k, (data, layers, batch, seed) in enumerate(
        (d, la, b, s) for d in ("pos", "ner") for la in "123" for b in ("32", "8") for s in (1, 2)
    ):
        f1 = 0.8 + 0.01 * (batch == "8") + 0.02 * int(layers) + 0.001 * draw.normal()
        backend = ("Theano", "theano")[seed - 1]
        rows.append(f"{k}\t{batch}\t{layers}\t{backend}\t{data}\t{f1:.5f}")
    path = folder / "networks.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_options_pairs_configurations(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if ids or the case of a column keep configurations apart."""
    path = str(_networks(tmp_path))
    words = ["options", "--table", path, "--option", "batch", "--score", "f1", "--group", "set"]
    words += ["--ignore", "ID", "--fold-case", "backend"]
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
        (["--fold-case", "nope"], "no column 'nope'"),
        (["--ignore", "IDD"], "no column 'IDD'; did you mean ID"),
        (["--ignore", "backend"], "leave columns that depend on the option out"),
    ):
        with pytest.raises(JaxevalError, match=message):
            compare.main([*words, *change])
