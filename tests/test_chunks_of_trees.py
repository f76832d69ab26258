"""Base phrases of a treebank, against phrases marked by hand."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
TREE = """\
# text = The very old man's two dogs will not have barked at us, and fled.
1\tThe\tthe\tDET\t_\t_\t4\tdet\t_\t_
2\tvery\tvery\tADV\t_\t_\t3\tadvmod\t_\t_
3\told\told\tADJ\t_\t_\t4\tamod\t_\t_
4-5\tman's\t_\t_\t_\t_\t_\t_\t_\t_
4\tman\tman\tNOUN\t_\t_\t7\tnmod:poss\t_\t_
5\t's\t's\tPART\t_\t_\t4\tcase\t_\t_
6\ttwo\ttwo\tNUM\t_\t_\t7\tnummod\t_\t_
7\tdogs\tdog\tNOUN\t_\t_\t11\tnsubj\t_\t_
8\twill\twill\tAUX\t_\t_\t11\taux\t_\t_
9\tnot\tnot\tPART\t_\t_\t11\tadvmod\t_\t_
10\thave\thave\tAUX\t_\t_\t11\taux\t_\t_
11\tbarked\tbark\tVERB\t_\t_\t0\troot\t_\t_
12\tat\tat\tADP\t_\t_\t13\tcase\t_\t_
13\tus\twe\tPRON\t_\t_\t11\tobl\t_\t_
14\t,\t,\tPUNCT\t_\t_\t16\tpunct\t_\t_
14.1\tthey\tthey\tPRON\t_\t_\t_\t_\t_\t_
15\tand\tand\tCCONJ\t_\t_\t16\tcc\t_\t_
16\tfled\tflee\tVERB\t_\t_\t11\tconj\t_\t_
"""
CHUNKS = """\
The B-NP, very I-NP, old I-NP, man I-NP, 's I-NP, two I-NP, dogs I-NP, will B-VP, not I-VP,
have I-VP, barked I-VP, at B-PP, us B-NP, , O, and O, fled B-VP"""


def test_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a possessor, an adverb of degree, an auxiliary or "not" leaves its phrase, one goes
    on behind a word between, or ranges and empty nodes are words."""
    monkeypatch.syspath_prepend(FOLDER)
    chunks = importlib.import_module("chunks_of_trees")
    for part in ("train", "dev", "test"):
        (tmp_path / f"x-{part}.conllu").write_text(TREE + "\n" + TREE + "\n")
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path), "--out", str(tmp_path / "out")])
    chunks.main()
    first, second = (tmp_path / "out" / "dev.txt").read_text().strip().split("\n\n")
    expected = CHUNKS.replace("\n", " ").replace(", , O", ", COMMA O").split(", ")
    assert first == second
    assert [" ".join(line.split("\t")) for line in first.splitlines()] == [
        line.replace("COMMA", ",") for line in expected
    ]
