"""Columns that no one has named: folds and seeds are axes, ids are asked about, scores models."""

from pathlib import Path

import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import DataError
from jaxeval.runs import tables, units
from jaxeval.runs.layout import Layout
from jaxeval.select import __main__ as select

SCORES = (".81,.83", ".82,.84", ".80,.85", ".83,.86", ".82,.85", ".84,.87")


def _table(folder: Path, name: str, values: list[str]) -> str:
    path = folder / "t.csv"
    lines = [f"{value},{pair}" for value, pair in zip(values, SCORES, strict=False)]
    path.write_text("\n".join([f"{name},bert,roberta", *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("name", "values", "axis"),
    [
        ("fold", list("012345"), "split"),
        ("CV fold", list("abcdef"), "split"),
        ("cvFold", list("021453"), "split"),
        ("Run", list("123456"), "seed"),
        ("random_seed", ["13", "42", "7", "99", "1", "2"], "seed"),
        ("treebank", list("abcdef"), "dataset"),
    ],
)
def test_names_that_mean_one_thing_are_axes(
    tmp_path: Path, name: str, values: list[str], axis: str
) -> None:
    """Dies if a column of folds is a model, or is dropped without a note."""
    table = tables.read(_table(tmp_path, name, values), Layout())
    assert table.models == ("bert", "roberta")
    assert table.axes[axis].tolist() == values * 2
    assert f"column {name} is read as the {axis}" in table.warnings[0]


@pytest.mark.parametrize(
    ("name", "values", "looks"),
    [
        ("epoch", ["7", "3", "7", "9", "2", "2"], "an index or a setting"),
        ("k", list("012345"), "an index or a setting"),
        ("things", list("012345"), r"whole numbers \(0, 1, 2 ...\) beside fractions"),
        ("things", ["0", "1", "1", "0", "0", "1"], "whole numbers"),
        ("unclear", ["91.5", "70.5", "99.1", "80.2", "75.5", "88.1"], "numbers of another size"),
        ("unclear", ["1e-3", "2e-3", "1e-4", "3e-3", "4e-3", "5e-3"], "numbers of another size"),
        ("words", ["100", "200", "500", "1000", "2000", "9000"], "whole numbers"),
        ("k", list("001122"), "an index or a setting"),
        ("date", [f"2024-01-0{k}" for k in range(1, 7)], "text"),
        ("size", ['"1,5"', '"2,5"', '"1,5"', '"3,5"', '"1,5"', '"2,5"'], r"text \(1,5, 2,5"),
        ("share", ["5%", "6%", "5%", "6%", "5%", "6%"], "text"),
        ("wall seconds", ["1.5", "2.25", "1.75", "1.5", "2", "2"], "a time"),
        ("", ["adult", "breast", "wine", "iris", "vote", "rheum"], "text"),
    ],
)
def test_other_columns_are_asked_about(
    tmp_path: Path, name: str, values: list[str], looks: str
) -> None:
    """Dies if an id, a date or a size is compared as a model, or the remedy does not work."""
    path = _table(tmp_path, name, values)
    with pytest.raises(DataError, match=f"column {name!r} looks like {looks}") as caught:
        tables.read(path, Layout())
    assert "bert, roberta" in str(caught.value)
    named = tables.read(path, Layout(models=["bert", "roberta"]))
    assert named.models == ("bert", "roberta") and not named.axes
    if looks.startswith(("whole", "numbers")):
        assert f"--column dataset={name} (or split, seed)" in str(caught.value)
    if name not in ("", "epoch", "wall seconds") and len(set(values)) == len(values):
        axis = tables.read(path, Layout(columns={"split": name}))
        assert axis.axes["split"].tolist() == values * 2


@pytest.mark.parametrize(
    "content",
    [
        "bert,roberta\n41,44\n38,45\n40,45\n41,43\n39,47\n",  # counts of correct answers
        "bert,roberta\n1,0\n0,0\n1,1\n0,1\n1,1\n0,0\n",  # right or wrong, item by item
        "bert,roberta\n84.1,83.5\n81,84.25\n84,85\n82,85.5\n83,84\n",  # percent
        "lstm,lstm_dropout,cnn_k5\n.81,.82,.7\n.83,.85,.8\n.80,.86,.8\n",  # what models add
    ],
)
def test_whole_numbers_may_be_scores(tmp_path: Path, content: str) -> None:
    """Dies if whole numbers alone make a column suspect."""
    path = tmp_path / "t.csv"
    path.write_text(content)
    table = tables.read(str(path), Layout())
    assert table.models == tuple(content.split("\n")[0].split(",")) and not table.axes


@pytest.mark.parametrize("value", [".5", "42.0", "7"])
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "experiments",
        "job",
        "jobid",
        "slurm_job",
        "rank",
        "worker",
        "pid",
        "session",
        "iter",
        "iterations",
        "global_step",
        "Epochs",
        "checkpoint",
        "tokens",
        "updates",
        "lr",
        "learning_rate",
        "learning-rate",
        "dropout",
        "bs",
        "batch_size",
        "hidden",
        "hidden_dim",
        "n_layers",
        "shots",
        "budget",
        "temperature",
        "gpu",
        "runtime",
        "elapsed",
        "seconds",
        "time",
        "subject",
        "participant",
        "annotator",
        "index",
        "#",
        "job1",
        "k",
        "init",
    ],
)
def test_names_of_no_scores_are_asked_about_whatever_they_hold(
    tmp_path: Path, name: str, value: str
) -> None:
    """Dies if a setting or a count is compared as a model since its values are fractions."""
    path = _table(tmp_path, name, [value] * 6)
    with pytest.raises(DataError, match=f"column {name!r} looks like"):
        tables.read(path, Layout())
    if float(value) < 1:  # others are not of the scale of bert's scores
        assert tables.read(path, Layout(models=[name, "bert"])).models == (name, "bert")


