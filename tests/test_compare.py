"""`python -m jaxeval.compare`: the verdict, its JSON, what is pasted, what is drawn."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

import jaxeval
from jaxeval.compare import __main__ as compare
from tests import comparing


def test_the_verdict_is_one_a_reviewer_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the text names the wrong model, or hides n, unit, correction or what was unseen."""
    words = ["A", "B", "--table", str(comparing.table(tmp_path))]
    assert compare.main(words) == 0
    first, *rest = filter(None, capsys.readouterr().out.split("\n"))
    assert re.fullmatch(
        r"A is better than B: score 0.0\d+ higher, 95 % CI \[0.0\d+, 0.0\d+\], p < .001 "
        r"\(Brunner-Munzel, 12 runs each\)\.",
        first,
    )
    assert rest[-1].startswith("Brunner-Munzel, 1 comparison, level .05, two-sided | --details: ")
    assert compare.main([*words, "--details"]) == 0
    shown = capsys.readouterr().out
    for said in (
        "A's distribution is higher: medians",
        "Brunner-Munzel, corrected p < .001",
        "No difference in spread was shown: sd",
        "With 12 scores each a difference of",
        "unit of replication: seed",
        "Brunner-Munzel, 1 comparison, level .05, two-sided",
        "seed 0",
    ):
        assert said in shown


def test_json_holds_the_functions_results(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a key is renamed or a statistic is not scipy's."""
    tree = comparing.json_of(
        capsys, "A", "B", "--table", comparing.table(tmp_path), "--margin", "0.005"
    )
    (pair,) = tree["pairs"]
    rows = [line.split(",") for line in comparing.table(tmp_path).read_text().split()[1:]]
    a, b = ([float(r[2]) for r in rows if r[0] == name] for name in "AB")
    assert pair["welch_t"]["p_value"] == pytest.approx(
        scipy_stats.ttest_ind(a, b, equal_var=False).pvalue
    )
    assert pair["kolmogorov_smirnov"]["statistic"] == scipy_stats.ks_2samp(a, b).statistic
    assert pair["brown_forsythe"]["p_value"] == pytest.approx(scipy_stats.levene(a, b).pvalue)
    assert pair["probability_of_improvement"]["estimate"] == pytest.approx(
        scipy_stats.mannwhitneyu(a, b).statistic / 144
    )
    for name in (
        "brunner_munzel",
        "mann_whitney_u",
        "wilcoxon_signed_rank",
        "sign_test",
        "permutation_test",
        "tost",
    ):
        assert set(pair[name]) >= {"statistic", "p_value", "p_adjusted", "n", "null", "method"}
        assert pair[name]["p_adjusted"] >= pair[name]["p_value"]
    for name in ("difference", "cliffs_delta", "a12", "almost_stochastic_order"):
        assert set(pair[name]["interval"]) == {"low", "high", "confidence", "method"}
    assert pair["verdict"]["higher"] == "a" and pair["planned_difference"] == 0.005
    assert {"power", "required_seeds", "detectable_difference", "rope"} <= set(pair)
    summary = tree["models"][0]["summarize"]
    assert summary["median"] == pytest.approx(np.median(a)) and summary["n"] == 12
    expected = tree["models"][0]["expected_validation_performance"]["without_replacement"]
    assert expected[-1] == pytest.approx(max(a)) and len(expected) == 12


@pytest.mark.parametrize(
    ("column", "factor", "more", "unit"),
    [
        ("score", 1, "", "number"),  # nobody says what it is
        ("test_f1", 1, "", "fraction"),
        ("test_f1", 100, "", "number"),  # percentages already
        ("test_perplexity", 1, "", "perplexity"),
        ("score", 1, "error rate", "error rate"),
    ],
)
def test_scores_are_read_by_the_unit_of_their_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture, column: str, factor: int, more: str, unit: str
) -> None:
    """Dies if the range of the scores decides what they are, or percentages are multiplied."""
    head, *rows = comparing.table(tmp_path).read_text().split()
    named = (",unit", f",{more}") if more else ("", "")
    lines = [head.replace("score", column) + named[0]]
    for row in rows:
        model, seed, score = row.split(",")
        lines.append(f"{model},{seed},{factor * float(score):.4f}{named[1]}")
    path = tmp_path / "named.csv"
    path.write_text("\n".join(lines))
    words = ["--table", str(path), "--score", column, "--resamples", "99"]
    assert comparing.json_of(capsys, *words)["metric_unit"] == unit
    assert compare.main(words) == 0
    shown = capsys.readouterr().out
    assert bool(re.search(" points (higher|lower), 95 % CI", shown)) == (
        unit in ("fraction", "error rate")
    )
    assert f"{column} (%)" in shown or unit not in ("fraction", "error rate")


