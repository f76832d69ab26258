"""The verb `plan`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from jaxeval import plan
from jaxeval.errors import DataError
from jaxeval.stats import items

Shown = pytest.CaptureFixture[str]


def _table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of A and B, 40 items, 3 and 4 runs; [I, R] of both."""
    generator = np.random.default_rng(0)
    a, b = (generator.random((40, runs)) < 0.7 for runs in (3, 4))
    rows = ["model,seed,item,correct"]
    for model, answers in (("A", a), ("B", b)):
        rows += [
            f"{model},{run},{item},{int(answers[item, run])}"
            for item, run in np.ndindex(answers.shape)
        ]
    path.write_text("\n".join(rows) + "\n")
    return a.astype(float), b.astype(float)


DOCS = Path(__file__).parents[1] / "docs" / "items_and_runs.md"


@pytest.mark.parametrize("source", ["help", "docs"])
def test_millers_example(source: str, capsys: Shown) -> None:
    """Dies if sds are taken for variances, or the command as documented prints other than 969 by
    Miller's equation and the two more that the t test needs."""
    text = plan.parser().format_help() if source == "help" else DOCS.read_text()
    example = next(line for line in text.splitlines() if "plan --difference 0.03" in line)
    assert plan.main(example.partition("plan ")[2].split()) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines[2:-2]]
    assert rows[0] == ["items", "alone", "971", "1", "1", "1,942", "0.80"]
    assert lines[-2].endswith("which takes the spread as known, gives 969 items.")
    assert [row[0] for row in rows] == ["items", "cheapest"]
    assert "other runs may differ" in lines[-1]


