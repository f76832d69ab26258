"""Sweeps averaged over datasets: published tables, scipy, and what labels sweeps."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import ConfigError
from jaxeval.sensitivity import __main__ as verb
from jaxeval.sensitivity import analyze, groups, intervals, labels, sources
from tests.space import fabricated

PUBLISHED_SWEEPS = Path(os.environ.get("JAXEVAL_DATA", "/nowhere")) / "scores/wiemerslage2024"
# Wiemerslage et al. (2024). Table 3: Rel@25, 50, 100, 150, mean and sd over languages.
TABLE_3 = {
    ("inflection", "attentive_lstm"): "99.31 .75 98.86 1.16 98.29 1.61 96.75 2.84",
    ("inflection", "transformer"): "99.42 .35 99.03 .58 96.91 1.73 74.54 15.26",
    ("g2p", "attentive_lstm"): "99.70 .30 99.57 .40 99.25 .63 98.13 1.65",
    ("g2p", "transformer"): "99.39 .54 98.90 1.01 97.11 1.97 83.38 10.36",
}
# Table 4: mean@25, 50, 100, 150 and % best-equivalent, each with its sd.
TABLE_4 = {
    ("inflection", "attentive_lstm"): "99.59 .45 99.31 .69 98.96 1.02 98.56 1.33 44.85 34.33",
    ("inflection", "transformer"): "99.62 .23 99.42 .35 98.81 .66 96.00 1.87 29.71 13.83",
    ("g2p", "attentive_lstm"): "99.81 .19 99.71 .28 99.57 .40 99.34 .58 64.07 21.56",
    ("g2p", "transformer"): "99.64 .30 99.41 .53 98.80 .96 97.05 1.81 34.67 26.91",
}
# Table 5, batch size: maxima and mean change. (Its G2P LSTM lacks one language, its rho depends
# on which of several best runs was taken, and its other half on the order of ties.)
TABLE_5 = {
    ("inflection", "attentive_lstm"): "45.8 15.1",
    ("inflection", "transformer"): "56.1 30.2",
    ("g2p", "transformer"): "56.8 27.0",
}
# Table 6: mean of the best scores, of the mean scores, of the shares of zeros.
TABLE_6 = {
    ("inflection", "attentive_lstm"): "96.63 86.20 7.94",
    ("inflection", "transformer"): "96.01 74.46 13.12",
    ("g2p", "attentive_lstm"): "96.35 87.12 7.88",
    ("g2p", "transformer"): "96.12 76.94 8.88",
}
KS = (25, 50, 100, 150)


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert verb.main([*words, "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


@pytest.mark.skipif(not PUBLISHED_SWEEPS.is_dir(), reason="JAXEVAL_DATA has no published sweeps")
def test_published_tables(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    """Dies if sd divides by n, a language is lost, or groups or the convention are mixed up."""
    for path in sorted(PUBLISHED_SWEEPS.glob("*.tsv")):  # the paper has the first 200 runs
        lines = path.read_text().splitlines(keepends=True)
        (tmp_path / path.name).write_text("".join(lines[:201]))
    tree = _json(
        capsys,
        *map(str, sorted(tmp_path.glob("*.tsv"))),
        *("--file-name", "{dataset}-{architecture}-sig-{year}-{task}.tsv"),
        *("--by", "task,architecture", "--over", "dataset", "--score", "max_val_accuracy"),
        *("--missing", "zero", "--convention", "published"),
        *("--hyperparameters", "batch_size,hidden_size,embedding_size"),
    )
    assert len(tree["sweeps"]) == 24 and len(tree["groups"]) == 4
    for group in tree["groups"]:
        key, means = (group["labels"]["task"], group["labels"]["architecture"]), group["means"]
        assert len(group["sweeps"]) == (8 if key[0] == "inflection" else 4)
        series = [f"rel_at_k.{k}" for k in KS]
        _close(TABLE_3[key], [v for p in series for v in (means[p]["mean"], means[p]["sd"])], 0.01)
        series = [*(f"mean_at_k.{k}" for k in KS), "best_equivalent"]
        _close(TABLE_4[key], [v for p in series for v in (means[p]["mean"], means[p]["sd"])], 0.01)
        if key in TABLE_5:
            profile = (
                means[f"by_hyperparameter.batch_size.{k}"] for k in ("maxima", "mean_change")
            )
            _close(TABLE_5[key], [metric["mean"] for metric in profile], 0.05)
        shares = ("max", "mean", "share_zero")
        _close(TABLE_6[key], [means[metric]["mean"] for metric in shares], 0.01)
    # figure 2: what the best run of a sweep was drawn as
    lstm = next(g for g in tree["groups"] if g["labels"]["architecture"] == "attentive_lstm")
    path = PUBLISHED_SWEEPS / "hungarian-attentive_lstm-sig-2017-inflection.tsv"
    with path.open() as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))[:200]
    best = max(rows, key=lambda row: float(row["max_val_accuracy"] or 0))
    setting = lstm["best_systems"]["hungarian"]["setting"]
    assert setting == {name: best[name] for name in setting} and len(setting) == 3


def _close(published: str, values: list[float], within: float) -> None:
    """Published figures are rounded, some of them twice."""
    assert values == pytest.approx([float(text) for text in published.split()], abs=1.01 * within)


def _tables(folder: Path) -> list[str]:
    """Two architectures on four languages, 30 runs each."""
    draw = np.random.default_rng(0)
    paths = []
    for number, language in enumerate(("ga", "hu", "nl", "sq")):
        for architecture in ("lstm", "transformer"):
            width = 0.1 + 0.2 * (architecture == "transformer")
            scores = np.round(0.99 - 0.05 * number - width * draw.beta(1, 3, 30), 4)
            path = folder / f"{language}-{architecture}.csv"
            rates = 10 ** draw.uniform(-6, -2, 30)
            lines = [f"{s},{r},{architecture}" for s, r in zip(scores, rates, strict=True)]
            path.write_text("\n".join(["score,rate,kind", *lines]) + "\n")
            paths.append(str(path))
    return paths


WORDS = ["--ks", "5", "--hyperparameters", "rate"]
NAMED = ["--file-name", "{dataset}-{architecture}.csv"]


def test_averages_against_scipy(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if sd, t interval or pairing is wrong, or a sweep is in two groups."""
    paths = _tables(tmp_path)
    tree = _json(capsys, *paths, *WORDS, *NAMED, "--by", "architecture")
    scores = {path: np.loadtxt(path, delimiter=",", skiprows=1, usecols=0) for path in paths}
    means_by = {group["labels"]["architecture"]: group["means"] for group in tree["groups"]}
    parts = {}
    for architecture in ("lstm", "transformer"):
        own = [s for p, s in scores.items() if p.endswith(f"-{architecture}.csv")]
        rel = parts[architecture] = [100 * sorted(s)[-5] / s.max() for s in own]
        mean = means_by[architecture]["rel_at_k.5"]
        assert (mean["n"], mean["mean"]) == (4, pytest.approx(np.mean(rel)))
        assert mean["sd"] == pytest.approx(np.std(rel, ddof=1))
        low, high = stats.t.interval(0.95, 3, np.mean(rel), stats.sem(rel))
        assert mean["interval"]["low"] == pytest.approx(low)
        assert mean["interval"]["high"] == pytest.approx(min(100, high))
    (contrast,) = tree["contrasts"]
    assert contrast["name"] == "lstm - transformer" and len(contrast["datasets"]) == 4
    paired = stats.ttest_rel(parts["lstm"], parts["transformer"]).confidence_interval(0.95)
    gap = contrast["means"]["rel_at_k.5"]["interval"]
    assert (gap["low"], gap["high"]) == pytest.approx((paired.low, paired.high))
    assert "intervals" in tree["sweeps"][0] and not tree["sweeps"][0]["intervals"]


