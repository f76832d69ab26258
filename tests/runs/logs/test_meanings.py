"""What programs mean by what they write: metrics, splits, epochs, models and labels."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import DataError
from jaxeval.runs.item_scores import Paired
from jaxeval.runs.logs import finding, pairing
from jaxeval.runs.logs.records import Keys
from jaxeval.stats.items import completeness
from tests.runs.logs import writing

LATER = "2026-04-01T00-00-00.1"


def _paired(*paths: Path | str, **rules: Any) -> Paired:
    return pairing.paired(finding.read([*map(str, paths)]), pairing.Rules(**rules))


def _lines(path: Path, lines: Sequence[Mapping]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_perplexity_of_an_item_is_a_log_likelihood(tmp_path: Path) -> None:
    """Dies if the likelier text is the worse one, since the perplexity of all is lower."""
    metrics = {"perplexity": False}
    for name, scores in {"a": [-0.5, 0.0, -1.0], "b": [-2.0, -3.0, -4.0]}.items():
        writing.lm_eval(tmp_path, name, {"none": scores}, task="lambada", metrics=metrics)
    paired = _paired(tmp_path)
    (task,) = paired.tasks
    assert (task.metric, task.higher_is_better, task.stored_unit) == ("nll", False, "nats")
    assert [cube.ravel().tolist() for cube in task.scores.values()] == [[0.5, 0, 1], [2, 3, 4]]
    said = "task lambada: perplexity of an item is its log-likelihood, and is read as nll (nats)"
    assert paired.notes == (f"{said} (2 times)",)  # once a log
    with pytest.raises(DataError, match=rf"no task has .*nll \({re.escape(said)}\)"):
        _paired(tmp_path, metrics=("perplexity",))


def test_a_task_with_perplexities_of_its_own_keeps_them(tmp_path: Path) -> None:
    """Dies if what is no log-likelihood changes its sign."""
    for name in "ab":
        scores = {"none": [2.0, 9.0]}
        writing.lm_eval(tmp_path, name, scores, metrics={"perplexity": False})
    (task,) = _paired(tmp_path).tasks
    assert task.metric == "perplexity" and task.scores["a"].ravel().tolist() == [2.0, 9.0]


def test_networks_of_one_name_are_told(tmp_path: Path) -> None:
    """Dies if two checkpoints of a name become runs in silence, or if seeds, the device, equal
    models or names of a user are warned of."""

    def notes(arguments: Sequence[str], *paths: str, gen: Sequence[Any] = ("", "")) -> list[str]:
        for k, date in enumerate((writing.DATE, LATER)):
            folder = writing.lm_eval(tmp_path, "pythia", {"none": [0.0, 1.0]}, date=date)
            path = folder / f"results_{date}.json"
            config = {"model": "hf", "model_args": arguments[k], "gen_kwargs": gen[k]}
            path.write_text(json.dumps(json.loads(path.read_text()) | {"config": config}))
        return [*finding.read([*paths] or [str(tmp_path)]).notes]

    (note,) = notes(["pretrained=p,revision=step1", "pretrained=p,revision=step9"])
    assert note.startswith("logs of pythia differ in more than seeds (revision=step1; revision=st")
    assert not notes(["pretrained=p,seed=1,device=cuda:0", "pretrained=p,seed=2,device=cuda:1"])
    assert not notes(["tensor_parallel_size=1,max_memory_per_gpu=1", "base_url=http://h/v1"])
    assert not notes(["revision=step1", "revision=step9"], f"ours={tmp_path}")
    (note,) = notes(["", ""], gen=[{"temperature": 0, "seed": 1}, "temperature=1.0,seed=2"])
    assert "(temperature=0; temperature=1.0)" in note
    assert "(none of these; dtype=float16)" in notes(["", "dtype=float16"])[0]


def test_settings_of_tasks_are_no_settings_of_runs(tmp_path: Path) -> None:
    """Dies if two tasks that need two lengths warn of two models."""
    for task, date in (("s", writing.DATE), ("t", LATER)):
        folder = writing.lm_eval(tmp_path, "m", {"none": [0.0, 1.0]}, task=task, date=date)
        path = folder / f"results_{date}.json"
        config = {"config": {"model_args": f"max_length={len(date)}"}}
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
    assert not finding.read([str(tmp_path)]).notes


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"temperature": 0.0}, {"temperature": 1.0}, "(temperature=0.0; temperature=1.0)"),
        ({}, {"temperature": 1.0}, "(none of these; temperature=1.0)"),
        ({"extra": {"seed": 1, "k": 5}}, {"extra": {"seed": 2, "k": 5}}, ""),
        ({"extra": {"stop": ["a", "b"]}}, {"extra": {"stop": ["a", "c"]}}, "'stop': ['a', 'b']}"),
    ],
)
def test_arguments_of_models_of_inspect(
    tmp_path: Path, first: dict, second: dict, said: str
) -> None:
    """Dies if logs with another temperature, or one with the default, become runs in silence; or
    if seeds and connections are warned of."""
    samples = [writing.inspect_sample(k, "C") for k in range(2)]
    for k, given in enumerate((first, second)):
        config = given | {"seed": k, "max_connections": 3 + k}
        head = writing.inspect_head(task_id=str(k), model_generate_config=config)
        writing.inspect_json(tmp_path / f"{k}.json", head, samples)
    notes = [*finding.read([str(tmp_path)]).notes]
    assert [said in note for note in notes] == [True] * bool(said)


@pytest.mark.parametrize(("reducer", "said"), [("mean", 0), ("pass_at_3", 1)])
def test_reducers_of_epochs_are_said(tmp_path: Path, reducer: str, said: int) -> None:
    """Dies if means of answers stand in silence for what the log reports of them."""
    head = writing.inspect_head(config={"epochs": 3, "epochs_reducer": [reducer]})
    samples = [writing.inspect_sample(1, "C", epoch) for epoch in (1, 2, 3)]
    path = writing.inspect_json(tmp_path / "a.json", head, samples)
    notes = [note for note in finding.read([str(path)]).notes if "reduced by pass_at_3" in note]
    assert len(notes) == said


def test_long_inputs_are_those_of_summaries(tmp_path: Path) -> None:
    """Dies if an input that a summary cuts, or an image that it has a word for, is another item;
    or if what stands before the cut does not count."""

    def log(path: Path, model: str, question: str, image: dict) -> None:
        text = {"type": "text", "text": question}
        message = {"id": model, "role": "user", "content": [text, image]}
        samples = [writing.inspect_sample(k, "C", input=[message]) for k in (1, 2)]
        write = writing.inspect_eval if path.suffix == ".eval" else writing.inspect_json
        write(path, writing.inspect_head(model), samples)

    long = "word " * 2000
    log(tmp_path / "a.json", "a", long, {"type": "image", "image": "data:..."})
    cut = long[:5120] + "...\n(content truncated)"
    log(tmp_path / "b.eval", "b", cut, {"type": "text", "text": "(Image)"})
    assert len(_paired(tmp_path, mismatched="error").tasks[0].items) == 2
    log(tmp_path / "b.eval", "b", "other" + cut, {"type": "text", "text": "(Image)"})
    with pytest.raises(DataError, match="2 of 2 items are not the same"):
        _paired(tmp_path)


def test_instances_of_test_alone(tmp_path: Path) -> None:
    """Dies if HELM's instances of valid count beside those of test, or are lost without them."""
    for split_of_last, items, said in (("test", ["c"], 1), ("valid", ["a", "b", "c"], 0)):
        folder = tmp_path / split_of_last
        for model in ("m", "n"):
            scores = {(item, 0): 1.0 for item in "abc"}
            path = writing.helm(folder, model, scores, "mmlu") / "per_instance_stats.json"
            instances = json.loads(path.read_text())
            for instance in instances:
                last = instance["instance_id"] == "c"
                for stat in instance["stats"]:
                    stat["name"]["split"] = split_of_last if last else "valid"
            path.write_text(json.dumps(instances))
        paired = _paired(folder, metrics=("exact_match",))
        assert sorted(paired.tasks[0].items) == items
        assert sum("other splits than test" in note for note in paired.notes) == said