def test_what_a_pilot_cannot_separate_is_unknown(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a component that one run each cannot show is 0, or a way to buy it has a row."""
    rows = [
        f"{m},0,{item},{(item * k) % 3 % 2}" for m, k in (("A", 1), ("B", 2)) for item in range(40)
    ]
    table = tmp_path / "items.csv"
    table.write_text("\n".join(["model,seed,item,correct", *rows]))
    call = ["--items", str(table), "--model", "A", "--minus", "B", "--difference", "0.1"]
    assert plan.main(call) == 0
    shown = capsys.readouterr().out
    assert "40 items, 1 run of each model, 1 sample;" in shown
    assert "runs unknown, items x runs unknown, samples unknown" in shown
    assert "more items alone" in shown and "runs alone" not in shown and "-:" not in shown
    assert plan.main([*call, "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [tree[name] for name in ("runs", "items_x_runs", "samples")] == [None] * 3
    _table(table)
    assert plan.main(call) == 0
    shown = capsys.readouterr().out
    assert shown.count("unknown") == 1 and "samples unknown" in shown and "more runs" in shown


def test_runs_that_leave_too_much_open_are_named(capsys: Shown) -> None:
    """Dies if a dash has no reason."""
    call = ["--difference", ".01", "--sd-items", ".1", "--sd-runs", ".1", "--fewest-runs", "2"]
    assert plan.main(call) == 0
    shown = capsys.readouterr().out
    assert "what the others leave open stays" in shown and "samples alone" not in shown


def test_pilot_is_that_of_the_table(tmp_path: Path, capsys: Shown) -> None:
    """Dies if runs and items of the table are exchanged, or A - B is B alone."""
    a, b = _table(tmp_path / "items.csv")
    words = ["--items", str(tmp_path / "items.csv"), "--model", "A", "--minus", "B"]
    assert plan.main([*words, "--difference", "0.1", "--run-cost", "9", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    spread, now = items.spread(a, b)
    expected = items.plan(0.1, spread, now, items.Costs(run=9))
    assert tree["runs"] == spread.runs and tree["samples"] is None
    assert [tree["now"][name] for name in ("items", "runs", "samples")] == [40, 3, 1]
    assert expected.cheapest is not None
    assert tree["cheapest"]["cost"] == expected.cheapest.cost


def test_costs_are_written_out_with_their_unit(tmp_path: Path, capsys: Shown) -> None:
    """Dies if millions have an exponent, or the unit of the default is not named."""
    _table(tmp_path / "items.csv")
    words = ["--items", str(tmp_path / "items.csv"), "--model", "A", "--minus", "B"]
    for more in ([], ["--answer-cost", "3000"]):
        assert plan.main([*words, "--difference", "0.05", *more]) == 0
        shown = capsys.readouterr().out
        assert ("cost (answers)" in shown) is ("answers." in shown) is (not more)
        assert not re.search(r"\de[+-]", shown)
        assert plan.main([*words, "--difference", "0.05", *more, "--json", "-"]) == 0
        cost = json.loads(capsys.readouterr().out)["cheapest"]["cost"]
        assert f"{cost:,.0f}" in shown and (cost > 1e6 or not more)
    assert "% CIs, modified large-sample)" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--items FILE (a pilot) or --sd-items"),
        (["--sd-items", "1", "--model", "A"], "expected --log or --items beside"),
        (["--sd-items", "1", "--sd-runs", "1"], "--fewest-runs 2"),
        (["--items", "x.csv"], "--model and --minus"),
        (["--items", "x.csv", "--model", "A", "--minus", "B", "--sd-runs", "1"], "no --sd"),
        (["--items", "x.csv", "--model", "A", "--minus", "A"], "another model than --model"),
        (["--sd-items", "0"], "expected a number above 0, as no other --sd is"),
        (["--sd-items", "1", "--power", "1"], "between 0 and 1"),
    ],
)
def test_wrong_arguments_are_one_line(words: list[str], said: str, capsys: Shown) -> None:
    """Dies if a check is lost."""
    with pytest.raises(SystemExit) as stop:
        plan.main(["--difference", "0.1", *words])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_unknown_model_is_named(tmp_path: Path) -> None:
    """Dies if a model that the table lacks is taken as one without runs."""
    _table(tmp_path / "items.csv")
    words = ["--items", str(tmp_path / "items.csv"), "--model", "A", "--minus", "C"]
    with pytest.raises(DataError, match="no model 'C'; expected one of A, B"):
        plan.main([*words, "--difference", "0.1"])


def _logs(folder: Path) -> list[str]:
    """The same answers as logs of two models, with clusters; the words that name them."""
    a, b = _table(folder / "items.csv")
    for name, answers in (("A", a), ("B", b)):
        lines = [
            {"item": f"i{k}", "text": f"t{k // 2}", "score": row}
            for k, row in enumerate(answers.tolist())
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    logs = [word for name in "AB" for word in ("--log", str(folder / f"{name}.jsonl"))]
    return [*logs, "--model", "A", "--minus", "B", "--difference", "0.1"]


def test_a_pilot_of_logs_is_that_of_the_table(tmp_path: Path, capsys: Shown) -> None:
    """Dies if logs are read as another pilot than the table of the same answers, or if clusters
    change nothing."""
    logs = _logs(tmp_path)
    table = ["--items", str(tmp_path / "items.csv"), *logs[4:]]
    trees = []
    for words in (logs, table, [*logs, "--cluster", "text"]):
        assert plan.main([*words, "--json", "-"]) == 0
        trees.append(json.loads(capsys.readouterr().out))
    assert trees[0] == trees[1]
    first, clustered = (tree["intervals"]["high"]["items"] for tree in trees[::2])
    assert clustered != first


def test_what_to_buy_next_and_how_sure_that_is(tmp_path: Path, capsys: Shown) -> None:
    """Dies if the purchase is not the cheapest design less the pilot, or if its uncertainty is
    not that of the plans at the ends of the intervals."""
    words = [*_logs(tmp_path), "--run-cost", "50", "--item-cost", "1"]
    assert plan.main([*words, "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert plan.main(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    more = tree["cheapest"]["items"] - 40
    assert f"To buy next: {more} items" in shown
    ends = tree["intervals"]
    assert ends["low"]["runs"] <= tree["runs"] <= ends["high"]["runs"]
    assert ends["cheapest_low"]["cost"] <= tree["cheapest"]["cost"]
    high = items.Spread(**{k: v or 0.0 for k, v in ends["high"].items()})
    expected = items.plan(0.1, high, items.Size(40, 3), items.Costs(item=1, run=50)).cheapest
    cheapest = ends["cheapest_high"]
    assert (cheapest is None) == (expected is None)
    assert expected is None or cheapest["cost"] == expected.cost
    assert (
        "The pilot leaves open how much" in shown
        and f"[{ends['low']['items'] ** 0.5:.3g}" in shown
    )
    assert tree["expected_power"] < tree["cheapest"]["power"]
    averaged = f"shows the difference with probability {tree['expected_power']:.2f}: a larger"
    assert f"Averaged over what the pilot leaves open, that {averaged}" in shown


def test_what_is_enough_has_nothing_to_make_up_for(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a larger pilot is asked for where this one is enough."""
    words = _logs(tmp_path)
    assert plan.main([*words[:-1], "5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "To buy next: nothing; this is enough." in shown
    assert "probability 1.00." in shown and "makes up for it" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "t"], "no task 't' in the logs"),
        (["--metric", "f1"], "no task has a metric 'f1'"),
    ],
)
def test_unknown_tasks_of_logs_are_named(tmp_path: Path, words: list[str], said: str) -> None:
    """Dies if a task that the logs lack is passed over."""
    with pytest.raises(DataError, match=said):
        plan.main([*_logs(tmp_path), *words])


@pytest.mark.parametrize(("difference", "few"), [("0.5", True), ("0.2", False)])
def test_few_items_are_warned_of(
    difference: str, few: bool, capsys: pytest.CaptureFixture
) -> None:
    """Dies if ten items pass for enough to speak of others."""
    assert plan.main(["--difference", difference, "--sd-items", "0.5"]) == 0
    assert ("Fewer than 30 items" in capsys.readouterr().out) is few


def test_unequal_numbers_of_runs_are_said(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a plan of three runs of each passes for the pilot, in which one model has five."""
    random = np.random.default_rng(0)
    rows = [
        f"{model},{run},{item},{int(random.random() < p)}"
        for model, runs, p in (("A", 5, 0.8), ("B", 3, 0.6))
        for run in range(runs)
        for item in range(40)
    ]
    table = tmp_path / "items.csv"
    table.write_text("\n".join(["model,seed,item,correct", *rows]))
    words = ["--difference", "0.1", "--items", str(table), "--model", "A", "--minus", "B"]
    assert plan.main(words) == 0
    assert "The models have 5 and 3 runs." in " ".join(capsys.readouterr().out.split())
    assert plan.main([*words, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["runs_of_models"] == [5, 3]
