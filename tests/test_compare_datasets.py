"""`jaxeval compare` over several data sets: of a table, and of a runs folder."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import JaxevalError
from jaxeval.report import text
from tests import comparing
from tests.runs import test_store
from tests.stats.test_datasets import DEMSAR


def _json(capsys: pytest.CaptureFixture, *words: object) -> dict[str, Any]:
    return comparing.json_of(capsys, *words, "--resamples", "499")


def _demsar(folder: Path) -> Path:
    path = folder / "demsar.csv"
    rows = [f"set{k}," + ",".join(map(str, scores)) for k, scores in enumerate(DEMSAR)]
    path.write_text("\n".join(["dataset,C4.5,C4.5+m,C4.5+cf,C4.5+m+cf", *rows]))
    return path


def test_one_score_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if Demsar's table is refused, or its ranks are not those that he prints."""
    tree = _json(capsys, _demsar(tmp_path))
    across = tree["across"]
    assert tree["unit"] == "dataset" and len(across["data_sets"]) == 14
    ranking = across["ranking"]
    ranks = dict(zip(ranking["models"], ranking["average_ranks"], strict=True))
    assert ranks == pytest.approx(
        {"C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}, abs=5e-4
    )
    assert ranking["critical_difference"] == pytest.approx(1.25, abs=5e-3)
    assert across["aggregates"] is None  # one run says nothing of other runs
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("dataset,A,B\n" + "".join(f"d{k},8{k},7{8 - k}\n" for k in range(9)))
    assert not _json(capsys, lacking)["warnings"]
    lacking.write_text(lacking.read_text().replace("d3,83,75", "d3,83,"))
    warnings = _json(capsys, lacking, "--missing", "drop")["warnings"]
    assert "B: no scores on d3; not compared there" in warnings
    rows = [f"d{k},8{k},7{8 - k},{'' if k else 5}\n" for k in range(9)]
    lacking.write_text("dataset,A,B,C\n" + "".join(rows))  # C shares one data set with A and B
    (pair,) = _json(capsys, lacking, "--missing", "drop")["pairs"]
    assert (pair["a"], pair["b"]) == ("A", "B")
    with pytest.raises(JaxevalError, match="A and C: 1 data set in common; expected at least 5"):
        comparing.main(lacking, "A", "C", "--missing", "drop")
    rows = [
        f"d{k},8.{k * 37 % 11:02},8.{k * 53 % 13:02},{'' if k > 3 else 8.1 + k / 99}\n"
        for k in range(9)
    ]
    lacking.write_text("dataset,A,B,C\n" + "".join(rows))  # two pairs can show nothing
    shown = comparing.shown(capsys, lacking, "--missing", "drop")
    assert "No difference between the 3 models" in shown and " for the best-known pair" in shown


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        ((2, 3, 4, 5, 6, 7, 8, -6.5), "No difference between A and B was shown"),
        ((2, 3, 4, 5, 6, 7, 8, 9), "B is better than A: "),
        ((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -140), "Measures of location disagree"),
    ],
)
def test_data_sets_say_one_thing_of_two_models(
    tmp_path: Path, gains: tuple[float, ...], says: str, capsys: pytest.CaptureFixture
) -> None:
    """Dies if they are tested twice, in other words, or the words depend on which model is A."""
    path = tmp_path / "two.csv"
    cells = [
        (f"{0.5 + k * 0.03:.4f}", f"{0.5 + k * 0.03 + g / 100:.4f}") for k, g in enumerate(gains)
    ]
    for names, order in (("AB", 1), ("BA", -1)):
        rows = [f"d{k},{','.join(pair[::order])}" for k, pair in enumerate(cells)]
        path.write_text("\n".join([f"dataset,{','.join(names)}", *rows]))
        (pair,) = _json(capsys, path)["pairs"]
        shown = comparing.shown(capsys, path, "--details", "--resamples", "499")
        p = text.p_value(pair["adjusted"]["wilcoxon_signed_rank"])
        assert f"p {p} (Wilcoxon signed-rank, {len(gains)} data sets)" in shown
        assert shown.replace("between B and A", "between A and B").startswith(says)
        assert f"Over {len(gains)} data sets" not in shown