@pytest.mark.parametrize(
    ("gold", "predicted", "right"),
    [
        *((1, "1", 1.0), ("1", 1.0, 1.0), (True, "true", 1.0), (True, True, 1.0)),
        *(({"x": 1, "y": [2]}, {"y": [2.0], "x": 1}, 1.0), ({"x": [1]}, {"x": [2]}, 0.0)),
    ],
)
def test_labels_of_several_types(
    tmp_path: Path, gold: object, predicted: object, right: float
) -> None:
    """Dies if a label that JSON writes as another type or in another order is wrong."""
    path = _lines(tmp_path / "a.jsonl", [{"item": 1, "gold": gold, "predicted": predicted}])
    assert finding.read([str(path)]).score.tolist() == [right]


@pytest.mark.parametrize(("gold", "predicted"), [(True, 1), (0, False), (0.0, True)])
def test_numbers_are_not_true(tmp_path: Path, gold: object, predicted: object) -> None:
    """Dies if true against 1 is counted, be it as right or as wrong."""
    path = _lines(tmp_path / "a.jsonl", [{"item": 1, "gold": gold, "predicted": predicted}])
    with pytest.raises(DataError, match=r"a\.jsonl:1: gold .*; expected both as true or false"):
        finding.read([str(path)])


def test_golds_of_several_types_are_one(tmp_path: Path) -> None:
    """Dies if 1 in one log and "1" in the other, or keys in another order, are two golds."""
    for golds in ((1, "1"), ({"x": 1, "y": 2}, {"y": 2, "x": 1})):
        for name, gold in zip("ab", golds, strict=True):
            _lines(tmp_path / f"{name}.jsonl", [{"item": 0, "gold": gold, "predicted": gold}])
        assert _paired(tmp_path).tasks[0].items == ("0",)


