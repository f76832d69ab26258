"""`compare --ledger`: how often scores were looked at while they grew, and what holds then."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.stats import multiple, sequential
from tests import comparing

_SAID = "looked at"
_PAIRS = ("A", "B"), ("A", "C"), ("B", "C")


def test_a_table_that_grew_has_an_anytime_p(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a second look at the same scores counts, or one at more scores does not."""
    table, ledger = comparing.table(tmp_path, shift=0.005), tmp_path / "looks.json"
    rows = table.read_text().splitlines(keepends=True)
    words = [table, "A", "B", "--resamples", "99", "--ledger", ledger]
    table.write_text("".join([*rows[:7], *rows[13:19]]))
    assert _SAID not in comparing.shown(capsys, *words)
    assert _SAID not in comparing.shown(capsys, *words)
    table.write_text("".join([rows[0], *reversed(rows[1:])]))
    line, others = comparing.json_of(capsys, *words)["warnings"]
    assert others.startswith("tests of these pairs' spread")
    a, b = (np.array([float(row.split(",")[2]) for row in rows if row[0] == m]) for m in "AB")
    seen = sequential.looks(a, b)
    log_e = max(sequential.e_process(seen, alternative=side)[-1] for side in ("greater", "less"))
    expected = f"{min(1, 2 * math.exp(-log_e)):.3f}".lstrip("0")
    no = "the fixed-n p-value and the CI no longer hold"
    assert line == f"A, B: looked at 2 times: {no}; anytime p = {expected}"
    words[1:3] = ["B", "A"]
    assert f"B, A: {_SAID} 2 times" in comparing.shown(capsys, *words)
    assert len(json.loads(ledger.read_text())) == 1


def test_a_claim_that_several_looks_do_not_carry_is_withdrawn(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an answer or a verdict says "better" of what only a single look shows."""
    table, words = tmp_path / "t.csv", ["--margin", "1", "--ledger", tmp_path / "l"]
    for n in (7, 8):
        rows = [f"{m},{k},{k / 100 + (m == 'B') * 0.03}\n" for m in "AB" for k in range(n)]
        table.write_text("".join(["model,seed,score\n", *rows]))
        found = comparing.json_of(capsys, table, *words)
    (pair,) = found["pairs"]
    p = comparing.json_of(capsys, table)["pairs"][0]["p_adjusted"]
    assert p < 0.05 < pair["p_adjusted"]
    assert pair["shown"] == 0 and pair["looks"] == 2
    assert found["answer"][0].startswith("No difference between A and B was shown: score -0.03")
    assert (
        "anytime p = .298 (e-process of t, 8 runs each, looked at 2 times)" in found["answer"][0]
    )


def test_the_direction_after_several_looks_is_that_of_the_e_process(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a difference that the anytime p shows is not claimed, or for the lower mean."""
    table = tmp_path / "t.csv"
    for n in (7, 8):
        rows = [f"{m},{k},{k / 100 + (m == 'B') * 0.3}\n" for m in "AB" for k in range(n)]
        table.write_text("".join(["model,seed,score\n", *rows]))
        found = comparing.json_of(capsys, table, "--ledger", tmp_path / "l")
    assert found["answer"][0].startswith("B is better than A: score 0.300 higher")
    assert found["pairs"][0]["shown"] == -1 and found["pairs"][0]["p_adjusted"] < 0.05


@pytest.mark.parametrize(("margin", "equal"), [(0.01, True), (0.0012, False)])
def test_equivalence_holds_after_several_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture, margin: float, equal: bool
) -> None:
    """Dies if a fixed-n test of equivalence decides although scores were looked at before."""
    table, draw = tmp_path / "t.csv", np.random.default_rng(0)
    scores = draw.normal(0.5, 0.001, (2, 12))
    for n in (11, 12):
        rows = [
            f"{m},{k},{x}\n"
            for m, of in zip("AB", scores, strict=True)
            for k, x in enumerate(of[:n])
        ]
        table.write_text("".join(["model,seed,score\n", *rows]))
        words = [table, "--margin", str(margin), "--ledger", tmp_path / "l"]
        (pair,) = comparing.json_of(capsys, *words)["pairs"]
    assert pair["equivalent"] is equal
    log_e = min(
        sequential.e_process(
            sequential.looks(sign * scores[0] - margin, sign * scores[1]), alternative="less"
        )[-1]
        for sign in (1, -1)
    )
    assert pair["adjusted"]["tost"] == pytest.approx(min(1, math.exp(-log_e)))
    assert comparing.json_of(capsys, table, "--margin", str(margin))["pairs"][0]["equivalent"]


