"""`jaxeval compare`: the answer, its JSON, what is pasted, what is drawn, what is refused."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

import jaxeval
from jaxeval.errors import JaxevalError
from tests import comparing


def test_the_answer_is_one_a_reviewer_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the text names the wrong model, or hides n, unit, correction or what was unseen."""
    words = [comparing.table(tmp_path), "A", "B"]
    shown = comparing.shown(capsys, *words)
    assert re.match(
        r"A is better than B: score 0.0\d+ higher, 95 % CI \[0.0\d+, 0.0\d+\], p < .001 "
        r"\(Brunner-Munzel, 12 runs each\)\.",
        shown,
    )
    shown = comparing.shown(capsys, *words, "--details")
    for said in (
        "A run of A is better than one of B with probability 0.9",
        "No difference in spread was shown: sd",
        "With 12 runs each a difference of",
        "unit of replication: seed",
        "Brunner-Munzel, 1 comparison, level .05, two-sided",
        "seed 0",
    ):
        assert said in shown


def test_json_holds_the_functions_results(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a key is renamed or a statistic is not scipy's."""
    tree = comparing.json_of(capsys, comparing.table(tmp_path), "A", "B", "--margin", "0.005")
    (pair,) = tree["pairs"]
    rows = [line.split(",") for line in comparing.table(tmp_path).read_text().split()[1:]]
    a, b = ([float(r[2]) for r in rows if r[0] == name] for name in "AB")
    tests, effects = pair["tests"], pair["effects"]
    assert tests["welch_t"]["p_value"] == pytest.approx(
        scipy_stats.ttest_ind(a, b, equal_var=False).pvalue
    )
    assert tests["kolmogorov_smirnov"]["statistic"] == scipy_stats.ks_2samp(a, b).statistic
    assert tests["brown_forsythe"]["p_value"] == pytest.approx(scipy_stats.levene(a, b).pvalue)
    assert effects["probability_of_improvement"]["estimate"] == pytest.approx(
        scipy_stats.mannwhitneyu(a, b).statistic / 144
    )
    names = ("brunner_munzel", "mann_whitney_u", "wilcoxon_signed_rank", "sign_test", "tost")
    for name in (*names, "permutation_test"):
        assert set(tests[name]) >= {"statistic", "p_value", "n", "method"}
        assert pair["adjusted"][name] >= tests[name]["p_value"]
    for name in ("difference", "a12"):
        assert {"low", "high", "confidence", "method"} <= set(effects[name]["interval"])
    assert pair["shown"] == 1 and pair["plan"]["planned_difference"] == 0.005
    summary = tree["models"][0]["summary"]
    assert summary["median"] == pytest.approx(np.median(a)) and summary["n"] == 12


def test_data_sets_are_summed_up_drawn_and_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a figure or a file is missing, a name breaks a table, or a model without scores on a
    data set is counted."""
    draw = np.random.default_rng(2)
    rows = ["model,dataset,seed,score,status"]
    for k, model in enumerate(("a", "b_b|%", "[bold]c[/bold]")):
        for dataset in ("x", "y", "z"):
            if (model, dataset) == ("a", "z"):
                continue
            rows += [
                f"{model},{dataset},{s},{0.5 + 0.1 * k + draw.normal(0, 0.01):.4f},finished"
                for s in range(6)
            ]
    rows.append("a,x,9,,diverged")
    path = tmp_path / "m.csv"
    path.write_text("\n".join(rows))
    figures, tex, md = (tmp_path / name for name in ("figures", "t.tex", "t.md"))
    saved = [word for target in (figures, tex, md) for word in ("--save", target)]
    shown = comparing.shown(capsys, path, *saved, "--details")
    best = "Of the runs that finished, [bold]c[/bold] is best in the mean over 2 data sets: "
    assert shown.startswith(best)
    lost = "1 of 13 runs of a failed (1 diverged); in P(A better) they count as the worst; "
    assert lost in shown and "a: no scores on z; not compared there" in shown
    assert "Over 2 data sets no conclusion can be drawn" in shown and "Friedman" in shown
    drawn = {f"violins.{kind}" for kind in ("svg", "pdf", "png")}  # ranks of two sets show nothing
    assert {file.name for file in figures.iterdir()} == drawn
    assert r"b\_b" in tex.read_text() and r"\bottomrule" in tex.read_text()
    lines = [line for line in md.read_text().splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in lines[:4]}) == 1
    tree = comparing.json_of(capsys, path, "--missing", "drop")
    assert tree["across"]["ranking"]["models"][0] == "[bold]c[/bold]"
    assert tree["unusable"][0]["what"] == "missing" and len(tree["pairs"]) == 7


def test_equal_scores_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if copies of one deterministic score count as runs: .9 against .8 gave p .016."""
    path = tmp_path / "equal.csv"
    rows = [f"{m},{seed},{score}\n" for m, score in (("A", 0.9), ("B", 0.8)) for seed in range(5)]
    path.write_text("model,seed,score\n" + "".join(rows))
    tree = comparing.json_of(capsys, path)
    assert tree["pairs"] == [] and tree["warnings"] == []
    assert tree["copies"][0] == {"model": "A", "data_set": "", "score": 0.9, "count": 5}
    said = "A scores 0.9000 at every seed (5): this counts as one run and is not tested."
    shown = comparing.shown(capsys, path, "--save", tmp_path / "figures")
    assert said in shown and "corrected p" not in shown
    others = [f"C,{seed},{0.7 + seed / 100}\n" for seed in range(5)]
    others += [f"D,{seed},0.{7 + seed // 4}\n" for seed in range(5)]  # ties are legitimate
    path.write_text("model,seed,score\n" + "".join(rows + others))
    tree = comparing.json_of(capsys, path)
    assert [(pair["a"], pair["b"]) for pair in tree["pairs"]] == [("C", "D")]


@pytest.mark.parametrize(
    ("metric", "top", "low", "high"),
    [
        ("f1", 1, 0, 1),
        ("f1", 100, 0, 100),
        ("wer", 1, 0, math.inf),
        ("bleu", 100, -math.inf, math.inf),
        ("loss", 1, -math.inf, math.inf),
    ],
)
def test_intervals_stay_between_the_scores_that_there_can_be(
    tmp_path: Path, metric: str, top: float, low: float, high: float
) -> None:
    """Dies if the interval of a mean F1 goes beyond 100 or that of an error rate below 0, or that
    of a metric without known ends is cut."""
    rows = [f"model,seed,{metric}"]
    for model, scores in (("A", (1.0, 0.95, 0.99)), ("B", (0.01, 0.05, 0.0))):
        rows += [f"{model},{seed},{score * top}" for seed, score in enumerate(scores)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    study = jaxeval.compare(path).study
    b, a = sorted((row.mean.interval for row in study.boards[0].rows), key=lambda of: of.high)
    assert (a.high > top, b.low < 0) == (high > top, low < 0)
    assert high > top or a.high == high
    assert low < 0 or b.low == low
    assert study.pairs[0].interval.high <= top or high > top


def test_a_model_of_one_score_is_placed_beside_the_runs_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a published score ends the comparison of other models, is tested, has no place
    among the runs of the only other model, or its failed runs are not counted."""
    path = tmp_path / "t.csv"
    rows = [f"{m},{k},0.{k}{j},finished" for j, m in enumerate("AB", 1) for k in range(1, 6)]
    rows += ["C,1,0.55,finished", "C,2,,failed"]
    path.write_text("\n".join(["model,seed,score,status", *rows]))
    tree = comparing.json_of(capsys, path)
    assert len(tree["pairs"]) == 1 and "C (0.55) has one score; a test needs 3." in tree["answer"]
    for names in ("AC", "CA"):
        alone = comparing.json_of(capsys, path, *names)
        first, failed = alone["answer"]
        assert alone["pairs"] == [] and failed.startswith("1 of 2 runs of C failed")
        assert first == (
            "C has one score, 0.55; a test needs 3. It is above 5 and below 0 of the 5 runs of "
            "A, inside the 95 % prediction interval for one more run: [-0.17, 0.79]."
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["T", "A", "C"], "no model 'C'"),
        (["T", "A"], "two or more models"),
        (["T", "--column", "arch=model"], "--column arch=model: expected one of"),
        (["T", "--unit", "split"], "--unit split: no such unit"),
        (["T", "--control", "C"], "no (model|control) 'C'"),
        (["none.csv"], "no such file"),
        (["items", "none.csv"], "no such file"),
        (["logs", "nothing"], "no such file"),
    ],
)
def test_bad_arguments_are_explained(tmp_path: Path, words: list[str], message: str) -> None:
    """Dies if one of these is a traceback or goes on."""
    path = str(comparing.table(tmp_path))
    with pytest.raises(JaxevalError, match=message):
        comparing.main(*(path if word == "T" else word for word in words))


def test_names_may_look_like_anything(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a name is read as a flag, a formula or markup."""
    path = tmp_path / "t.csv"
    scores = "".join(f"0.{k},0.{k + 1}\n" for k in range(1, 7))
    path.write_text("--json,a$x_{$[/b]\n" + scores)
    shown = comparing.shown(capsys, path, "--save", tmp_path / "f", "--", "--json", "a$x_{$[/b]")
    assert "between --json and a$x_{$[/b] was" in shown


def _rows(model: str, scores: Sequence[float], split: str = "{}") -> list[str]:
    return [f"{model},{split.format(k)},{score:.5f}" for k, score in enumerate(scores)]


_DRAW = np.random.default_rng(3)
_SPLITS = _DRAW.normal(0.8, 0.05, (2, 10))
_RANDOM = [*_rows("A", _SPLITS[0]), *_rows("B", _SPLITS[1])]
_WIDE = [*_rows("A", 0.8 + np.arange(-5, 5) / 750), *_rows("B", 0.7 + np.arange(30) / 7500)]
_CRASHED = [f"{m},{d},{k},.{k}" for m in "AB" for d in "yx" for k in range(4)][:-1]
_LOST = [f"B,y,{k},.{k}" for k in (0, 3)]
_SHARED = [*_rows("A", np.arange(10) / 10), *_rows("B", np.arange(10) / 9 + 0.001), "B,99,0.5"]


@pytest.mark.parametrize(
    ("column", "rows", "said"),
    [
        ("split", _RANDOM, "scores are not independent"),
        ("cv_fold", _RANDOM, "-they overlap"),
        ("split", _SHARED, "the 10 units that both have, of 10 and 11"),
        ("seed", _WIDE[:-18], "every row counts as independent"),
        ("seed", _WIDE, "scores of A have at least 2 times"),
        ("seed", _WIDE[:22], "-scores of A are spread"),
        ("seed", _WIDE[7:], "with 3 scores of A beside 30 of B, Welch's t errs"),
        ("seed", _WIDE[7:24], "-Welch's t errs"),
        ("dataset,seed", _CRASHED, "seeds of B: 4 on y, 3 on x; every data set has the"),
        ("dataset,seed", _CRASHED, "-is not tested"),
        ("dataset,seed", [r for r in _CRASHED if r not in _LOST], "3 seeds of B with a"),
    ],
)
def test_what_a_design_cannot_say_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture, column: str, rows: list[str], said: str
) -> None:
    """Dies if random splits or lost pairs pass without a word, or if ten folds are doubted."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"model,{column},score", *dict.fromkeys(rows)]))
    words = ["--unit", "row"] if "every row" in said else []
    warnings = comparing.json_of(capsys, path, *words, "--resamples", "99")["warnings"]
    assert (said.lstrip("-") in " ".join(warnings)) != said.startswith("-")


@pytest.mark.parametrize("repeat", ["repeat", "rep", "cv_repeat", "seed", "Resample"])
def test_repeated_cross_validations_have_the_corrected_test(
    tmp_path: Path, capsys: pytest.CaptureFixture, repeat: str
) -> None:
    """Dies if fold k of all repeats is one split, or overlap is not allowed for, also if folds are
    numbered on; if seeds on the same folds count as splits."""
    path, draw = tmp_path / "cv.csv", np.random.default_rng(0)
    gaps = draw.normal(0.01, 0.02, (5, 4))
    a = draw.normal(0.5, 0.1, gaps.shape)
    on = 4 * (repeat == "rep")
    rows = [f"{r},{f + on * r},{a[r, f]},{a[r, f] + gap}" for (r, f), gap in np.ndenumerate(gaps)]
    head = f"{repeat},fold,A,B"
    if repeat == "Resample":  # of caret
        head = "Resample,A,B"
        rows = [re.sub("^(.),(.)", r"Fold\2.Rep\1", row) for row in rows]
    path.write_text("\n".join([head, *rows]))
    tree = comparing.json_of(capsys, path, "--margin", "0.05")
    (pair,) = tree["pairs"]
    if repeat == "seed":
        assert pair["primary"] == "paired_t" and pair["n"] == [4, 4]
        return
    t = gaps.mean() / np.sqrt(gaps.var(ddof=1) * (1 / 20 + 1 / 3))  # test 1/4, training 3/4
    assert pair["p_value"] == pytest.approx(2 * scipy_stats.t.sf(t, 19)) and pair["n"] == [20, 20]
    high = (scipy_stats.t.isf(0.025, 19) / t - 1) * gaps.mean()
    assert pair["interval"]["high"] == pytest.approx(high)
    assert {*pair["tests"]} == {"corrected_t", "tost"}
    assert any("several cross-validations overlap" in line for line in tree["warnings"])
    with pytest.raises(JaxevalError, match="--ledger l: expected independent runs"):
        comparing.main(path, "--ledger", "l")
    with pytest.raises(JaxevalError, match=r"cv\.csv: expected independent runs"):
        jaxeval.settle_table(path, "A", "B")
    path.write_text("\n".join([head, *rows[::4]]))  # one fold of each
    assert comparing.json_of(capsys, path)["pairs"][0]["primary"] != "corrected_t"
    assert not any("alike" in line for line in tree["warnings"])


def test_cross_validations_of_other_splits_overlap_too(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if models that share no split have a test that does not allow for overlap."""
    path, draw = tmp_path / "cv.csv", np.random.default_rng(0).normal(0.5, 0.1, (2, 3, 4))
    rows = [f"{'AB'[m]},{3 * m + r},{f},{score}" for (m, r, f), score in np.ndenumerate(draw)]
    path.write_text("\n".join(["model,repeat,fold,f1", *rows]))
    (pair,) = comparing.json_of(capsys, path)["pairs"]
    variances = draw.reshape(2, 12).var(axis=1, ddof=1) * (1 / 12 + 1 / 3)
    t = np.ptp(draw.mean(axis=(1, 2))) / np.sqrt(variances.sum())
    freedom = 11 * variances.sum() ** 2 / np.square(variances).sum()
    assert pair["p_value"] == pytest.approx(2 * scipy_stats.t.sf(t, freedom))


def test_seeds_within_splits_are_no_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if seeds of one split pretend to more evidence than there is."""
    path = tmp_path / "n.csv"
    centres = np.repeat(_SPLITS[:, :6], 10) + _DRAW.normal(0, 0.001, 120)
    keys = [f"{m},{split},{s}" for m in "AB" for split in range(6) for s in range(10)]
    rows = [f"{key},{score:.5f}" for key, score in zip(keys, centres, strict=True)]
    path.write_text("\n".join(["model,split,seed,score", *rows]))
    tree = comparing.json_of(capsys, path)
    assert (tree["unit"], tree["averaged"]) == ("split", [10, 10])
    (pair,) = tree["pairs"]
    assert pair["primary"] == "paired_t" and pair["tests"]["paired_t"]["n"] == [6]
