"""Epochs and items of a run are no runs: refused as units, and the row of a run that is read."""

from pathlib import Path

import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import DataError
from jaxeval.runs import items, names, tables
from jaxeval.runs.layout import Layout
from jaxeval.sensitivity import __main__ as sensitivity

EPOCHS = ("1", "2", "3", "10")  # as text 10 would be before 2
DEV = {"A": (0.1, 0.9, 0.2, 0.3), "B": (0.1, 0.2, 0.9, 0.3)}


def _history(folder: Path, header: str = "model,seed,epoch,val_acc,test_acc,train_loss") -> str:
    """Two models, three seeds, four epochs; the test score is its epoch and seed."""
    rows = [
        f"{model},{seed},{epoch},{dev},{k + seed / 10},{9 - k}"
        for model in "AB"
        for seed in (1, 2, 3)
        for k, (epoch, dev) in enumerate(zip(EPOCHS, DEV[model], strict=True))
    ]
    path = folder / "t.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    "name",
    [
        *("epoch", "Epochs", "step", "_step", "Step", "global_step", "trainer/global_step"),
        *("iteration", "iter", "trained_tokens", "tokens_seen", "update", "checkpoint"),
        *("batch_idx", "timesteps_total", "episode"),
    ],
)
def test_steps_are_known_by_name(name: str) -> None:
    """Dies if a name of the list in docs/compare.md is no step."""
    assert names.is_step(name)


@pytest.mark.parametrize("name", ["batch_size", "seed", "fold", "lstm", "test_acc", "steps/s"])
def test_other_names_are_no_steps(name: str) -> None:
    """Dies if a seed, a setting or a score is taken for a step."""
    assert not names.is_step(name)


def test_a_history_is_refused_with_the_two_ways_to_read_it(tmp_path: Path) -> None:
    """Dies if epochs are compared as runs, the advice is to make them units, or does not work."""
    path = _history(tmp_path)
    last = {"score": "test_acc", "last": "epoch"}
    best = {"score": "test_acc", "best": "val_acc"}
    with pytest.raises(DataError, match="column epoch: rows of one run") as caught:
        tables.read(path, Layout())
    for advice in (last, best):
        words = " ".join(f"--column {role}={name}" for role, name in advice.items())
        assert words in str(caught.value)
    assert "split" not in str(caught.value)
    read = tables.read(path, Layout(columns=last))
    assert read.scores_of("A").tolist() == [3.1, 3.2, 3.3] == read.scores_of("B").tolist()
    assert read.axes["seed"].tolist() == ["1", "2", "3"] * 2
    assert "6 of 24 rows" in read.warnings[0]
    read = tables.read(path, Layout(columns=best))
    assert read.scores_of("A").tolist() == [1.1, 1.2, 1.3]
    assert read.scores_of("B").tolist() == [2.1, 2.2, 2.3]


@pytest.mark.parametrize("axis", ["seed", "split", "dataset"])
def test_an_epoch_is_no_unit_though_it_is_asked_for(tmp_path: Path, axis: str) -> None:
    """Dies if --column split=epoch makes 24 runs of six."""
    words = ["--table", _history(tmp_path), "--column", "score=test_acc"]
    with pytest.raises(DataError, match=f"--column {axis}=epoch: .*--column last=epoch"):
        compare.main([*words, "--column", f"{axis}=epoch"])


def test_epochs_are_no_runs_of_a_sweep(tmp_path: Path) -> None:
    """Dies if sensitivity takes each epoch for a run, or refuses the last epochs of runs."""
    words = ["--score", "test_acc", "--hyperparameters", "lr"]
    rows = [f"{k % 3 / 10},{epoch},.{k}{epoch}" for k in range(12) for epoch in range(1, 9)]
    path = tmp_path / "sweep.csv"
    path.write_text("\n".join(["lr,epoch,test_acc", *rows]))
    with pytest.raises(
        DataError, match=r"column epoch: rows of one run.*expected one row of each"
    ):
        sensitivity.main([str(path), *words])
    path.write_text("\n".join(["lr,epoch,test_acc", *rows[::5]]))
    assert sensitivity.main([str(path), *words]) == 0


def test_the_best_is_by_dev_alone(tmp_path: Path) -> None:
    """Dies if the best epoch is chosen by the test score, or a loss by its highest value."""
    path = _history(tmp_path)
    for score, best in (("val_acc", "val_acc"), ("val_acc", "test_acc")):
        with pytest.raises(DataError, match="too good; expected a column of dev scores"):
            tables.read(path, Layout(columns={"score": score, "best": best}))
    losses = _history(tmp_path, "model,seed,epoch,val_loss,test_acc,train_loss")
    read = tables.read(losses, Layout(columns={"score": "test_acc", "best": "val_loss"}))
    assert read.scores_of("A").tolist() == [0.1, 0.2, 0.3]
    assert "lowest val_loss" in read.warnings[0]