def test_pairs_are_counted_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a pair that did not grow is named, a p-value is of one comparison, or which of them
    hold at any look is not said."""
    table = comparing.table(tmp_path)
    words = [table, "--resamples", "99", "--ledger", tmp_path / "looks.json"]
    table.write_text(table.read_text() + "".join(f"C,{k},0.{k}\n" for k in range(5)))
    comparing.main(*words)
    table.write_text(table.read_text() + "C,5,0.6\n")
    tree = comparing.json_of(capsys, *words)
    warnings = [w for w in tree["warnings"] if _SAID in w]
    assert [warning.partition(":")[0] for warning in warnings] == ["A, C", "B, C"]
    assert all("(corrected over 3 comparisons)" in warning for warning in warnings)
    p_values, groups = [p["p_value"] for p in tree["pairs"]], [("", *pair) for pair in _PAIRS]
    expected = multiple.adjust_equalities(p_values, groups)
    assert [p["p_adjusted"] for p in tree["pairs"]] == pytest.approx(expected.tolist())
    assert "over 1 test of spread" in tree["signature"]  # of A and B, which did not grow
    shown = comparing.shown(capsys, *words)
    assert re.findall(r"([A-C] [A-C]) [^A-Z]* anytime \.?\d", shown) == ["A C", "B C"]


def test_a_look_at_another_table_counts_and_models_left_out_do(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a table of another name is a first look, or the best of many is judged alone."""
    ledger = tmp_path / "looks.json"
    for n in (5, 6):
        rows = [f"{m},{k},{(k * ord(m)) % 7}\n" for m in "ABC" for k in range(n)]
        table = tmp_path / f"{n}.csv"
        table.write_text("".join(["model,seed,score\n", *rows]))
        models = "ABC" if n == 5 else "AB"
        found = comparing.json_of(capsys, table, *models, "--ledger", ledger)
    assert found["pairs"][0]["looks"] == 2
    assert any("(corrected over 3 comparisons)" in line for line in found["warnings"])


def test_a_second_look_at_few_models_keeps_their_correction(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if leaving out the other models at a look at the same scores lowers a p-value."""
    table = comparing.table(tmp_path)
    table.write_text(table.read_text() + "".join(f"C,{k},0.{k}\n" for k in range(5)))
    words = ["--correction", "bonferroni", "--ledger", tmp_path / "l"]
    (first, *_), (again,) = (
        comparing.json_of(capsys, table, *models, *words)["pairs"] for models in ("", "AB")
    )
    assert again["p_adjusted"] == first["p_adjusted"] == min(1, 3 * first["p_value"])
    assert "corrected p < " in comparing.shown(capsys, table, "A", "B", *words)


def test_candidates_of_separate_looks_are_corrected_together(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if each candidate is judged alone, or earlier claims are not said to be weaker now."""
    table, said = comparing.table(tmp_path), []
    rows = [f"{m},{k},{0.8 + k / 100 * (1 + 'AC'.find(m) / 4)}\n" for m in "CD" for k in range(6)]
    table.write_text(table.read_text() + "".join(rows))
    words = ["--correction", "bonferroni", "--ledger", tmp_path / "l"]
    for count, models in enumerate(("BA", "BC", "BD"), 1):
        tree = comparing.json_of(capsys, table, *models, *words)
        (pair,) = tree["pairs"]
        assert pair["p_adjusted"] == min(1, count * pair["p_value"])
        said.append([line for line in tree["warnings"] if "from earlier looks" in line])
    assert not said[0] and len(said[1]) == len(said[2]) == 1
    assert said[2][0].startswith("corrected over 3 comparisons, 2 of them from earlier looks")
    tree = comparing.json_of(capsys, table, *"BACD", "--control", "B", *words)
    assert not any("earlier looks" in line for line in tree["warnings"])
    assert [p["p_adjusted"] for p in tree["pairs"]] == [
        min(1, 3 * p["p_value"]) for p in tree["pairs"]
    ]


def test_other_tests_claim_nothing_after_several_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if ranks over data sets or failed runs are tested anew at each look, or what decides
    is not named.
    """
    table, draw = tmp_path / "t.csv", np.random.default_rng(0)
    rows = [
        f"{m},D{d},{k},{draw.normal(ord(m), 0.5):.3f},{'failed' if m == 'C' and k < 9 else 'ok'}\n"
        for k in range(14)
        for d in range(6)
        for m in "ABC"
    ]
    words = [table, "--details", "--ledger", tmp_path / "l", "--resamples", "99"]
    said = []
    for n in (13, 14):
        table.write_text("".join(["model,dataset,seed,score,status\n", *rows[: n * 18]]))
        said.append(comparing.shown(capsys, *words))
    once = "Nemenyi", "Friedman", "Fisher", "Welch's t, Berg", "average rank"
    assert [name in said[0] for name in once] == [True] * len(once)
    assert [name in said[1] for name in once] == [False] * len(once)
    assert "e-process of t, Bergmann-Hommel over 18 comparisons, level .05" in said[1]


@pytest.mark.parametrize(
    "content", ["model,seed,score", "[1]", '{"a": 1}', '{"a": ["x", "y"]}', '{"a": ["x", 2]}']
)
def test_another_file_is_no_ledger(tmp_path: Path, content: str) -> None:
    """Dies if a file that is no ledger is overwritten, or a damaged one counts as empty."""
    ledger = tmp_path / "looks.json"
    ledger.write_text(content)
    words = [comparing.table(tmp_path), "--resamples", "99", "--ledger"]
    for path in (ledger, tmp_path):
        with pytest.raises(ConfigError, match=f"{path}: not a ledger of comparisons"):
            comparing.main(*words, path)
    with pytest.raises(ConfigError, match="--ledger: expected a path, not an empty one"):
        comparing.main(*words, "")
    assert ledger.read_text() == content