def test_scores_twice_name_their_log(tmp_path: Path) -> None:
    """Dies if the file is not named, or another one is, or what has no name takes its place."""
    lines = [{"item": k, "task": task, "score": 1} for task in "st" for k in range(3)]
    _lines(tmp_path / "a.jsonl", lines)
    path = _lines(tmp_path / "b.jsonl", [*lines, lines[4]])
    for tasks in ((), ("t",)):
        with pytest.raises(
            DataError, match=r"b\.jsonl: a score is there twice: model b, task t, "
        ):
            finding.read([str(tmp_path)], tasks=tasks)
    _lines(path, [{"item": 3, "score": 1}] * 2)
    with pytest.raises(DataError, match="model b, item 3, sample 1;"):
        finding.read([str(path)])


def test_clusters_that_are_none_are_told_apart(tmp_path: Path) -> None:
    """Dies if a key whose value is null is said to lack, or without its line."""
    path = _lines(tmp_path / "a.jsonl", [{"item": 7, "score": 1, "c": c} for c in (1, None)])
    with pytest.raises(DataError, match=r"a\.jsonl:2: item 7: 'c' is null; expected a name or"):
        finding.read([str(path)], Keys("c"))


def test_fractions_are_not_compared_with_percentages(tmp_path: Path) -> None:
    """Dies if a model is a hundred times better for its unit, or if losses and error rates, which
    may be above 1, are refused; or percentages of a model that is always wrong."""

    def paired(metric: str, top: float) -> Paired:
        for name, most in {"a": 1.2 * top, "b": top / 100}.items():
            lines = [{"item": k, "metric": metric, "score": most * k / 3} for k in range(4)]
            _lines(tmp_path / f"{name}.jsonl", lines)
        return _paired(tmp_path)

    with pytest.raises(DataError, match="f1 of a is above 1, that of b is not"):
        paired("f1", 80.0)
    for metric in ("wer", "nll"):
        assert paired(metric, 80.0).tasks
    assert paired("f1", 0.5).tasks
    _lines(tmp_path / "b.jsonl", [{"item": k, "metric": "f1", "score": 0.0} for k in range(4)])
    _lines(tmp_path / "a.jsonl", [{"item": k, "metric": "f1", "score": 50.0} for k in range(4)])
    assert _paired(tmp_path).tasks


def test_zero_is_no_score_where_it_would_be_the_best(tmp_path: Path) -> None:
    """Dies if a failed answer beats all others: log-likelihoods are below 0."""
    lines = [{"item": k, "score": None if k == 2 else -0.5 * k} for k in range(4)]
    for name in "ab":
        _lines(tmp_path / f"{name}.jsonl", lines)
    with pytest.raises(DataError, match="--missing zero: 0 would be the best"):
        _paired(tmp_path, missing="zero")
    _lines(tmp_path / "b.jsonl", [{"item": k, "score": 1.0 - k} for k in range(4)])
    assert _paired(tmp_path, missing="zero").tasks  # some are above 0, some below


@pytest.mark.parametrize("key", ["run", "sample"])
def test_answers_that_some_runs_lack_are_missing(tmp_path: Path, key: str) -> None:
    """Dies if runs that stopped early, or samples that were not drawn, count as complete."""
    whole = [{"item": k, key: of, "score": k % 2} for k in range(10) for of in range(4)]
    _lines(tmp_path / "a.jsonl", [line for line in whole if line[key] == 0 or line["item"] < 4])
    _lines(tmp_path / "b.jsonl", whole)
    paired = _paired(tmp_path)
    (task,) = paired.tasks
    assert completeness.missing(task, "a") == pytest.approx(18 / 40)
    assert completeness.missing(task, "b") == 0
    assert any("45 % of a's answers" in why for why in completeness.reasons(paired))


@pytest.mark.parametrize("per_run", [True, False])
def test_more_answers_to_some_are_no_fewer_to_others(tmp_path: Path, per_run: bool) -> None:
    """Dies if the run or the item with the most answers is what all others lack."""
    lines = [
        {"item": k, "run": run, "sample": sample, "score": k % 2}
        for run in (1, 2)
        for k in range(40)
        for sample in range(4 if (run == 2 if per_run else k == 0) else 1)
    ]
    paths = [_lines(tmp_path / f"{name}.jsonl", lines) for name in "ab"]
    (task,) = _paired(*paths).tasks
    assert completeness.missing(task, "a") == 0
    _lines(paths[0], [line for line in lines if line["item"] % 4 or line["run"] == 1])
    (task,) = _paired(*paths).tasks
    lacking = 0.25 * (0.8 if per_run else 0.5)
    assert completeness.missing(task, "a") == pytest.approx(lacking)
