"""Verbs that study a config, end to end: other ways to evaluate, noise, neighbours, variants."""

import importlib
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from jaxeval import __main__ as command
from jaxeval import runs
from jaxeval.errors import ConfigError, RunError
from jaxeval.studies import saved
from jaxeval.tasks.language_evaluation import Averaging
from tests import tiny_corpora
from tests.verbs import evaluate, train

ablation = importlib.import_module("jaxeval.ablation")  # of the package, it is the function

SHORT = [
    *("training.evaluation_batch_size=2", "training.epochs=2", "training.patience=0"),
    "model.dropout.input=0.1",  # whose masks are averaged over
]
TOY = ["task=toy", "training.patience=0", "training.lanes=4"]
OTHER_WAYS = [
    *("--temperature", "0.8", "--mean", "arithmetic", "--mean", "geometric"),
    *("--samples", "3", "--streams", "2,1", "--dynamic", "0.01"),
]
CONDITIONS = [  # of OTHER_WAYS
    saved.Condition(2),
    saved.Condition(1),
    saved.Condition(2, temperature=0.8),
    saved.Condition(2, averaging=Averaging("arithmetic", 3)),
    saved.Condition(2, averaging=Averaging("geometric", 3)),
    saved.Condition(2, dynamic=0.01),
]


def _by_condition(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for row in rows:
        scores.setdefault(row["condition"], []).append(row["score"])
    return scores


def test_kept_models_are_evaluated_in_other_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a condition is lost, is another than was asked for, or is told as another, or the
    plain one is not train's. What the others score: tests/golden, test_language_evaluation.py."""
    scored: dict[saved.Condition, saved.Scores] = {}
    real = saved.scores

    def noted(models: Any, condition: saved.Condition, part: Any) -> saved.Scores:
        plain = saved.Condition(condition.rows)  # its program is train's
        factor = 1 if condition == plain else 1 + len(scored) / 100
        scores = real(models, plain, part)
        scored[condition] = [{name: factor * v for name, v in of.items()} for of in scores]
        return scored[condition]

    monkeypatch.setattr(saved, "scores", noted)
    data = tiny_corpora.text(tmp_path / "data")
    words = [*tiny_corpora.TEXT, *SHORT, "--data", str(data), "--out", str(tmp_path / "runs")]
    words += ["--seeds", "2"]
    with pytest.raises(RunError, match="save_models=true"):
        evaluate(words)
    assert train([*words, "training.save_models=true", "--json", "-"]) == 0
    trained = json.loads(capsys.readouterr().out)
    assert evaluate([*words, *OTHER_WAYS, "--json", "-"]) == 0
    shown = capsys.readouterr()
    by_condition = _by_condition(rows := json.loads(shown.out))
    assert len(by_condition) == 6 and all(len(scores) == 2 for scores in by_condition.values())
    means = {name: sum(scores) / 2 for name, scores in by_condition.items()}
    assert means["2 streams"] == pytest.approx(trained["test"]["mean"], rel=1e-6)
    assert len({round(mean, 9) for mean in means.values()}) == 6
    # each at once, so that a long one that is stopped loses no other
    assert all(f", {name}: test perplexity mean" in shown.err for name in means)
    assert [*scored] == CONDITIONS
    for condition, scores in scored.items():
        assert by_condition[str(condition)] == [each["perplexity"] for each in scores]
    table = tmp_path / "rows.json"
    table.write_text(
        json.dumps([row for row in rows if row["condition"] in ("1 stream", "2 streams")])
    )
    assert command.main(["compare", str(table), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["higher_is_better"] is False
    of_dev = ["--part", "dev", "--streams", "1,2", "--temperature", "search", "--json", "-"]
    with mock.patch.object(saved, "best_temperature", wraps=saved.best_temperature) as searched:
        assert evaluate([*words, *of_dev]) == 0
    assert searched.call_args.args[1] == 1  # in as many streams as it is used for
    dev = json.loads(capsys.readouterr().out)
    assert sum(_by_condition(dev)["2 streams"]) / 2 == pytest.approx(
        trained["dev"]["mean"], rel=1e-6
    )
    assert len(dev) == 6 and all("temperature" in row["condition"] for row in dev[4:])


def test_variants_are_trained_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a variant is trained without its changes, or compared with another variant."""
    file, variant = tmp_path / "variants.toml", '[[variant]]\nname = "{}"\nchanges = ["{}"]\n'
    changes = {f"to {n}": f"training.epochs={n}" for n in (2, 3, 5)}
    file.write_text("".join(variant.format(*of) for of in changes.items()))
    words = ["ablation", *TOY, "--out", str(tmp_path / "r"), "--seeds", "2"]
    words += ["--variants", str(file)]
    assert command.main(words) == 0
    said = capsys.readouterr()
    assert "4 models" in said.out and "3 comparisons" in said.out  # not those of two variants
    assert "\ncohort 3 of 4\n" in said.err  # how far it is
    rows = runs.load(tmp_path / "r")
    trained = {(row.name, row.epochs) for row in rows}
    assert trained == {("toy", 4), *((f"toy (to {n})", n) for n in (2, 3, 5))}
    (table,) = (tmp_path / "r" / "ablations").glob("*.json")
    recorded = {(of["model"], of["seed"]): of["score"] for of in json.loads(table.read_text())}
    assert recorded == {(row.name, row.seed): row.test for row in rows}
    assert any(row.dev != row.test for row in rows)
    assert command.main([*words, "model.width=9"]) == 0  # beside the others
    file.write_text(variant.format("same", "model.rate=0.2"))
    with pytest.raises(ConfigError, match=r"'toy \(same\)' is the same as 'toy'"):
        command.main(words)
    file.write_text(variant.format("other", "data.kept_out=1"))
    with pytest.raises(ConfigError, match="--seeds 1: expected 2 or more"):  # untrained
        command.main([*words, "--seeds", "1"])
    assert command.main(words) == 0
    said = "toy (other): other data than toy, perhaps other test items"
    assert said in capsys.readouterr().out
    file.write_text('[[variant]]\nname = "short"\nchange = ["training.epochs=2"]\n')
    with pytest.raises(ConfigError, match="changes"):
        command.main(words)
