"""Tables of standard designs: GLUE, columns of models and metrics, mlr3, the best epoch."""

from pathlib import Path

import pytest

from jaxeval.errors import DataError
from tests.runs.reading import read


def test_each_data_set_may_have_its_own_metric(tmp_path: Path) -> None:
    """Dies if the tasks of GLUE are refused, or metrics of opposite directions are averaged."""
    rows = [f"{m},{t},{k},.{k}" for m in "AB" for t in ("CoLA,mcc", "SST,acc") for k in (5, 6)]
    content = "\n".join(["model,task,metric,seed,score", *rows])
    found = read(tmp_path, content)
    assert [of.metric for of in found.data_sets] == ["", ""] and found.direction == "named"
    assert "different metrics (mcc, acc); a mean mixes" in " ".join(found.warnings)
    for metric, said in (
        ("loss", "not better for all of them$"),
        ("corr", "--no-lower-is-better"),
    ):
        with pytest.raises(DataError, match=rf"several metrics \(mcc, {metric}\).* {said}"):
            read(tmp_path, content.replace("acc", metric))
    assert read(tmp_path, content.replace("acc", "corr"), higher_is_better=True).higher_is_better


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("lstm_ppl,gru_ppl", "columns end in ppl: expected --lower-is-better, or --no-lower"),
        ("rf~RMSE,svm~RMSE", "columns end in rmse: expected --lower"),
        ("rf~RMSE,rf~Rsquared", "several metrics"),
        ("a_acc,b_acc", ""),
        ("a_f1,a_acc", r"several metrics \(f1, acc\): name the models of one"),
        ("neg_loss,minus_loss", ""),
    ],
)
def test_metrics_of_columns(tmp_path: Path, header: str, said: str) -> None:
    """Dies if the model with the higher perplexity wins, or F1 is compared with accuracy."""
    content = f"{header}\n.5,.6\n.4,.7\n"
    if said:
        with pytest.raises(DataError, match=said):
            read(tmp_path, content)
    else:
        assert read(tmp_path, content).direction == "assumed"
    assert not read(tmp_path, content, models=header.split(","), higher_is_better=False).unusable
    assert not read(tmp_path, content, single=True).unusable  # nothing is compared


def test_tables_of_mlr3_and_of_the_best_epoch(tmp_path: Path) -> None:
    """Dies if folds of mlr3 are refused as steps, or a maximum of test scores passes silently."""
    rows = [f"{m},cv,{k},.{k}" for m in "AB" for k in (1, 2, 3)]
    content = "\n".join(["learner_id,resampling_id,iteration,classif.ce", *rows])
    found = read(tmp_path, content)
    assert found.labels == ("split",) and not found.higher_is_better
    assert found.folds and "not read" not in " ".join(found.warnings)
    with pytest.raises(DataError, match="rows of one run"):
        read(tmp_path, content.replace("resampling_id", "kind"))
    repeated = content.replace(",cv,", ",repeated_cv,")
    for columns in ({}, {"split": "iteration"}):
        with pytest.raises(
            DataError, match=r"splits of repeated_cv may overlap; .* columns repeat"
        ):
            read(tmp_path, repeated, columns=columns)
    for name, said in (("max_test_acc", True), ("test_acc", False), ("best_dev_acc", False)):
        found = read(tmp_path, f"model,seed,{name}\nA,1,.5\nB,1,.6\n")
        assert ("if test scores chose the epochs" in " ".join(found.warnings)) is said


def test_inner_folds_of_nested_cross_validation_are_no_runs(tmp_path: Path) -> None:
    """Dies if 3 inner folds of 2 outer ones pass for 6 independent runs."""
    rows = [f"{m},{o},{i},.{o}{i}" for m in "AB" for o in (1, 2) for i in (1, 2, 3)]
    content = "\n".join(["model,outer_fold,inner_fold,acc", *rows])
    with pytest.raises(DataError, match="rows 2 and 3 are both model A, split 1"):
        read(tmp_path, content)
    assert read(tmp_path, content, columns={"seed": "inner_fold"}).labels == ("seed", "split")


def test_means_of_a_paper_are_named_as_such(tmp_path: Path) -> None:
    """Dies if a pasted table of means and spreads has no score, and no word on why."""
    with pytest.raises(DataError, match=r"column CoLA: '83\.4 ± 0\.3'; expected the score"):
        read(tmp_path, "model,CoLA,SST-2\nbert,83.4 ± 0.3,92.1 ± 0.2\n")
