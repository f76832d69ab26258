"""Roles of columns: by name, else one error; epochs and items of a run are no runs."""

from pathlib import Path

import pytest

from jaxeval.errors import DataError
from tests.runs.reading import by_model, labels, read

SCORES = (".81,.83", ".82,.84", ".80,.85", ".83,.86", ".82,.85", ".84,.87")


def _wide(name: str, values: list[str]) -> str:
    lines = [f"{value},{pair}" for value, pair in zip(values, SCORES, strict=False)]
    return "\n".join([f"{name},bert,roberta", *lines])


@pytest.mark.parametrize(
    ("name", "values", "axis"),
    [
        ("fold", list("012345"), "split"),
        ("CV fold", list("abcdef"), "split"),
        ("cvFold", list("021453"), "split"),
        ("Run", list("123456"), "seed"),
        ("random_seed", ["13.0", "42.0", "7.0", "99.0", "1.0", "2.0"], "seed"),
    ],
)
def test_names_that_mean_one_thing_are_axes(
    tmp_path: Path, name: str, values: list[str], axis: str
) -> None:
    """Dies if a column of folds is a model, or is dropped without a note."""
    table = read(tmp_path, _wide(name, values))
    assert table.models == ("bert", "roberta") and labels(table, axis) == values * 2
    assert f"column {name} is read as the {axis}" in table.warnings[0]
    assert table.folds is (axis == "split")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epoch", ["7", "3", "7", "9", "2", "2"]),
        ("things", list("012345")),
        ("words", ["100", "200", "500", "1000", "2000", "9000"]),
        ("date", [f"2024-01-0{k}" for k in range(1, 7)]),
        ("wall seconds", ["1.5", "2.25", "1.75", "1.5", "2", "2"]),
        ("", ["adult", "breast", "wine", "iris", "vote", "rheum"]),
        *((name, [".5"] * 6) for name in ("k", "job1", "learning_rate", "batch_size", "n_layers")),
        *((name, [".5"] * 6) for name in ("tokens", "hidden_dim", "experiments", "gpu")),
    ],
)
def test_other_columns_are_asked_about(tmp_path: Path, name: str, values: list[str]) -> None:
    """Dies if an id, a date or a size is compared as a model, or the remedy does not work."""
    told = name or "unnamed"
    with pytest.raises(DataError, match=f"column {told!r} looks like .*--column .?ROLE={told}"):
        read(tmp_path, _wide(name, values))
    named = read(tmp_path, _wide(name, values), models=["bert", "roberta"])
    assert named.models == ("bert", "roberta") and not named.labels
    words = [f"not read: {told}"] if values[0] in ("adult", "2024-01-01") else []
    assert [line.partition(";")[0] for line in named.warnings] == words
    sets = read(
        tmp_path, _wide("", ["x", "y", "z", "u", "v", "w"]), columns={"dataset": "unnamed"}
    )
    assert [of.name for of in sets.data_sets] == ["x", "y", "z", "u", "v", "w"]


def test_an_empty_first_cell_is_no_text(tmp_path: Path) -> None:
    """Dies if a model without scores is refused as text, or the text shown is the missing cell."""
    missing = "a,b,c\n,.5,.6\n,.6,.7\n,.7,.9\n"
    with pytest.raises(DataError, match="row 2, column a: missing"):
        read(tmp_path, missing)
    with pytest.raises(DataError, match=r"column 'who' looks like text \(y\)"):
        read(tmp_path, "who,a,b\n,.5,.6\ny,.6,.7\n")


def test_of_two_columns_of_models_none_is_guessed(tmp_path: Path) -> None:
    """Dies if the first of two columns that may name the models is taken."""
    content = "system,method,f1\na,x,.5\na,y,.6\nb,x,.7\nb,y,.8\n"
    with pytest.raises(DataError, match=r"column 'system' looks like text \(a\).*model=system"):
        read(tmp_path, content)
    assert read(tmp_path, content, columns={"model": "method"}).models == ("x", "y")


def test_an_advice_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    """Dies if the name of a column with a blank is two words."""
    with pytest.raises(DataError, match=r"--column 'score=Top-1 Acc\.'$"):
        read(tmp_path, "model,Top-1 Acc.,Top-5 Acc.\nA,76,92\nA,77,93\n")


@pytest.mark.parametrize(
    "content",
    [
        "bert,roberta\n41,44\n38,45\n40,45\n41,43\n39,47\n",  # counts of correct answers
        "bert,roberta\n1,0\n0,0\n1,1\n0,1\n1,1\n0,0\n",  # right or wrong, item by item
        "lstm,lstm_dropout,cnn_k5\n.81,.82,.7\n.83,.85,.8\n.80,.86,.8\n",  # what models add
    ],
)
def test_whole_numbers_may_be_scores(tmp_path: Path, content: str) -> None:
    """Dies if whole numbers alone make a column suspect."""
    table = read(tmp_path, content)
    assert table.models == tuple(content.split("\n")[0].split(",")) and not table.labels


