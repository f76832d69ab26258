"""`jaxeval vectors`: three verbs from files to tables and JSON."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError, RunError
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
    tree = json.loads(capsys.readouterr().out)
    [result] = tree["results"]
    assert result["scores"]["a.txt"]["skip"] == pytest.approx(1)
    assert result["scores"]["a.txt"]["covered"] == result["compared_on"] == 66
    assert result["differences"][0]["test"]["direction"] == 1
    assert tree["rules"]["resampling"]["resamples"] == 199 and tree["files"]["b.txt"] == str(
        folder / "b.txt"
    )


def test_analogies(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if both methods or both denominators are not shown."""
    files = [str(folder / name) for name in ("a.txt", "questions.txt")]
    assert command.main(["analogies", *files, "--resamples", "99", "--details"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("90 of 91") == 4 and "3CosAdd" in shown and "3CosMul" in shown
    assert command.main(["analogies", *files, "--most", "9", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    score = tree["results"][0]["scores"]["a.txt"]
    assert tree["rules"]["most"] == 9 and score["overall"]["covered"] < 90


def test_equal_answers_have_no_interval(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if no right answer of one question has an interval of width zero, or one that is not
    there is warned of."""
    (folder / "one.txt").write_text(": gram\nw0 w1 w2 w2\n")
    words = ["analogies", str(folder / "a.txt"), str(folder / "one.txt")]
    assert command.main(words) == 0
    shown = capsys.readouterr().out
    assert "fewer than 20 questions" not in shown and "[0" not in shown
    assert "one.txt, 3CosAdd: a.txt: no 95 % CI: " in shown
    assert command.main([*words, "--json", "-"]) == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        interval = result["scores"]["a.txt"]["interval"]
        assert interval["low"] is None and interval["method"].startswith("none: ")


@pytest.mark.parametrize(
    ("file", "others", "few"),
    [
        ("first.txt", [], ""),  # 42 questions
        ("first.txt", ["last.txt"], "of the differences"),  # 12 that both cover
        ("five.txt", [], "of five.txt"),  # 12
        ("five.txt", ["none.txt"], "of five.txt"),
        ("five.txt", ["last.txt"], "of five.txt"),  # none that both cover
        ("three.txt", [], ""),  # 2, too few for an interval
    ],
)
def test_few_questions_are_told(
    folder: Path, capsys: pytest.CaptureFixture, file: str, others: list[str], few: str
) -> None:
    """Dies if intervals of few questions are not told of, or scores and differences that have no
    interval, or many questions, are."""
    rows = [(folder / name).read_text().split("\n") for name in ("a.txt", "b.txt")]
    parts = {"first": rows[0][:8], "last": rows[1][3:], "five": rows[0][:5], "three": rows[0][:3]}
    for name, part in {**parts, "none": ["x 1 2 3 4"]}.items():
        (folder / f"{name}.txt").write_text("\n".join(part))
    call = ["analogies", *(str(folder / name) for name in (file, "questions.txt"))]
    against = ["--against", *(str(folder / other) for other in others)] if others else []
    assert command.main([*call, *against, "--resamples", "199"]) == 0
    shown = capsys.readouterr().out
    line = f"questions.txt, 3CosAdd: fewer than 20 questions: the 95 % CIs {few} are too narrow\n"
    assert line in shown if few else "fewer than 20" not in shown


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
    tree = json.loads(capsys.readouterr().out)
    assert tree["zero_vectors"] == {"a.txt": 0, "b.txt": 0, "few.txt": 1}
    assert tree["results"][0]["left_out"] == [{"file": "few.txt", "compared_on": 0}]


def test_svd(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if an argument does not reach what it names."""
    corpus, out = folder / "c.txt", folder / "svd.txt"
    words = np.random.default_rng(0).choice([f"W{k}" for k in range(12)], (200, 8))
    corpus.write_text("\n".join(map(" ".join, words)))
    call = ["svd", str(corpus), "--out", str(out), "--dimension", "3", "--processes", "1"]
    options = "--min-count 5 --window 4 --dynamic --subsample .05 --delete --smoothing .5 --seed 2"
    more = "--shift 1.01 --exponent .25 --add-contexts --lower-case --json -"
    assert command.main([*call, *options.split(), *more.split()]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["words"] == 12 and tree["tokens"] == 1600 and out.read_text()[:5] == "12 3\n"
    assert tree["options"] == {
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


def test_sets_have_names_of_their_own(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if two sets of one file name are told alike, or a header is not told."""
    (folder / "x").mkdir()
    pairs = [str(folder / "pairs.tsv"), str(folder / "x" / "pairs.tsv")]
    Path(pairs[1]).write_text("word1\tword2\tSimLex999\n" + Path(pairs[0]).read_text())
    quick = ["--resamples", "9", "--json", "-"]
    assert command.main(["similarity", str(folder / "a.txt"), *pairs, *quick]) == 0
    shown = capsys.readouterr()
    assert [result["name"] for result in json.loads(shown.out)["results"]] == pairs
    assert shown.err == f"{pairs[1]}: taken as a header: 'word1\\tword2\\tSimLex999'\n"
    questions = [str(folder / "questions.txt"), str(folder / "x" / "questions.txt")]
    Path(questions[1]).write_text(Path(questions[0]).read_text())
    assert command.main(["analogies", str(folder / "a.txt"), *questions, *quick]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result["name"] for result in results] == [questions[k] for k in (0, 0, 1, 1)]


def test_refused(folder: Path) -> None:
    """Dies if the same file is compared with itself, or words are taken for scores."""
    a, pairs = str(folder / "a.txt"), str(folder / "pairs.tsv")
    (folder / "link.txt").symlink_to(a)
    for again in (a, f"{folder}/./x/../a.txt", str(folder / "link.txt")):
        with pytest.raises(ConfigError, match=f"{a} and {again} are the same file of vectors"):
            command.main(["similarity", a, pairs, "--against", again])
    with pytest.raises(ConfigError, match=r"pairs\.tsv are the same file of pairs; expected"):
        command.main(["similarity", a, pairs, pairs])
    with pytest.raises(ConfigError, match="--column: expected 3 or more"):
        command.main(["similarity", a, pairs, "--column", "2"])
    with pytest.raises(DataError, match="expected ': section' or four words"):
        command.main(["analogies", a, pairs])


@pytest.mark.parametrize("options", [["--exponent", "1e9"], ["--exponent", "-.5"]])
def test_exponents_that_no_vectors_have(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture
) -> None:
    """Dies if a file of nan, or of zeros, is written."""
    with pytest.raises(SystemExit):
        command.main(["svd", str(folder / "a.txt"), "--out", str(folder / "v.txt"), *options])
    assert "expected a number from 0 to 1" in capsys.readouterr().err


def test_vectors_do_not_go_to_stdout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a file called - is written."""
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="--out -: expected a file"):
        command.main(["svd", "a.txt", "--out", "-"])


def test_a_scratch_folder_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if it is told after the words are counted, or in a traceback, or one that is missing is
    not made."""
    corpus = folder / "c.txt"
    corpus.write_text("a b\nb c\nc a\n" * 9)
    call = ["svd", str(corpus), "--out", str(folder / "v.txt"), "--min-count", "1"]
    call += ["--dimension", "1", "--processes", "1", "--scratch"]
    with pytest.raises(RunError, match=r"a\.txt: cannot be written \(Not a directory\)"):
        command.main([*call, str(folder / "a.txt")])
    assert command.main([*call, str(folder / "new" / "one")]) == 0
    assert not [*(folder / "new" / "one").iterdir()]

    def full(*_: object) -> None:
        raise OSError("1000 requested and 300 written")  # numpy's, without a number

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(
        RunError, match=r"/new/one/jaxeval-\w+: cannot be written \(1000 requested"
    ):
        command.main([*call, str(folder / "new" / "one")])


def test_long_work_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a step is not told, here as soon as it begins."""
    monkeypatch.setattr(threading, "Timer", _Now)
    names = [str(folder / name) for name in ("a.txt", "pairs.tsv", "questions.txt", "c.txt")]
    quick = ["--resamples", "9"]
    assert command.main(["similarity", *names[:2], *quick]) == 0
    reading = f"reading {names[0]} ..."
    assert capsys.readouterr().err.splitlines() == [reading, "resampling ..."]
    assert command.main(["analogies", names[0], names[2], *quick]) == 0
    answering = [f"answering questions.txt with a.txt, {m} ..." for m in ("3CosAdd", "3CosMul")]
    assert capsys.readouterr().err.splitlines() == [reading, *answering, "resampling ..."]
    (folder / "c.txt").write_text("a b\nb c\nc a\n" * 9)
    out = ["--out", str(folder / "v.txt"), "--min-count", "1", "--dimension", "1"]
    assert command.main(["svd", names[3], *out, "--processes", "1"]) == 0
    steps = [f"{names[3]}: {step} ..." for step in ("words", "pairs", "SVD", "writing")]
    assert capsys.readouterr().err.splitlines() == steps


class _Now:
    """A timer that does not wait."""

    def __init__(self, seconds: float, function: Any, words: Any, options: Any) -> None:
        self.start = lambda: function(*words, **options)

    def cancel(self) -> None:
        pass


def test_vectors_that_cannot_be_written_are_not_made(folder: Path) -> None:
    """Dies if a corpus is counted first; the one here is not even there."""
    with pytest.raises(RunError, match=r"a\.txt/v: cannot be written"):
        command.main(["svd", str(folder / "none.txt"), "--out", str(folder / "a.txt" / "v")])