def test_the_last_epoch_is_that_with_a_score_and_a_run_that_diverged_stays_failed(
    tmp_path: Path,
) -> None:
    """Dies if rows between evaluations are read, or a run of NaN by its last good epoch."""
    path = tmp_path / "t.csv"
    path.write_text(
        "model,seed,_step,acc\nA,1,5,.5\nA,1,10,.6\nA,1,11,\nA,2,10,nan\nA,2,5,.7\nB,1,1,.2\n"
        "B,1,2,.3\nB,2,1,.3\n"
    )
    with pytest.raises(DataError, match="row 5, column acc: missing"):
        tables.read(str(path), Layout(columns={"last": "_step"}))
    read = tables.read(str(path), Layout(columns={"last": "_step"}, missing="drop"))
    assert read.score.tolist() == [0.6, 0.3, 0.3]
    assert "runs end at different values of _step (10, 2, 1)" in read.warnings[1]


def test_runs_that_nothing_tells_apart_are_refused(tmp_path: Path) -> None:
    """Dies if of two runs in one, the last row of either is read."""
    path = tmp_path / "t.csv"
    path.write_text("model,epoch,acc\n" + "".join(f"A,{k},.{k}\n" for k in (1, 2, 3, 1, 2, 3)))
    with pytest.raises(DataError, match="rows 4 and 7 are of one run: expected numbers that diff"):
        tables.read(str(path), Layout(columns={"last": "epoch"}))


def test_how_long_runs_took_is_no_history(tmp_path: Path) -> None:
    """Dies if a table with a row a run and its last epoch is refused."""
    path = tmp_path / "t.csv"
    path.write_text("model,epoch,acc\nA,12,.5\nA,9,.6\nA,15,.7\nB,12,.4\nB,8,.8\nB,3,.9\n")
    assert len(tables.read(str(path), Layout()).score) == 6
    path.write_text("model,seed,epoch,acc\nA,1,3,.5\nA,2,4,.6\nB,1,7,.4\nB,2,9,.8\n")
    assert len(tables.read(str(path), Layout()).score) == 4
    with pytest.raises(DataError, match="--column split=epoch: steps and times are no units"):
        tables.read(str(path), Layout(columns={"split": "epoch"}))


def test_named_models_of_a_wide_table_are_not_compared_over_epochs(tmp_path: Path) -> None:
    """Dies if naming the models makes their epochs runs."""
    path = tmp_path / "t.csv"
    path.write_text("epoch,A,B\n" + "".join(f"{k},.{k},.{k + 1}\n" for k in range(1, 9)))
    with pytest.raises(DataError, match="column epoch: rows of one run"):
        tables.read(str(path), Layout(models=["A", "B"]))


@pytest.mark.parametrize(
    ("header", "flag"),
    [
        ("model,seed,item_id,gold,prediction", "--items"),
        ("model,item,group,label,correct", "--items"),
        ("model,seed,doc_id,points,score", "--log"),
        ("model,seed,gold,predicted,loss", "--items"),
    ],
)
def test_items_are_no_runs(tmp_path: Path, header: str, flag: str) -> None:
    """Dies if items are compared as if they were runs."""
    path = tmp_path / "t.csv"
    rows = [
        f"{m},{k if 'item,' in header else 1},{k},{k % 2},{k % 3}" for m in "AB" for k in (1, 2)
    ]
    path.write_text("\n".join([header, *rows]))
    with pytest.raises(DataError, match=rf"rows are items of a run, .* compare {flag} .*t\.csv"):
        tables.read(str(path), Layout())
    with pytest.raises(DataError, match="rows are items of a run"):
        tables.read(str(path), Layout(columns={"split": "item_id"}))


def _items(folder: Path, header: str, seeds: tuple[str, ...]) -> str:
    """Four items of two models; A is right on all, B on two."""
    path = folder / "items.csv"
    rows = [
        ",".join([m, *([s] if s else []), str(k), str(k % 2), str(k % 2 if m == "A" else 0)])
        for m in "AB"
        for s in seeds
        for k in range(4)
    ]
    path.write_text("\n".join([header, *rows]))
    return str(path)


@pytest.mark.parametrize(
    ("header", "seeds"),
    [
        ("model,seed,item,gold,predicted", ("7", "8")),
        ("system,run,item_id,label,prediction", ("7", "8")),
        ("model,random_seed,docId,target,pred", ("7", "8")),
        ("model,example,gold,predicted", ("",)),  # one run of each model
    ],
)
def test_common_names_of_items_need_no_flags(
    tmp_path: Path, header: str, seeds: tuple[str, ...]
) -> None:
    """Dies if a column run, item_id or prediction must be named, or is read as another."""
    table, trained = items.read(_items(tmp_path, header, seeds))
    assert (
        table.models == ("A", "B") and table.score.tolist() == [1, 1, 0.5, 0.5][:: 3 - len(seeds)]
    )
    assert table.axes["seed"].tolist() == [*(seeds if seeds[0] else "1")] * 2
    assert len(trained) == 2 * len(seeds)


def test_several_runs_in_one_are_refused(tmp_path: Path) -> None:
    """Dies if items without a column of seeds are one run, though each is there twice."""
    path = Path(_items(tmp_path, "model,item,gold,predicted", ("",)))
    path.write_text(path.read_text() + "\nA,0,0,0")
    with pytest.raises(DataError, match="rows 2 and 10 are both model A, seed 1, item 0"):
        items.read(path)