@pytest.mark.parametrize(
    ("header", "best"),
    [
        ("seed,accuracy,f1,loss", "accuracy"),
        ("seed,logloss,auc,rmse", "auc"),
        ("seed,dev_f1,test_acc,cnn", "test_acc"),
        ("seed,train/loss,dev_f1,cnn", "dev_f1"),
        ("seed,rouge1,rougeL,macro-F1", "rouge1"),
        ("seed,UAS,LAS,dice@10", "UAS"),
    ],
)
def test_metrics_are_not_compared_as_models(tmp_path: Path, header: str, best: str) -> None:
    """Dies if accuracy is said to be better than F1, or the advice is not that of test scores."""
    content = header + "\n1,.8,.7,.6\n2,.82,.71,.61\n3,.83,.74,.63\n"
    advice = f"look like metrics of one model.*--column score={best} --column model="
    with pytest.raises(DataError, match=advice):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("system,seed,f1", {"model": "system", "score": "f1"}),
        ("model,seed,points", {"score": "points"}),
        ("method,fold,macro_f1", {"model": "method", "score": "macro_f1"}),
        ("algo,seed,value", {"model": "algo", "score": "value"}),
    ],
)
def test_one_column_of_models_and_one_of_numbers_need_no_names(
    tmp_path: Path, header: str, roles: dict[str, str]
) -> None:
    """Dies if the only column that can be the score must be named, or is read without a note."""
    rows = ",lr,train_loss,acc_stderr\nA,1,80,.1,2,1\nA,2,9,.1,3,2\nB,1,7,.2,3,3\nB,2,6,.2,2,4\n"
    table = read(tmp_path, header + rows)
    assert by_model(table) == {"A": [80, 9], "B": [7, 6]}
    for role, column in roles.items():
        assert any(f"column {column} is read as the {role}" in line for line in table.warnings)
    assert table.warnings[-1].startswith("not read: lr, train_loss, acc_stderr; if one")


# epochs
EPOCHS = ("1", "2", "3", "10")  # as text 10 would be before 2
DEV = {"A": (0.1, 0.9, 0.2, 0.3), "B": (0.1, 0.2, 0.9, 0.3)}


def _history(dev: str = "val_acc") -> str:
    """Two models, three seeds, four epochs; the test score is its epoch and seed."""
    rows = [
        f"{model},{seed},{epoch},{of},{k + seed / 10},{9 - k}"
        for model in "AB"
        for seed in (1, 2, 3)
        for k, (epoch, of) in enumerate(zip(EPOCHS, DEV[model], strict=True))
    ]
    return "\n".join([f"model,seed,epoch,{dev},test_acc,train_loss", *rows])


def test_a_history_is_refused_with_the_two_ways_to_read_it(tmp_path: Path) -> None:
    """Dies if epochs are compared as runs, the advice is to make them units, or does not work."""
    last = {"score": "test_acc", "last": "epoch"}
    best = {"score": "test_acc", "best": "val_acc"}
    with pytest.raises(DataError, match="column epoch: rows of one run") as caught:
        read(tmp_path, _history())
    for advice in (last, best):
        words = " ".join(f"--column {role}={name}" for role, name in advice.items())
        assert words in str(caught.value)
    of_last = read(tmp_path, _history(), columns=last)
    assert by_model(of_last) == {"A": [3.1, 3.2, 3.3], "B": [3.1, 3.2, 3.3]}
    assert labels(of_last, "seed") == ["1", "2", "3"] * 2 and "6 rows" in of_last.warnings[0]
    assert "not read: val_acc, train_loss;" in of_last.warnings[-1]  # epoch was
    of_best = read(tmp_path, _history(), columns=best)
    assert by_model(of_best) == {"A": [1.1, 1.2, 1.3], "B": [2.1, 2.2, 2.3]}
    losses = read(tmp_path, _history("val_loss"), columns={**best, "best": "val_loss"})
    assert by_model(losses)["A"] == [0.1, 0.2, 0.3] and "lowest val_loss" in losses.warnings[0]
    for axis in ("seed", "split", "dataset"):
        with pytest.raises(DataError, match=f"--column {axis}=epoch: .*--column last=epoch"):
            read(tmp_path, _history(), columns={"score": "test_acc", axis: "epoch"})
    for score, by in (("val_acc", "val_acc"), ("val_acc", "test_acc")):
        with pytest.raises(DataError, match="too good; expected a column of dev scores"):
            read(tmp_path, _history(), columns={"score": score, "best": by})


def test_the_last_epoch_is_that_with_a_score_and_a_run_that_diverged_stays_failed(
    tmp_path: Path,
) -> None:
    """Dies if rows between evaluations are read, or a run of NaN by its last good epoch."""
    content = (
        "model,seed,_step,acc\nA,1,5,.5\nA,1,10,.6\nA,1,11,\nA,2,10,nan\nA,2,5,.7\nB,1,1,.2\n"
        "B,1,2,.3\nB,2,1,.3\n"
    )
    with pytest.raises(DataError, match="row 5, column acc: missing"):
        read(tmp_path, content, columns={"last": "_step"})
    table = read(tmp_path, content, columns={"last": "_step"}, missing="drop")
    assert by_model(table) == {"A": [0.6], "B": [0.3, 0.3]}


