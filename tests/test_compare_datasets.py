"""`python -m jaxeval.compare` over several data sets: of a table, and of a runs folder."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.compare import __main__ as compare
from jaxeval.errors import JaxevalError
from jaxeval.report import text
from tests.runs import test_store
from tests.stats.test_datasets import DEMSAR


def _json(capsys: pytest.CaptureFixture, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "499", "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def _demsar(folder: Path, tidy: bool) -> Path:
    names = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    path = folder / "demsar.csv"
    if tidy:
        rows = [
            f"{m},set{k},{s}"
            for k, scores in enumerate(DEMSAR)
            for m, s in zip(names, scores, strict=True)
        ]
        path.write_text("\n".join(["model,dataset,score", *rows]))
    else:
        rows = [f"set{k}," + ",".join(map(str, scores)) for k, scores in enumerate(DEMSAR)]
        path.write_text("\n".join(["dataset," + ",".join(names), *rows]))
    return path


@pytest.mark.parametrize("tidy", [False, True])
def test_one_score_a_data_set(tmp_path: Path, tidy: bool, capsys: pytest.CaptureFixture) -> None:
    """Dies if Demsar's table is refused, or its ranks are not those that he prints."""
    table = _demsar(tmp_path, tidy)
    tree = _json(capsys, "--table", table)
    across = tree["across_datasets"]
    assert tree["unit"] == "dataset" and len(across["datasets"]) == 14
    nemenyi = across["nemenyi"]
    ranks = dict(zip(nemenyi["models"], nemenyi["average_ranks"], strict=True))
    assert ranks == pytest.approx(
        {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}, abs=5e-4
    )
    assert across["friedman"]["without_ties"] == pytest.approx(9.28, abs=5e-3)
    assert across["iman_davenport"]["without_ties"] == pytest.approx(3.69, abs=5e-3)
    assert nemenyi["critical_difference"] == pytest.approx(1.25, abs=5e-3)
    assert across["interquartile_mean"] is None  # one run says nothing of other runs
    assert "the models differ" in tree["headline"][0]
    assert "Which ones differ was not shown (Nemenyi" in tree["headline"][1]


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        ((2, 3, 4, 5, 6, 7, 8, -6.5), "no difference between A and B was shown"),
        ((2, 3, 4, 5, 6, 7, 8, 9), "B's scores are higher"),
        ((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -140), "measures of location disagree"),
    ],
)
def test_the_headline_of_two_models_is_the_verdict_of_the_pair(
    tmp_path: Path, gains: tuple[float, ...], says: str, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the headline tests p without the correction, or depends on which model is A."""
    table, headlines = tmp_path / "two.csv", []
    cells = [
        (f"{0.5 + k * 0.03:.4f}", f"{0.5 + k * 0.03 + g / 100:.4f}") for k, g in enumerate(gains)
    ]
    for swapped in (False, True):
        names, order = ("BA", -1) if swapped else ("AB", 1)
        rows = [f"d{k},{','.join(pair[::order])}" for k, pair in enumerate(cells)]
        table.write_text("\n".join([f"dataset,{','.join(names)}", *rows]))
        tree = _json(capsys, "--table", table)
        (pair,), (headline,) = tree["pairs"], tree["headline"]
        p = pair["wilcoxon_signed_rank"]["p_adjusted"]
        assert f"corrected p {text.p_value(p)}" in headline
        assert f"corrected p {text.p_value(p)}" in tree["verdict"][0]
        headlines.append(headline.replace("between B and A", "between A and B"))
    assert says in headlines[0] and headlines[0] == headlines[1]
    shown = "No difference" not in tree["verdict"][0]
    assert shown == ("no difference" not in headlines[0])
    assert ("isagree" in tree["verdict"][0]) == ("isagree" in headlines[0])


def test_a_control_is_compared_by_holm(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if all pairs are looked at, or the sentence turns better and worse round."""
    table, out = _demsar(tmp_path, False), tmp_path / "figures"
    tree = _json(capsys, "--table", table, "--control", "C4.5")
    assert {pair["a"] for pair in tree["pairs"]} == {"C4.5"} and len(tree["pairs"]) == 3
    assert tree["headline"][1].startswith("Against the control C4.5, ranked better: C4.5+m+cf (p")
    assert "no significant difference: C4.5+cf" in tree["headline"][1]
    losses = _json(capsys, "--table", table, "--control", "C4.5", "--lower-is-better")
    assert "ranked worse: C4.5+m" in losses["headline"][1]
    words = ["--table", str(table), "--control", "C4.5", "--figures", str(out)]
    assert compare.main(words) == 0
    assert (out / "critical_difference.svg").exists() and not (out / "profiles.svg").exists()
    shown = capsys.readouterr().out
    assert "C4.5 against" not in shown and "--details: all tests" in shown
    against = "Against C4.5, better: C4.5+m+cf and C4.5+m; no difference was shown: C4.5+cf."
    assert shown.strip().startswith(against)
    assert compare.main([*words[:4], "--details"]) == 0
    assert "C4.5 against C4.5+m" in capsys.readouterr().out
    with pytest.raises(JaxevalError, match="no control 'c45'"):
        compare.main(["--table", str(table), "--control", "c45"])


def test_scores_of_different_data_sets_are_not_paired_nor_pooled(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a verdict on two models counts data sets that only one of them has."""
    path = tmp_path / "t.csv"
    rows = [f"set{k},{0.5 + k / 50},{0.49 + k / 50 if k < 7 else ''}" for k in range(12)]
    path.write_text("\n".join(["dataset,A,B", *rows]))
    (pair,) = _json(capsys, "--table", path, "--missing", "drop")["pairs"]
    assert pair["n"] == [7, 7] and pair["verdict"]["location_test"] == "wilcoxon_signed_rank"
    path.write_text("model,dataset,score\nA,x,1\nA,y,2\nB,v,1\nB,w,3\n")
    with pytest.raises(JaxevalError, match=r"two or more models|no two models have scores"):
        compare.main(["--table", str(path)])


def test_many_games_have_one_headline(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if pairs on single data sets are what is read, or profiles have no values in JSON."""
    draw = np.random.default_rng(9)
    rows = ["model,game,run,score"]
    for k, model in enumerate("abcd"):
        for game in range(6):
            scores = draw.normal(0.3 + 0.1 * k + 0.02 * game, 0.03, 5)
            rows += [f"{model},g{game},{r},{s:.4f}" for r, s in enumerate(scores)]
    path = tmp_path / "games.csv"
    path.write_text("\n".join(rows))
    assert compare.main(["--table", str(path), "--resamples", "199"]) == 0
    shown = capsys.readouterr().out
    assert shown.strip().startswith("d is best: it is better than c, b and a on all 6 data sets.")
    assert re.search(r"^d  c +6 +0 +0 ", shown, re.M) and " against " not in shown
    assert len(shown.splitlines()) <= 25
    assert compare.main(["--table", str(path), "--resamples", "199", "--details"]) == 0
    shown = capsys.readouterr().out
    assert "Over 6 data sets the models differ: average ranks d 1.00" in shown
    assert "P(row better)" in shown and "d against" not in shown and "a against d on g5" in shown
    tree = _json(capsys, "--table", path)
    across = tree["across_datasets"]
    profile = across["performance_profile"]
    assert len(profile["thresholds"]) == len(profile["models"]["a"]["share"]) == 101
    assert across["optimality_gap"]["gamma"] == 1.0
    assert len(across["average_probability_of_improvement"]) == 6 and len(tree["pairs"]) == 36


def test_equal_scores_have_no_interval_over_data_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if three models, one of equal scores, have intervals of no width."""
    draw, path = np.random.default_rng(3), tmp_path / "equal.csv"
    rows = [
        f"{model},d{k},{run},{0.6 + spread * draw.normal():.4f}"
        for model, spread in (("a", 0.0), ("b", 0.02), ("c", 0.02))
        for k in range(6)
        for run in range(4)
    ]
    path.write_text("\n".join(["model,dataset,seed,score", *rows]))
    words = ["--table", str(path), "--gamma", "0.9", "--resamples", "99"]
    assert compare.main([*words, "--details"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a 0.60000 (no 95 % CI as all resamples have one value)" in shown
    assert "0.60000 - 0.30000 -" in shown and "[0.60000" not in shown
    across = _json(capsys, *words)["across_datasets"]
    gaps = across["optimality_gap"]["models"]
    for of_model in (across["interquartile_mean"]["a"], gaps["a"]):
        assert of_model["interval"]["low"] is of_model["interval"]["high"] is None
    assert gaps["b"]["interval"]["low"] < gaps["b"]["interval"]["high"]


def _runs(folder: Path, members: list[tuple[str, str, str, dict[str, Any]]]) -> Path:
    """A runs folder of experiments: name, place of the data, its hash, other fields."""
    draw = np.random.default_rng(10)
    with runs.open_store(folder) as store:
        for k, (name, data, data_hash, more) in enumerate(members):
            fields = {"config_hash": f"config-{name}", **more}
            member = {"repeat": 1} if name.endswith("noise") else {}
            experiment = dataclasses.replace(
                test_store.EXPERIMENT, id=f"id{k}", name=name, data=data, data_hash=data_hash,
                **fields,
            )  # fmt: skip
            store.register(experiment)
            scores = draw.normal(0.7 + 0.05 * (name == "new"), 0.01, 6)
            store.record(
                [
                    test_store.result(seed, experiment=experiment.id, test=float(s), **member)
                    for seed, s in enumerate(scores, 1)
                ],
                [],
            )
    return folder


def test_models_of_different_corpora_get_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a model trained on one corpus is compared with one trained on another."""
    folder = _runs(tmp_path, [("old", "/d/ewt", "h1", {}), ("new", "/d/gum", "h2", {})])
    with pytest.raises(JaxevalError, match=r"no two models .*new on gum, old on ewt") as caught:
        compare.main(["--runs", str(folder)])
    assert "--column dataset=NAME" in str(caught.value)


def test_a_model_has_one_name_on_all_data_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if ids of experiments keep the runs of one config apart, or corpora are pooled."""
    pairs = [(name, f"/d/{d}/high", d, {}) for d in ("dutch", "irish") for name in ("old", "new")]
    tree = _json(capsys, "--runs", _runs(tmp_path, pairs))
    assert [(p["a"], p["b"], p["dataset"]) for p in tree["pairs"]] == [
        ("new", "old", "/d/dutch/high"), ("new", "old", "/d/irish/high"),
    ]  # fmt: skip
    assert [p["verdict"]["higher"] for p in tree["pairs"]] == ["a", "a"]
    assert tree["across_datasets"]["datasets"] == ["/d/dutch/high", "/d/irish/high"]
    assert "On these data sets a run of new is better" in tree["headline"][1]


def test_the_place_may_be_the_data_set(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if models that differ in pretrained vectors cannot be compared on one corpus."""
    same = {"config_hash": "c"}
    folder = _runs(
        tmp_path, [("m", "/d/ewt", "glove000", same), ("m", "/d/ewt", "none0000", same)]
    )
    with pytest.raises(JaxevalError, match=r"m on ewt \(glove000\), m on ewt \(none0000\)"):
        compare.main(["--runs", str(folder)])
    tree = _json(capsys, "--runs", folder, "--column", "dataset=data")
    assert [(p["a"], p["b"]) for p in tree["pairs"]] == [("m (id0)", "m (id1)")]


def test_one_corpus_is_no_axis_and_different_configs_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if old folders get other names, or a model tuned for each data set goes unnoticed."""
    corpus = _runs(tmp_path / "one", [("old", "/d", "h", {}), ("new", "/d", "h", {})])
    assert _json(capsys, "--runs", corpus)["pairs"][0]["dataset"] == ""
    tuned = [
        (n, d, d, {"config_hash": n + d * (n == "new")}) for d in "xy" for n in ("old", "new")
    ]
    warned = _json(capsys, "--runs", _runs(tmp_path / "two", tuned))["warnings"]
    assert "new: its config is not the same on all data sets" in warned


def test_what_two_experiments_differ_in_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if two experiments of one name are told apart by their hashes alone."""
    config = {"name": "m", "rate": {"value": 0.005, "kind": "adam"}, "sizes": [1, 2], "out": {}}
    other = {**config, "rate": {"value": 0.0005, "kind": "adam"}, "sizes": [1, 3], "more": None}
    more = {**other, **{f"key{k}": k for k in range(4)}}

    def noted(*configs: dict[str, Any]) -> list[str]:
        members = [
            ("m", "/d", "h", {"config": json.dumps(tree), "config_hash": f"c{k}"})
            for k, tree in enumerate(configs)
        ]
        folder = _runs(tmp_path / str(len(list(tmp_path.iterdir()))), members)
        notes: list[str] = _json(capsys, "--runs", folder)["notes"]
        assert compare.main(["--runs", str(folder), "--resamples", "9"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert all(" ".join(note.split()) in shown for note in notes)
        return notes

    assert noted(config, other) == [
        "m (id0) and m (id1) differ in rate.value: 0.005, 0.0005; sizes: [1, 2], [1, 3]; "
        "more: absent, null"
    ]
    assert noted(config, more) == ["m (id0) and m (id1) differ in 7 keys of their configs"]
    assert noted(config, {**config, "name": "n"}) == noted(config, other, more) == []


def test_other_kinds_of_experiments_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if runs of a sweep are models with one score, or a message speaks of columns only."""
    sweep = {"config": '{"sweep": {"space": {}}}'}
    others = [("a, sweep", "/d", "h", sweep), ("a, noise", "/d", "h", {})]
    folder = _runs(tmp_path / "all", [("old", "/d", "h", {}), ("new", "/d", "h", {}), *others])
    tree = _json(capsys, "--runs", folder)
    assert len(tree["pairs"]) == 1
    (said,) = [line for line in tree["warnings"] if line.startswith("not compared")]
    assert "a, sweep (6 runs of f1; a random sweep: python -m jaxeval.sensitivity)" in said
    only = _runs(tmp_path / "only", others)
    with pytest.raises(JaxevalError, match=r"no experiment whose runs differ in seed.*a, noise"):
        compare.main(["--runs", str(only)])
    mixed = [("a", "/d", "h", {}), ("lm", "/t", "t", {"metric": "perplexity"})]
    with pytest.raises(JaxevalError, match=r"a \(6 runs of f1\), lm \(6 runs of perplexity\)"):
        compare.main(["--runs", str(_runs(tmp_path / "mixed", mixed))])
