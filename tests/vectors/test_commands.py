"""`jaxeval vectors`: three verbs from files to tables and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError
from jaxeval.vectors import __main__ as command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of vectors, a set of pairs, a set of questions."""
    generator = np.random.default_rng(0)
    table = generator.normal(size=(12, 4))
    for name, noise in (("a.txt", 0.0), ("b.txt", 5.0)):
        rows = table + noise * generator.normal(size=table.shape)
        lines = [f"W{k} " + " ".join(f"{x:.5f}" for x in row) for k, row in enumerate(rows)]
        (tmp_path / name).write_text("\n".join(lines))
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    pairs = [f"w{i}\tw{j}\t{unit[i] @ unit[j]:.6f}" for i in range(12) for j in range(i)]
    (tmp_path / "pairs.tsv").write_text("\n".join([*pairs, "w1\tnone\t5"]))
    questions = [f"w{i} w{i + 1} w{j} w{j + 1}" for i in range(10) for j in range(10) if i != j]
    (tmp_path / "questions.txt").write_text("\n".join([": gram", *questions, "w0 w1 w2 none"]))
    return tmp_path


def test_similarity(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the two rules, the coverage or the difference is not shown, or JSON differs."""
    files = [str(folder / name) for name in ("a.txt", "pairs.tsv")]
    extra = ["--against", str(folder / "b.txt"), "--resamples", "199"]
    assert command.main(["similarity", *files, *extra]) == 0
    shown = capsys.readouterr().out
    assert "66 of 67" in shown and "1.0000" in shown and "a.txt is better" in shown
    assert command.main(["similarity", *files, *extra, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    [result] = told["results"]
    assert result["scores"]["a.txt"]["skip"] == pytest.approx(1)
    assert result["scores"]["a.txt"]["covered"] == result["compared_on"] == 66
    assert result["differences"][0]["test"]["direction"] == 1
    assert told["rules"]["resampling"]["resamples"] == 199 and told["files"]["b.txt"] == str(
        folder / "b.txt"
    )


def test_analogies(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if both methods or both denominators are not shown."""
    files = [str(folder / name) for name in ("a.txt", "questions.txt")]
    assert command.main(["analogies", *files, "--resamples", "99", "--details"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("90 of 91") == 4 and "3CosAdd" in shown and "3CosMul" in shown
    assert command.main(["analogies", *files, "--most", "9", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    score = told["results"][0]["scores"]["a.txt"]
    assert told["rules"]["most"] == 9 and score["overall"]["covered"] < 90


@pytest.mark.parametrize("verb", ["similarity", "analogies"])
def test_files_left_out_and_vectors_of_zeros_are_named(
    verb: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a file is silently left out, or zeros count as covered."""
    (folder / "few.txt").write_text("w0 1 2 3 4\nw1 0 0 0 0\n")
    items = {"similarity": "pairs.tsv", "analogies": "questions.txt"}[verb]
    call = [verb, *(str(folder / name) for name in ("a.txt", items)), "--resamples", "99"]
    call += ["--against", str(folder / "b.txt"), str(folder / "few.txt")]
    assert command.main(call) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "few.txt is left out of the differences: no score on the 0 " in shown
    assert "a.txt - b.txt = " in shown and "few.txt: 1 word has a vector of zeros" in shown
    assert command.main([*call, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["zero_vectors"] == {"a.txt": 0, "b.txt": 0, "few.txt": 1}
    assert told["results"][0]["left_out"] == [{"file": "few.txt", "compared_on": 0}]


def test_svd(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if an argument does not reach what it names."""
    corpus, out = folder / "c.txt", folder / "svd.txt"
    words = np.random.default_rng(0).choice([f"W{k}" for k in range(12)], (200, 8))
    corpus.write_text("\n".join(map(" ".join, words)))
    call = ["svd", str(corpus), "--out", str(out), "--dimension", "3", "--processes", "1"]
    options = "--min-count 5 --window 4 --dynamic --subsample .05 --delete --smoothing .5 --seed 2"
    more = "--shift 1.01 --exponent .25 --add-contexts --lower-case --json -"
    assert command.main([*call, *options.split(), *more.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["words"] == 12 and told["tokens"] == 1600 and out.read_text()[:5] == "12 3\n"
    assert told["options"] == {
        "windows": {"size": 4, "dynamic": True, "subsample": 0.05, "delete": True, "seed": 2},
        "min_count": 5,
        "lower_case": True,
        "smoothing": 0.5,
        "shift": 1.01,
        "dimension": 3,
        "exponent": 0.25,
        "add_contexts": True,
    }
    assert command.main(["similarity", str(out), str(folder / "pairs.tsv")]) == 0


def test_refused(folder: Path) -> None:
    """Dies if the same file is compared with itself, or words are taken for scores."""
    a, pairs = str(folder / "a.txt"), str(folder / "pairs.tsv")
    with pytest.raises(ConfigError, match="twice"):
        command.main(["similarity", a, pairs, "--against", a])
    with pytest.raises(ConfigError, match="--column: expected 3 or more"):
        command.main(["similarity", a, pairs, "--column", "2"])
    with pytest.raises(DataError, match="expected ': section' or four words"):
        command.main(["analogies", a, pairs])
