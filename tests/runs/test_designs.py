"""Tables of standard designs: GLUE, columns of models and metrics, mlr3, the best epoch."""

import itertools
from pathlib import Path

import pytest

from jaxeval.errors import DataError
from tests.runs.reading import by_model, read


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
        ("a_neg_loss,b_neg_loss", ""),
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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('A,B\n"1,234.5",2\n', "'1,234.5'; expected one decimal point"),
        ("A;B\n81,2%;2\n", "'81,2%'; expected the number without the percent"),
        ("model,f1\nA,83.4 (0.3)\n", r"'83.4 \(0.3\)'; expected the score of each run"),
        ("model,CoNLL\nA,83.4$\\pm$0.3\n", "expected the score of each run"),
        ("Seed,A,B\n1,.5,.6\n2,.6,.7\nMean,.55,.65\n", "row 4: seed 'Mean' looks like a mean"),
        ("Fold,Model,f1\n0,A,.5\nStd. Dev.,A,.1\n", "row 3: split 'Std. Dev.' looks like a mean"),
        ("Task,A,B\nAverage,.5,.6\nARC,.5,.6\n", "row 2: dataset 'Average' looks like a mean"),
        (
            "model,seed,split,f1\nA,1,train,.9\nA,1,test,.8\n",
            "split 'train' looks like .* part of the",
        ),
        ("dataset,version,A,B\nx,1a,.5,.6\ny,2b,.5,.6\n", "--column ROLE=version$"),
        ("model,Metric,value\nA,f1,.5\nA,acc,.6\n", r"several metrics \(f1, acc\)"),
        ("metric,A,B\nacc,.8,.9\nf1,.7,.8\n", r"several metrics \(acc, f1\)"),
        ("model,metric,acc\nA,logloss,.8\n", "column acc: expected logloss, as the column"),
        ("model,test_r2,test_neg_mse\nA,.5,-2\n", "test_neg_mse could each be the score"),
        ("number,value,duration,lr\n0,.5,3,.1\n", "--column model=NAME --column score=NAME$"),
    ],
)
def test_what_other_programs_write_is_not_taken_for_scores(
    tmp_path: Path, content: str, said: str
) -> None:
    """Dies if a mean counts as a run, rows of two metrics as one, or the remedy is no remedy."""
    with pytest.raises(DataError, match=said):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "layout", "roles", "labels"),
    [
        (
            "run_id,params.model,params.seed,metrics.test_f1,n\n7,A,1,.5,3\n8,B,1,.6,4\n",
            {},
            {"model": "params.model", "seed": "params.seed", "score": "metrics.test_f1"},
            ("seed",),
        ),
        (
            "Key_Dataset,Key_Run,Key_Fold,Key_Scheme,Percent_correct\n"
            + "".join(
                f"d,{r},{f},{m},8{f}.{int(r) * int(f) % 3}\n"
                for m, r, f in itertools.product("AB", "123", "12")
            ),
            {},
            {"seed": "Key_Run", "split": "Key_Fold", "model": "Key_Scheme"},
            ("split",),  # fold 1 of another run is another split
        ),
        (
            "model,id,.metric,.estimator,.estimate\n"
            + "".join(f"{m},Fold{k},rmse,std,{k}\n" for m in "AB" for k in "123"),
            {"metric": "rmse"},
            {"metric": ".metric", "split": "id", "score": ".estimate"},
            ("split",),
        ),
        ("Model,Seed,Metric,n\nA,1,.5,3\nB,1,.6,3\n", {}, {"score": "Metric"}, ("seed",)),
        ("seed,metric,A,B\n1,acc,.8,.9\n1,f1,.7,.8\n", {"metric": "f1"}, {}, ("seed",)),
        ("Model,Seed,Score,width\nA,1,.8,.9\nB,1,.7,.8\n", {}, {"score": "Score"}, ("seed",)),
        (
            "method,config.model,config.seed,f1\nA,x,1,.9\nB,x,1,.8\n",
            {},
            {"model": "method", "seed": "config.seed"},
            ("seed",),
        ),
        (
            "task_id,task_name,model,accuracy\n1,x,A,.5\n2,x,B,.6\n",
            {},
            {"dataset": "task_name"},
            (),
        ),
        (
            "task_id,domain,model,accuracy\n1,x,A,.5\n1,x,B,.6\n2,x,A,.7\n2,x,B,.8\n",
            {},
            {"dataset": "task_id"},
            (),
        ),
        (
            "params.model,params.seed,params.metric,metrics.test_score,params.state,params.cv,"
            "n_folds\nA,1,logloss,.5,failed,5,5\nB,1,logloss,.6,failed,5,5\n",
            {},
            {"score": "metrics.test_score", "seed": "params.seed"},
            ("seed",),
        ),
        (
            "model,split,acc\nA,test,.5\nA,val,.6\nB,test,.5\nB,val,.6\n",
            {"columns": {"dataset": "split"}},
            {},
            (),
        ),
        (
            "model,rng_key,fold,acc\n"
            + "".join(
                f"{m},{k},{f},.{5 + k * f % 4}{k}\n" for m in "AB" for k in (1, 2) for f in (1, 2)
            ),
            {"columns": {"seed": "rng_key"}},
            {"split": "fold"},
            ("seed", "split"),
        ),
    ],
)
def test_exports_need_no_names(
    tmp_path: Path, content: str, layout: dict, roles: dict[str, str], labels: tuple[str, ...]
) -> None:
    """Dies if columns of MLflow, Weka or tidymodels are named in vain, or folds are runs."""
    found = read(tmp_path, content, **layout)
    assert found.models == ("A", "B") and found.labels == labels
    assert all(map(len, by_model(found).values()))
    for of, column in roles.items():
        assert any(f"column {column} is read as the {of};" in line for line in found.warnings)


def test_columns_in_json_are_no_models(tmp_path: Path) -> None:
    """Dies if the epochs of a loss are compared with others, or seeds with scores."""
    with pytest.raises(DataError, match="loss, val_loss look like metrics of one model"):
        read(tmp_path, '{"loss": [0.5, 0.4], "val_loss": [0.6, 0.5]}', "a.json")
    for columns in ('"Seed": [1, 2], "A": [0.5, 1], "B": [0.6, 1]', '"A": [1, 1], "B": [0.5, 1]'):
        assert read(tmp_path, f"{{{columns}}}", "a.json").models == ("A", "B")
    branches = read(tmp_path, '{"main": [0.5, 1], "dev": [0.6, 1]}', "a.json")
    assert branches.models == ("main", "dev")
    tidy = '{"model": ["A", "B", "B"], "seed": [1, 1, 2], "f1": [0.5, 0.6, 0.7]}'
    assert by_model(read(tmp_path, tidy, "a.json")) == {"A": [0.5], "B": [0.6, 0.7]}