@pytest.mark.parametrize("name", ["run", "fold", "cv", "random_state", "rng", "partition"])
def test_axes_of_whole_floats_are_axes_and_of_fractions_asked_about(
    tmp_path: Path, name: str
) -> None:
    """Dies if 42.0 makes a seed a model, or a column called run with scores passes unasked."""
    whole = tables.read(_table(tmp_path, name, [f"{k}.0" for k in (42, 7, 3, 1, 5, 2)]), Layout())
    assert whole.models == ("bert", "roberta") and len(whole.axes) == 1
    with pytest.raises(DataError, match=f"column {name!r} looks like"):
        tables.read(_table(tmp_path, name, [".81", ".82", ".8", ".83", ".82", ".84"]), Layout())


@pytest.mark.parametrize(
    ("header", "metrics"),
    [
        ("seed,accuracy,f1,loss", "accuracy, f1, loss"),
        ("seed,dev_f1,test_acc,cnn", "dev_f1, test_acc"),
        ("seed,train/loss,dev_f1,cnn", "train/loss, dev_f1"),
        ("seed,rouge1,rougeL,macro-F1", "rouge1, rougeL, macro-F1"),
        ("seed,bert,valid,test", "valid, test"),
    ],
)
def test_metrics_are_not_compared_as_models(tmp_path: Path, header: str, metrics: str) -> None:
    """Dies if accuracy is said to be better than F1, or the advice is not that of test scores."""
    path = tmp_path / "t.csv"
    path.write_text(header + "\n1,.8,.7,.6\n2,.82,.71,.61\n3,.83,.74,.63\n")
    named = metrics.split(", ")
    first = next(
        (name for name in named if "test" in name), next(n for n in named if "/" not in n)
    )
    advice = f"{metrics} look like metrics of one model.*--column score={first} --column model="
    with pytest.raises(DataError, match=advice):
        tables.read(str(path), Layout())
    assert tables.read(str(path), Layout(models=named)).models == tuple(named)


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("system,seed,f1", {"model": "system", "score": "f1"}),
        ("model,seed,accuracy", {"score": "accuracy"}),
        ("model,seed,points", {"score": "points"}),
        ("method,fold,macro_f1", {"model": "method", "score": "macro_f1"}),
    ],
)
def test_one_column_of_models_and_one_of_numbers_need_no_names(
    tmp_path: Path, header: str, read: dict[str, str]
) -> None:
    """Dies if the only column that can be the score must be named, or is read without a note."""
    path = tmp_path / "t.csv"
    path.write_text(header + ",lr,train_loss\nA,1,80,.1,2\nA,2,9,.1,3\nB,1,7,.2,3\nB,2,6,.2,2\n")
    table = tables.read(str(path), Layout())
    assert table.models == ("A", "B") and table.score.tolist() == [80, 9, 7, 6]
    for role, column in read.items():
        assert any(f"column {column} is read as the {role}" in line for line in table.warnings)