def test_differences_that_were_not_shown_are_not_called_higher(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the range of differences holds one of which the answer says that none was shown."""
    path = tmp_path / "t.csv"
    rows = [f"{d},{d}{k},.{5 + n}{k},.5{k}" for d, n in (("x", 0), ("y", 3)) for k in range(4)]
    path.write_text("\n".join(["dataset,seed,A,B", *rows]).replace("x0,.50", "x0,.52"))
    said = "A is better than B on 1 of 2 data sets; elsewhere no difference was shown."
    assert _json(capsys, path)["answer"][0] == said


def test_a_control_is_compared_by_holm(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if all pairs are looked at, or the sentence turns better and worse round."""
    table = _demsar(tmp_path)
    tree = _json(capsys, table, "--control", "C4.5")
    assert {pair["a"] for pair in tree["pairs"]} == {"C4.5"} and len(tree["pairs"]) == 3
    shown = comparing.shown(capsys, table, "--control", "C4.5", "--details")
    against = "Against C4.5, better: C4.5+m+cf and C4.5+m; no difference was shown: C4.5+cf."
    assert shown.startswith(against) and "C4.5 against C4.5+m" in shown


def test_many_games_have_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if pairs on single data sets are what is read."""
    draw = np.random.default_rng(9)
    rows = ["model,game,run,score"]
    for k, model in enumerate("abcd"):
        for game in range(6):
            scores = draw.normal(0.3 + 0.1 * k + 0.02 * game, 0.03, 5)
            rows += [f"{model},g{game},{r},{s:.4f}" for r, s in enumerate(scores)]
    path = tmp_path / "games.csv"
    path.write_text("\n".join(rows))
    comparing.main(path, "--resamples", "99")
    shown = capsys.readouterr().out
    first, second = shown.strip().splitlines()[:2]
    assert first == "d is best in the mean over 6 data sets: it is better than c, b and a."
    each = "Data set by data set, d is best: it is better than c, b and a on all 6 data sets."
    assert second == each and " against " not in shown
    assert "d a 6 0 0" in " ".join(shown.split())  # one line a pair
    assert len(shown.splitlines()) <= 33
    shown = comparing.shown(capsys, path, "--resamples", "99", "--details")
    assert "Over 6 data sets the models differ: average ranks d 1.00" in shown
    assert "P(row better)" in shown and "a against d on g5" in shown


def _runs(folder: Path, members: list[tuple[str, str, str, dict[str, Any]]]) -> Path:
    """A runs folder of experiments: name, place of the data, its hash, other fields."""
    draw = np.random.default_rng(10)
    for k, (name, data, data_hash, more) in enumerate(members):
        about = {"name": name, "data": data, "data_hash": data_hash, **more}
        member = {"repeat": 1} if name.endswith("noise") else {}
        random = name.endswith("random")
        scores = draw.normal(0.7 + 0.05 * (name == "new"), 0.01, 6)
        ends = [
            test_store.result(n, test=float(s), split=n * random, **member)
            for n, s in enumerate(scores, 1)
        ]
        test_store.write(folder, f"id{k}", ends, **{"config_hash": f"config-{name}", **about})
    return folder


def test_random_splits_beside_the_datas_own_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if six seeds on the data's own split pass for one score, or for a random split."""
    folder = _runs(tmp_path, [(name, "/d", "h", {}) for name in ("one", "two", "random")])
    shown = comparing.shown(capsys, folder)
    assert re.search(r"^one \(\S+\), two \(\S+\) have one split each; a test needs 3", shown, re.M)
    assert "one, two on the data's own split, random on random splits: name models of" in shown
    assert "on random splits" not in comparing.shown(capsys, folder, "one", "two")


def test_models_have_one_name_on_all_data_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a model of one corpus is compared with one of another, if ids of experiments keep
    the runs of one config apart, or corpora are pooled."""
    folder = _runs(tmp_path / "apart", [("old", "/d/ewt", "h1", {}), ("new", "/d/gum", "h2", {})])
    with pytest.raises(JaxevalError, match=r"no two models .*new on gum, old on ewt") as caught:
        comparing.main(folder)
    assert "--column dataset=NAME" in str(caught.value)
    pairs = [(name, f"/d/{d}/high", d, {}) for d in ("dutch", "irish") for name in ("old", "new")]
    tree = _json(capsys, _runs(tmp_path / "both", pairs))
    assert [(p["a"], p["b"], p["data_set"], p["shown"]) for p in tree["pairs"]] == [
        ("new", "old", "/d/dutch/high", 1), ("new", "old", "/d/irish/high", 1),
    ]  # fmt: skip
    same = {"config_hash": "c"}
    members = [("m", "/d/ewt", "glove000", same), ("m", "/d/ewt", "none0000", same)]
    folder = _runs(tmp_path / "vectors", members)
    with pytest.raises(JaxevalError, match=r"m on ewt \(glove000\), m on ewt \(none0000\)"):
        comparing.main(folder)
    tree = _json(capsys, folder, "--column", "dataset=data")
    assert [(p["a"], p["b"]) for p in tree["pairs"]] == [("m (id0)", "m (id1)")]


def test_what_experiments_differ_in_is_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if two experiments of one name are told apart by their hashes alone, or a model tuned
    for each data set goes unnoticed."""
    config = {"name": "m", "rate": {"value": 0.005, "kind": "adam"}, "sizes": [1, 2], "out": {}}
    other = {**config, "rate": {"value": 0.0005, "kind": "adam"}, "sizes": [1, 3], "more": None}
    other["out"] = {"of": 1}
    other["training"] = {"save_models": True, "lanes": 2}  # these change no score
    members = [
        ("m", "/d", "h", {"config": json.dumps(tree), "config_hash": f"c{k}"})
        for k, tree in enumerate((config, other))
    ]
    said = (
        "m (id0) and m (id1) differ in rate.value: 0.005, 0.0005; sizes: [1, 2], [1, 3]; "
        "out.of: absent, 1; more: absent, null"
    )
    shown = comparing.shown(capsys, _runs(tmp_path / "one", members), "--resamples", "9")
    assert said in shown
    tuned = [
        (n, d, d, {"config_hash": n + d * (n == "new")}) for d in "xy" for n in ("old", "new")
    ]
    warned = _json(capsys, _runs(tmp_path / "two", tuned))["warnings"]
    assert "new: its config is not the same on all data sets" in warned


def test_other_kinds_of_experiments_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if runs of a sweep are models with one score, or a message speaks of columns only."""
    sweep = {"config": '{"sweep": {"space": {}}}'}
    others = [("a, sweep", "/d", "h", sweep), ("a, noise", "/d", "h", {})]
    folder = _runs(tmp_path / "all", [("old", "/d", "h", {}), ("new", "/d", "h", {}), *others])
    tree = _json(capsys, folder)
    assert len(tree["pairs"]) == 1
    (said,) = [line for line in tree["warnings"] if line.startswith("not compared")]
    assert "a, sweep (6 runs of f1; settings drawn at random: jaxeval sensitivity)" in said
    with pytest.raises(JaxevalError, match=r"no experiment whose runs differ in seed.*a, noise"):
        comparing.main(_runs(tmp_path / "only", others))


def test_one_run_on_several_tasks_is_compared_by_its_items(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if each task counts as one score, of which four show nothing, however many items."""
    draw, rows = np.random.default_rng(11), ["model,task,item,correct"]
    for model, rate in (("a", 0.6), ("b", 0.75)):
        for task in range(4):
            right = draw.random(200) < rate
            rows += [f"{model},t{task},{k},{int(won)}" for k, won in enumerate(right)]
    path = tmp_path / "items.csv"
    path.write_text("\n".join(rows))
    tree = comparing.json_of(capsys, "items", path)
    logged = comparing.json_of(capsys, "logs", path)
    assert tree["answer"] == logged["answer"] and tree["pairs"] == logged["pairs"]
    assert tree["answer"][0].startswith("b is better than a in the mean over 4 tasks: accuracy ")


def test_one_score_on_a_data_set_leaves_the_others() -> None:
    """Dies if two crashes on one data set refuse the whole comparison, or one score is tested."""
    rows = [
        {"model": m, "dataset": d, "seed": k, "acc": 0.7 + 0.1 * (m == "B") + k / 100}
        for m, d, k in itertools.product("AB", "xyz", range(3))
        if (m, d, k > 0) != ("A", "y", True)
    ]
    found = jaxeval.compare(rows)
    first, second = found.document().answer[:2]
    assert first.startswith("B is better than A on both")
    assert {pair.data_set for pair in found.study.pairs} == {"x", "z"}
    assert second.startswith("A has one score on y, 70.00; a test needs 3. It is above 0")


@pytest.mark.parametrize("scale", [1, 100])
def test_games_of_different_scales_have_a_chance_in_place_of_a_mean(scale: int) -> None:
    """Dies if many games that all lean one way read as no difference, since they have no mean."""
    noise = iter(np.random.default_rng(0).normal(size=120))
    rows = [
        {
            "model": m,
            "game": f"g{g}",
            "seed": k,
            "score": scale**g * (9 + (m == "B") + next(noise)),
        }
        for m, g, k in itertools.product("AB", range(3), range(20))
    ]
    *_, last = jaxeval.compare(rows).document().answer
    assert last.startswith("On these data sets a run of B is better than one") == (scale > 1)
