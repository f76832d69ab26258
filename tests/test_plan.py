"""The verb `plan`."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import scores
from jaxeval.stats import pilots, planning
from tests import comparing

Shown = pytest.CaptureFixture[str]
BOTH = ("--model", "A", "--minus", "B")


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


def _logs(folder: Path) -> list[str]:
    """The same answers as logs of two models, with clusters."""
    a, b = _table(folder / "items.csv")
    for name, answers in (("A", a), ("B", b)):
        lines = [
            {"item": f"i{k}", "text": f"t{k // 2}", "score": row}
            for k, row in enumerate(answers.tolist())
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ["logs", *(str(folder / f"{name}.jsonl") for name in "AB"), *BOTH]


def test_millers_example(capsys: Shown) -> None:
    """Dies if an sd is taken for a variance: Miller's equation, of a known spread, gives 969, and
    the t test needs two items more; each is answered by both models."""
    tree = comparing.json_of(capsys, "--difference", "0.03", "--sd", "0.33333", verb="plan")
    assert tree["plan"]["cheapest"]["size"]["items"] == 971
    shown = comparing.shown(capsys, "--difference", "0.03", "--sd", "0.33333", verb="plan")
    assert shown.startswith("971 items, 1 run of each model") and " 1,942 " in shown


def test_what_a_pilot_cannot_separate_is_unknown(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a component that one run each cannot show is shown as 0, or has a way to buy it."""
    rows = [
        f"{m},0,{item},{(item * k) % 3 % 2}" for m, k in (("A", 1), ("B", 2)) for item in range(40)
    ]
    path = tmp_path / "items.csv"
    path.write_text("\n".join(["model,seed,item,correct", *rows]))
    words = ["logs", path, *BOTH, "--difference", "0.1"]
    shown = comparing.shown(capsys, *words, verb="plan")
    assert "runs unknown, items x runs unknown, samples unknown" in shown
    assert "runs alone" not in shown


def test_pilots_are_those_of_the_scores(tmp_path: Path, capsys: Shown) -> None:
    """Dies if runs and items are exchanged, A - B is B alone, logs are another pilot than the
    table of the same answers, or clusters change nothing."""
    logs = [*_logs(tmp_path), "--difference", "0.1"]
    a, b = _table(tmp_path / "items.csv")
    of_table = ["logs", tmp_path / "items.csv", *BOTH, "--difference", "0.1"]
    first, second, clustered = (
        comparing.json_of(capsys, *words, verb="plan")
        for words in (logs, of_table, [*logs, "--cluster", "text"])
    )
    assert first["plan"] == second["plan"] and first["spread"] == second["spread"]
    data = scores.from_arrays({"a": a, "b": b})
    spread, now = pilots.pilot(data, "a", "b")[:2]
    expected = planning.plan(0.1, spread, now)
    assert first["spread"]["runs"] == spread.runs
    assert [first["pilot"]["size"][name] for name in ("items", "runs", "samples")] == [40, 3, 1]
    assert expected.cheapest is not None
    assert first["plan"]["cheapest"]["size"]["items"] == expected.cheapest.size.items
    assert clustered["pilot"]["high"]["items"] != first["pilot"]["high"]["items"]
    assert list(first["runs"]) == [3, 4]


def test_what_to_buy_next_and_how_sure_that_is(tmp_path: Path, capsys: Shown) -> None:
    """Dies if the purchase is not the cheapest design less the pilot, or if more is asked for
    where this is enough."""
    words = _logs(tmp_path)
    tree = comparing.json_of(capsys, *words, "--difference", "0.1", verb="plan")
    shown = comparing.shown(capsys, *words, "--difference", "0.1", verb="plan")
    more = tree["plan"]["cheapest"]["size"]["items"] - 40
    size = tree["plan"]["cheapest"]["size"]
    new = 2 * (size["items"] * size["runs"] - 40 * 3)
    assert (
        shown.startswith(f"Most useful next: {more} more items")
        and f"for {new:,} new answers" in shown
    )
    assert "new answers" in " ".join(shown.split())
    assert tree["pilot"]["low"]["runs"] <= tree["spread"]["runs"] <= tree["pilot"]["high"]["runs"]
    assert "enough" in comparing.shown(capsys, *words, "--difference", "5", verb="plan")


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["--difference", "0", "--sd", "1"], ConfigError, "a number above 0"),
        (["--difference", "0.1"], SystemExit, "--sd"),
        (["logs", *BOTH], ConfigError, "expected files or folders of logs"),
        (["logs", "T", "--model", "A", "--minus", "A"], ConfigError, "expected two models"),
        (["logs", "T", "--model", "A", "--minus", "C"], DataError, "no model 'C'"),
        (["logs", "T", "--model", "A", "--minus", "B", "--difference", "9"], ConfigError, "9"),
        (["logs", "L", *BOTH, "--metric", "f1"], DataError, "no task has a metric 'f1'"),
        (["logs", "T", *BOTH, "--column", "task=seed"], DataError, "by --task NAME"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, words: list[str], error: type[BaseException], said: str, capsys: Shown
) -> None:
    """Dies if a check is lost."""
    logs = _logs(tmp_path)[1:3]
    whole: list[str] = []
    for word in words:
        whole += logs if word == "L" else [str(tmp_path / "items.csv") if word == "T" else word]
    if "--difference" not in whole:
        whole += ["--difference", "0.1"]
    with pytest.raises(error) as stop:
        comparing.main(*whole, verb="plan")
    assert said in (capsys.readouterr().err if error is SystemExit else str(stop.value))