def test_the_verb_prints_and_draws_groups(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a group, its interval or a figure is missing from what people see."""
    paths, out = _tables(tmp_path), tmp_path / "f"
    words = [*paths, *WORDS, "--by", "kind", "--over", "dataset", *NAMED, "--figures", str(out)]
    assert verb.main([*words, "--log", "rate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(("1 of 1 difference", "No difference")) and "rate" in str(lines)
    assert not any(line.startswith("ga-") for line in lines)
    assert verb.main([*words, "--log", "rate", "--details"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("lstm (4)") for line in lines)
    assert any(line.startswith("lstm - transformer (4)") for line in lines)
    assert any("of averages by t over 4 datasets; not corrected" in line for line in lines)
    assert "transformer: ga, hu, nl, sq" in lines
    assert sum(line.startswith(("ga-", "hu-", "nl-", "sq-")) for line in lines) == 8
    assert {path.name for path in out.glob("*.png")} == {"ranks.png", "best_systems.png"}


ERRORS = {
    "two of one group": (["--by", "architecture", "--over", "kind"], "ga-lstm and hu-lstm are of"),
    "no such label": (["--by", "language"], "language: ga-lstm has no such label; it has arch"),
    "a pattern that does not fit": (["--file-name", "{a}_{b}.tsv"], "does not fit ga-lstm.csv"),
    "a pattern without labels": (["--file-name", "x.tsv"], "expected labels in braces"),
    "a table twice": (["T"], "ga-lstm.csv: expected once, got twice"),
    "no logarithm": (["--hyperparameters", "rate", "--log", "rate"], "needs numbers above 0"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tmp_path: Path, case: str) -> None:
    """Dies if one of these averages what does not belong together."""
    paths = _tables(tmp_path)
    (tmp_path / "zero-x.csv").write_text("score,rate\n0,0\n.5,2\n.6,3\n")
    paths = [str(tmp_path / "zero-x.csv")] if case == "no logarithm" else paths
    words, message = ERRORS[case]
    words = [paths[0] if word == "T" else word for word in words]
    named = [] if "--file-name" in words else NAMED
    with pytest.raises(ConfigError, match=message):
        verb.main([*paths, *WORDS, *named, *words])


def test_more_groups_than_colours_are_not_drawn(tmp_path: Path) -> None:
    """Dies if two of nine sweeps get one colour, or figures are written before the refusal."""
    for k in range(9):
        (tmp_path / f"{k}.csv").write_text("score\n.1\n.2\n.3\n")
    paths = map(str, sorted(tmp_path.glob("*.csv")))
    with pytest.raises(ConfigError, match="9 sweeps or groups; expected at most 8"):
        verb.main([*paths, "--ks", "1", "--figures", str(tmp_path / "f")])


def test_labels_of_recorded_sweeps(tmp_path: Path) -> None:
    """Dies if data sets are told apart by their path, or two of one path are taken for one."""
    a = fabricated.fill(tmp_path / "a", data="pairs", data_hash="1" * 16)
    b = fabricated.fill(tmp_path / "b", data="pairs", data_hash="2" * 16)
    c = fabricated.fill(tmp_path / "c", data="moved", data_hash="2" * 16)
    request = sources.Request("dev", [], sources.Declared(), "zero", ["sweep0"])
    sweeps = sources.read([str(a), str(b), str(c)], request)
    named = [sweep.labels["dataset"] for sweep in sweeps]
    assert named[0] != named[1] and named[1] == named[2]
    assert len({sweep.name for sweep in sweeps}) == 3
    assert sweeps[0].labels["task"] and sweeps[0].labels["name"] == "attentive_lstm, sweep"


def test_file_names() -> None:
    """Dies if a label takes more than the rest allows, or dots of a pattern match anything."""
    pattern = "{dataset}-{architecture}-{task}.tsv"
    assert labels.of_file_name("x/arm_e-lstm-sig-2021-g2p.tsv", pattern) == {
        **{"dataset": "arm_e", "architecture": "lstm", "task": "sig-2021-g2p"}
    }
    assert labels.of_file_name("a-b-c_tsv", pattern) is None


def test_told_apart() -> None:
    """Dies if alike names stay alike, others are changed, or a detail that all share is taken."""
    details = [["a1", "runs"], ["b2", "runs"], ["a1", "other"]]
    assert labels.told_apart(["x", "x", "y"], details) == ["x (a1)", "x (b2)", "y"]
    assert labels.told_apart(["x", "y", "x"], details) == ["x (runs)", "y", "x (other)"]


@pytest.mark.parametrize("n", [4, 8])
def test_intervals_over_datasets_cover(n: int) -> None:
    """Dies if intervals over few datasets are too narrow (a bootstrap's cover 76 % at n = 4).

    Values have the skew of the published ones: a few datasets lie far below the others.
    """
    draw = np.random.default_rng(1)
    gaps = draw.gamma(2.0, 1.0, (2000, n))  # below 100, skewness 1.4, mean 2
    intervals = [groups.mean(100 - row, bounds=(0, 100)).interval for row in gaps]
    hits = np.mean(
        [interval is not None and interval.low <= 98 <= interval.high for interval in intervals]
    )
    assert 0.90 <= hits <= 0.97


def test_differences_end_where_the_metric_does() -> None:
    """Dies if the difference of two percentages is -174 points, or one of counts has a bound."""
    averaged = groups.average(
        [analyze([*row, 0.0], {}, ks=(), resamples=0) for row in ([0.9, 0.1], [0.2, 0.2]) * 2],
        [{"a": a, "d": d} for a, d in ("x1", "x2", "y2", "y1")],
        "ABCD",
        ["a"],
        "d",
    )
    gap = averaged.contrasts[0].means["best_equivalent"].interval
    assert gap is not None and (gap.low, gap.high) == (-100.0, 100.0)
    assert intervals.range_of_difference("x.maxima") == (-np.inf, np.inf)
    assert intervals.range_of_difference("x.rho") == (-2.0, 2.0)


def test_one_dataset_has_no_spread() -> None:
    """Dies if one value is given an sd or an interval."""
    assert groups.mean([3.0]) == groups.Mean(1, 3.0, None, None)
    analyses = [analyze([0.1, 0.2, 0.4], {}, ks=(), resamples=0) for _ in range(2)]
    averaged = groups.average(
        analyses, [{"a": "x", "d": "1"}, {"a": "y", "d": "1"}], "AB", ["a"], "d"
    )
    assert not averaged.contrasts and averaged.groups[0].means["max"].interval is None


def test_equal_values_of_datasets_have_no_interval() -> None:
    """Dies if three sweeps without a failed run say that no sweep of another dataset has one."""
    assert groups.mean([0.0, 0.0, 0.0]) == groups.Mean(3, 0.0, 0.0, None)
    assert groups.mean([30.3 - 20.2, 20.2 - 10.1]).interval is None  # equal but for rounding
    averaged = groups.average(
        [analyze(row, {}, ks=(), resamples=0) for row in ([0.1, 0.2, 0.4], [0.1, 0.3, 0.4]) * 2],
        [{"a": a, "d": d} for a, d in ("x1", "x2", "y2", "y1")],
        "ABCD",
        ["a"],
        "d",
    )
    for means in (averaged.groups[0].means, averaged.contrasts[0].means):
        assert means["share_zero"].interval is None and means["mean"].interval is not None
