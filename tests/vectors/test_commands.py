"""`jaxeval vectors`: from files to tables and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval import vectors_analogies, vectors_similarity, vectors_svd
from jaxeval.__main__ import main
from jaxeval.errors import ConfigError, DataError, RunError


def _called(*words: object) -> int:
    return main(["vectors", *map(str, words)])


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
    (tmp_path / "few.txt").write_text("w0 1 2 3 4\nw1 0 0 0 0\nw0 4 3 2 1\n")
    return tmp_path


def test_notes_are_in_the_order_of_the_files(folder: Path) -> None:
    """Dies if notes come in another order each time."""
    others = [folder / f"n{k}.txt" for k in range(6)]
    for path in others:
        path.write_text("none 1 2 3 4\n")
    found = vectors_similarity(folder / "a.txt", folder / "pairs.tsv", against=others)
    notes = [note for note in found.document().notes if "is not compared" in note]
    assert [note.split()[2] for note in notes] == ["a", *(path.stem for path in others)]


def test_similarity(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the coverage or the difference is not shown, JSON differs, a file is silently left
    out, zeros count as covered, or it is not said of which rho the interval is."""
    words = [folder / "a.txt", folder / "pairs.tsv", "--resamples", 199, "--against"]
    assert _called("similarity", *words, f"{folder / 'b.txt'},{folder / 'few.txt'}") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "66 of 67" in shown
        and "95 % CI of covered" in shown
        and "1.0000" in shown
        and "a is better than b" in shown
    )
    assert "few is not compared: no score on what it and another" in shown
    assert "few: 1 word has a vector of zeros" in shown
    assert "few: 1 line repeats a word, of which the first vector counts" in shown
    (folder / "b.txt").rename(folder / "b,2.txt")  # no list of two files
    assert _called("similarity", *words, folder / "b,2.txt", "--json", "-") == 0
    (folder / "b,2.txt").rename(folder / "b.txt")
    tree = json.loads(capsys.readouterr().out)
    tree = json.loads(json.dumps(tree).replace("b,2", "b"))
    [result] = tree["results"]
    assert result["scores"]["a"]["skip"] == pytest.approx(1)
    assert result["scores"]["a"]["covered"] == 66
    assert result["differences"][0]["test"]["direction"] == 1
    assert tree["resamples"] == 199 and tree["files"]["b"] == str(folder / "b.txt")
    cased = vectors_similarity(folder / "a.txt", folder / "pairs.tsv", keep_case=True, resamples=9)
    assert cased.results[0].scores["a"].covered == 0 and repr(cased) == "pairs: covered 0 of 67"


def test_analogies(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if both methods or both denominators are not shown, or sections without --details."""
    words = ["analogies", folder / "a.txt", folder / "questions.txt", "--resamples", 99]
    assert _called(*words, "--details") == 0
    shown = capsys.readouterr().out
    assert shown.count("90 of 91") == 8 and "3CosAdd" in shown and "3CosMul" in shown
    assert _called(*words) == 0
    assert capsys.readouterr().out.count("90 of 91") == 6
    found = vectors_analogies(
        folder / "a.txt", folder / "questions.txt", against=[folder / "b.txt"], resamples=99
    )
    assert [of.method for of in found.results] == ["3CosAdd", "3CosMul"]
    right = found.results[0].scores["a"].overall.right
    assert f"{right} {right / 90:.4f} {right / 91:.4f}" in " ".join(shown.split())
    assert repr(found) == "No difference between a and b was shown on either score."
    assert [of.differences[0].a for of in found.results] == ["a"] * 2


def test_svd(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if an argument does not reach what it names."""
    corpus, out = folder / "c.txt", folder / "svd.txt"
    words = np.random.default_rng(0).choice([f"W{k}" for k in range(12)], (200, 8))
    corpus.write_text("\n".join(map(" ".join, words)))
    options = [
        "--dimension",
        "3",
        "--min-count",
        "5",
        "--window",
        "4",
        "--lower-case",
        "--json",
        "-",
    ]
    assert _called("svd", corpus, "--output", out, *options) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["counted"]["words"] == 12 and tree["counted"]["tokens"] == 1600
    assert out.read_text().split()[:3] in (["12", "3", f"w{k}"] for k in range(12))
    narrow = vectors_svd(corpus, output=folder / "n.txt", dimension=3, min_count=5, window=1)
    assert narrow.counted.pairs <= tree["counted"]["pairs"]
    assert (folder / "n.txt").read_text().split()[2][0] == "W"
    found = vectors_similarity(out, folder / "pairs.tsv", resamples=9)
    assert found.results[0].scores["svd"].covered == 66


def test_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the same file is compared with itself, words are taken for scores, a corpus is
    overwritten, or counted though the vectors cannot be written."""
    monkeypatch.chdir(folder)
    Path("link.txt").symlink_to("a.txt")
    for again in ("a.txt", "link.txt"):
        with pytest.raises(ConfigError, match=f"a.txt and {again} are the same file of vectors"):
            vectors_similarity("a.txt", "pairs.tsv", against=[again])
    with pytest.raises(ConfigError, match=r"pairs\.tsv are the same file of pairs; expected"):
        vectors_similarity("a.txt", "pairs.tsv", "pairs.tsv")
    with pytest.raises(ConfigError, match="expected a file of pairs"):
        vectors_similarity("a.txt")
    with pytest.raises(ConfigError, match="score_column=2: expected 3 or more"):
        vectors_similarity("a.txt", "pairs.tsv", score_column=2)
    with pytest.raises(DataError, match="expected ': section' or four words"):
        vectors_analogies("a.txt", "pairs.tsv")
    with pytest.raises(ConfigError, match="output='-': expected a file"):
        vectors_svd("none.txt", output="-")
    with pytest.raises(RunError, match=r"a\.txt/v: cannot be written"):
        vectors_svd("none.txt", output="a.txt/v")
    with pytest.raises(ConfigError, match=r"link\.txt: would be replaced, and it is read"):
        vectors_svd("a.txt", output="link.txt")