@pytest.mark.parametrize(
    ("scores", "advice"),
    [
        ("train/acc,train/loss,val/acc", {"score": "val/acc"}),
        ("loss,val_loss,test_f1,val_f1", {"score": "test_f1"}),
        ("accuracy,_runtime,_timestamp,_step,val_loss", {"score": "accuracy"}),
    ],
)
def test_of_several_scores_the_first_advice_is_never_of_training(
    tmp_path: Path, scores: str, advice: dict[str, str]
) -> None:
    """Dies if models are compared by a training loss, a time or a step, or that is advised."""
    path = tmp_path / "t.csv"
    rows = [
        f"{m},{k}," + ",".join(f"{k}.{m}{c}" for c in range(5)) for m in (1, 2) for k in (1, 2)
    ]
    count = len(scores.split(","))
    rows = ["A" * int(row[0]) + ",".join(row[1:].split(",")[: 2 + count]) for row in rows]
    path.write_text(f"model,seed,{scores}\n" + "\n".join(rows))
    if scores.startswith("train"):
        assert tables.read(str(path), Layout()).metric == "val/acc"
    else:
        with pytest.raises(DataError, match=f"--column score={advice['score']} "):
            tables.read(str(path), Layout())
    assert tables.read(str(path), Layout(columns=advice)).models == ("A", "AA")


def test_a_model_that_is_named_holds_scores_whatever_its_name(tmp_path: Path) -> None:
    """Dies if a count named on the command line is refused or made an axis."""
    path = _table(tmp_path, "fold", list("012345"))
    table = tables.read(path, Layout(models=["fold", "bert"]))
    assert table.models == ("fold", "bert") and not table.axes


def test_a_second_axis_of_one_kind_is_asked_about(tmp_path: Path) -> None:
    """Dies if two columns of seeds silently make one axis of whichever comes first."""
    path = tmp_path / "t.csv"
    path.write_text("seed,run,bert,roberta\n1,9,.8,.9\n2,4,.7,.8\n3,6,.6,.8\n")
    with pytest.raises(DataError, match="column 'run' looks like an index"):
        tables.read(str(path), Layout())


def test_runs_of_a_tidy_table_are_its_seeds(tmp_path: Path) -> None:
    """Dies if runs on three folds count as six independent scores in a table of rows."""
    path = tmp_path / "t.csv"
    rows = [f"{m},{f},{r},0.{m == 'B':d}{f}{r}" for m in "AB" for f in range(3) for r in (1, 2)]
    path.write_text("model,fold,run,score\n" + "\n".join(rows))
    samples = units.samples(tables.read(str(path), Layout()))
    assert (samples.unit, samples.averaged) == ("split", (2, 2))


def test_no_verb_compares_or_selects_a_fold(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a verb reads tables past this check (select chose the fold in 50 of 50)."""
    fold = _table(tmp_path, "fold", list("012345"))
    assert compare.main(["--table", fold]) == 0
    assert "fold against" not in capsys.readouterr().out
    assert select.main(["table", fold, "--budget", "40", "--json", "-"]) == 0
    assert '"fold"' not in capsys.readouterr().out
    epoch = _table(tmp_path, "epoch", list("123456"))
    for verb, word in ((compare.main, "--table"), (select.main, "table")):
        with pytest.raises(DataError, match=r"column epoch: rows of one run.*--column last=epoch"):
            verb([word, epoch])