def test_losses_are_better_when_lower(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the higher perplexity is recommended."""
    path = tmp_path / "ppl.csv"
    draw = np.random.default_rng(1)
    lines = [f"{draw.normal(90, 1):.3f},{draw.normal(80, 1):.3f}" for _ in range(10)]
    path.write_text("A,B\n" + "\n".join(lines))
    assert compare.main(["--table", str(path), "--lower-is-better"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip().startswith("B is better than A: score ")
    assert "lower, 95 % CI [" in shown and ", p < .001 (Brunner-Munzel, 10 runs each)." in shown
    assert "A run of B is better than one of A with probability 1.00, 95 % CI [0.8" in shown
    assert compare.main(["--table", str(path), "--lower-is-better", "--details"]) == 0
    shown = capsys.readouterr().out
    assert "A's distribution is higher, and so B is the better one" in shown
    assert "probability that a run of A is better 0.00" in shown


def test_equal_models_are_not_told_apart_and_equivalence_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if absence of a difference is called equality, or TOST is turned round."""
    path = comparing.table(tmp_path, shift=0.0, n=40)
    assert compare.main(["--table", str(path), "--margin", "0.02"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip().startswith("No difference between A and B was shown: score ")
    assert "Equivalent within 0.02: the means differ by less" in shown
    assert compare.main(["--table", str(path), "--margin", "0.0001"]) == 0
    assert "Equivalence within 0.0001 was not shown" in capsys.readouterr().out


def test_data_sets_are_summed_up_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a figure is missing, or a model without scores on a data set is counted."""
    draw = np.random.default_rng(2)
    rows = ["model,dataset,seed,score,status"]
    for k, model in enumerate(("a", "b_b", "[bold]c[/bold]")):
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
    out = tmp_path / "figures"
    assert compare.main(["--table", str(path), "--figures", str(out), "--details"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip().startswith("Of the runs that finished, [bold]c[/bold] is best: ")
    assert (
        "1 of 13 runs of a failed (1 diverged); in P(A better) they count as the worst; " in shown
    )
    assert "a: no scores on z; not compared there" in shown
    assert "Over 2 data sets no conclusion can be drawn" in shown and "Friedman" in shown
    assert "a: 1 diverged, 12 finished" in shown and "[bold]c[/bold]" in shown
    drawn = {p.name for p in out.iterdir()}
    names = ("violins", "ecdf", "profiles", "critical_difference")
    assert drawn == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf", "png")}
    tree = comparing.json_of(capsys, "--table", path, "--missing", "drop")
    assert tree["across_datasets"]["nemenyi"]["models"][0] == "[bold]c[/bold]"
    assert tree["unusable"][0]["what"] == "missing" and len(tree["pairs"]) == 7


def test_seeds_within_splits_are_no_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if seeds of one split pretend to more evidence than there is."""
    draw = np.random.default_rng(3)
    rows = ["model,split,seed,score"]
    for model in "AB":
        for split in range(6):
            centre = draw.normal(0.8, 0.05)
            rows += [f"{model},{split},{s},{draw.normal(centre, 0.001):.5f}" for s in range(10)]
    path = tmp_path / "n.csv"
    path.write_text("\n".join(rows))
    tree = comparing.json_of(capsys, "--table", path)
    assert (tree["unit"], tree["averaged"]) == ("split", [10, 10])
    (pair,) = tree["pairs"]
    assert pair["n"] == [6, 6] and pair["verdict"]["location_test"] == "paired_t"
    parts = tree["models"][0]["variance_components"]
    assert parts["splits"] == 6
    careless = comparing.json_of(capsys, "--table", path, "--unit", "row")
    assert careless["pairs"][0]["n"] == [60, 60]
    assert any("every row counts as independent" in line for line in careless["warnings"])


def test_latex_and_markdown_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a name breaks the table."""
    path = tmp_path / "t.csv"
    path.write_text("a_1 & b%,c|d\n0.5,0.6\n0.51,0.62\n0.52,0.61\n0.5,0.63\n0.49,0.6\n")
    assert compare.main(["--table", str(path), "--latex"]) == 0
    latex = capsys.readouterr().out
    assert r"a\_1 \& b\% & 5 &" in latex and latex.count(r"\bottomrule") == 3
    target = tmp_path / "t.md"
    assert compare.main(["--table", str(path), "--markdown", str(target)]) == 0
    rows = [line for line in target.read_text().splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows[:4]}) == 1


def test_pairs_are_used_where_most_units_are_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if one unmatched split throws the pairing away, or goes unsaid."""
    rows = [f"A,{k},{0.1 * k}\nB,{k},{0.1 * k + 0.001 + 0.0001 * k}" for k in range(10)]
    path = tmp_path / "p.csv"
    path.write_text("model,split,score\n" + "\n".join([*rows, "B,99,0.5"]))
    tree = comparing.json_of(capsys, "--table", path)
    (pair,) = tree["pairs"]
    assert pair["verdict"]["location_test"] == "wilcoxon_signed_rank"
    assert pair["verdict"]["higher"] == "b" and pair["pairs"] == 10
    assert any("the 10 units that both have, of 10 and 11" in line for line in tree["warnings"])


@pytest.mark.parametrize(("few", "shown"), [(2, False), (3, True)])
def test_fewer_than_three_scores_allow_no_conclusion(
    tmp_path: Path, capsys: pytest.CaptureFixture, few: int, shown: bool
) -> None:
    """Dies if two scores are compared, or three that lie far apart are said to show nothing."""
    draw = np.random.default_rng(3)
    rows = [f"A,{draw.normal(9, 0.1):.4f}" for _ in range(few)]
    rows += [f"B,{draw.normal(0, 0.1):.4f}" for _ in range(40)]
    path = tmp_path / "few.csv"
    path.write_text("model,score\n" + "\n".join(rows))
    tree = comparing.json_of(capsys, "--table", path)
    (pair,) = tree["pairs"]
    assert pair["verdict"]["higher"] == ("a" if shown else None)
    assert pair["verdict"]["location_test"] == "welch_t" and pair["verdict"]["wider"] is None
    rule = "models with 2 scores: fewer than 3 allow no conclusion, by rule, however small p is"
    assert (rule in tree["warnings"]) == (not shown)
    assert pair["verdict"]["text"][0].startswith("No conclusion, by rule") == (not shown)
    assert any("no conclusion is drawn by rule" in s for s in pair["verdict"]["text"]) != shown
    assert (tree["primary"]["detectable"] is None) == (not shown)
    assert tree["primary"]["fewest"] == few and tree["primary"]["needed"] >= 3


def test_equal_scores_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if copies of one deterministic score count as runs: .9 against .8 gave p .016."""
    path = tmp_path / "equal.csv"
    rows = [f"{m},{seed},{score}\n" for m, score in (("A", 0.9), ("B", 0.8)) for seed in range(5)]
    path.write_text("model,seed,score\n" + "".join(rows))
    tree = comparing.json_of(capsys, "--table", path)
    assert tree["pairs"] == [] and tree["warnings"] == []
    assert tree["verdict"] == [
        f"{m} gives {score} at every seed (5): one run, which no test is made of."
        for m, score in (("A", "0.9000"), ("B", "0.8000"))
    ]
    assert tree["copies"][0] == {"model": "A", "dataset": "", "score": 0.9, "count": 5}
    assert compare.main(["--table", str(path), "--figures", str(tmp_path / "figures")]) == 0
    shown = capsys.readouterr().out
    assert tree["verdict"][0] in " ".join(shown.split()) and "corrected p" not in shown
    others = [f"C,{seed},{0.7 + seed / 100}\n" for seed in range(5)]
    others += [f"D,{seed},0.{7 + seed // 4}\n" for seed in range(5)]  # ties are legitimate
    path.write_text("model,seed,score\n" + "".join(rows + others))
    tree = comparing.json_of(capsys, "--table", path)
    assert [(pair["a"], pair["b"]) for pair in tree["pairs"]] == [("C", "D")]


@pytest.mark.parametrize(("metric", "top"), [("f1", 1.0), ("f1", 100.0), ("bleu", 100.0)])
def test_intervals_stay_between_the_scores_that_there_can_be(
    tmp_path: Path, metric: str, top: float
) -> None:
    """Dies if the interval of a mean F1 goes beyond 100, or that of a metric without known ends is
    cut."""
    rows = [f"model,seed,{metric}"]
    for model, scores in (("A", (1.0, 0.95, 0.99)), ("B", (0.01, 0.05, 0.0))):
        rows += [f"{model},{seed},{score * top}" for seed, score in enumerate(scores)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    tree = jaxeval.compare(path).to_dict()
    ends = [of["summarize"]["mean_interval"] for of in tree["models"]]
    (pair,) = tree["pairs"]
    free = metric == "bleu"
    assert (ends[0]["high"] > top) == free and (ends[1]["low"] < 0) == free
    assert free or (ends[0]["high"], ends[1]["low"]) == (top, 0.0)
    assert (pair["difference"]["interval"]["high"] > top) is False or free