_CHART = "Step,a-seed1 - acc,a-seed1 - acc__MIN,b-seed1 - acc\n"  # of Weights & Biases
_CHART += "".join(f"{k},.{k},.{k},.{k + 1}\n" for k in range(1, 9))


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        ("model,epoch,acc\n" + "".join(f"A,{k},.{k}\n" for k in (1, 2, 3, 1, 2, 3)), {}),
        ("epoch,A,B\n" + "".join(f"{k},.{k},.{k + 1}\n" for k in range(1, 9)), {}),
        ("epoch,A,B\n" + "".join(f"{k},.{k},.{k + 1}\n" for k in range(1, 9)), {"models": "AB"}),
        (_CHART, {}),
    ],
)
def test_histories_without_seeds_are_refused(tmp_path: Path, content: str, layout: dict) -> None:
    """Dies if naming the models makes their epochs runs, or of two runs in one a row is read."""
    layout = {name: [*of] for name, of in layout.items()}
    with pytest.raises(
        DataError, match=r"column (epoch|Step): rows of one run.* the best by DEV;"
    ):
        read(tmp_path, content, **layout)
    if content.startswith("model"):
        with pytest.raises(DataError, match="rows 4 and 7 are of one run: expected numbers that"):
            read(tmp_path, content, columns={"last": "epoch"})


def test_how_long_runs_took_is_no_history(tmp_path: Path) -> None:
    """Dies if a table with a row a run and its last epoch is refused."""
    rows = "model,epoch,acc\nA,12,.5\nA,9,.6\nA,15,.7\nB,12,.4\nB,8,.8\nB,3,.9\n"
    assert len(read(tmp_path, rows).known) == 6
    content = "model,seed,epoch,acc\nA,1,3,.5\nA,2,4,.6\nB,1,7,.4\nB,2,9,.8\n"
    assert len(read(tmp_path, content).known) == 4
    with pytest.raises(DataError, match="--column split=epoch: steps and times are not units"):
        read(tmp_path, content, columns={"split": "epoch"})


@pytest.mark.parametrize(
    "header",
    [
        "model,seed,item_id,gold,prediction",
        "model,item,group,label,correct",
        "model,seed,doc_id,points,score",
        "model,seed,gold,predicted,loss",
    ],
)
def test_items_are_no_runs(tmp_path: Path, header: str) -> None:
    """Dies if items are compared as if they were runs."""
    rows = [
        f"{m},{k if 'item,' in header else 1},{k},{k % 2},{k % 3}" for m in "AB" for k in (1, 2)
    ]
    content = "\n".join([header, *rows])
    with pytest.raises(DataError, match=r"rows are items of a run, .* compare items"):
        read(tmp_path, content)
    if "item" in header or "doc" in header:
        column = header.split(",")[1 if "item," in header else 2]
        with pytest.raises(DataError, match=f"--column split={column}: rows are items"):
            read(tmp_path, content, columns={"split": column})


@pytest.mark.parametrize(
    ("name", "count", "times", "refused"),
    [
        ("seg_id", 25, 1, True),
        ("case", 20, 1, True),
        ("case", 19, 1, False),  # data sets or organs
        ("patient", 25, 2, False),
    ],
)
def test_many_cases_are_items_and_few_are_strata(
    tmp_path: Path, name: str, count: int, times: int, refused: bool
) -> None:
    """Dies if segments are compared as runs, or settings are refused as items."""
    rows = [f"{m},{k},.{k + 10}" for m in "AB" for k in [*range(count)] * times]
    content = "\n".join([f"model,{name},f1", *rows])
    if refused:
        with pytest.raises(DataError, match=f"compare items.*; --column dataset={name} if each"):
            read(tmp_path, content)
    else:
        assert len(read(tmp_path, content).known) == 2 * count * times
    assert len(read(tmp_path, content, columns={"dataset": name}).data_sets) == count


def test_resamples_are_splits_if_asked_and_a_setting_is_none(tmp_path: Path) -> None:
    """Dies if resamples of one run count as runs, or folds and settings named so are refused."""
    rows = [f"{m},{k},.8{k}" for m in "AB" for k in (1, 2, 3)]
    content = "\n".join(["model,bootstrap_id,score", *rows])
    with pytest.raises(
        DataError, match="not runs; if each was trained separately, --column split=boot"
    ):
        read(tmp_path, content)
    assert len(read(tmp_path, content, columns={"split": "bootstrap_id"}).known) == 6
    settings = [f"{m},{b},.8{k}" for m in "AB" for k in (1, 2) for b in ("True", "False")]
    assert len(read(tmp_path, "\n".join(["model,bootstrap,score", *settings])).known) == 8
