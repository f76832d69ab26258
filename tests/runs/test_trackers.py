"""Runs of W&B, MLflow and TensorBoard as `compare` reads them: local files, no package needed."""

import base64
import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tensorboardX import proto
from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.summary import hparams, scalar

import jaxeval
from jaxeval import sources
from jaxeval.errors import DataError
from jaxeval.runs import trackers
from tests.runs.reading import by_model, labels

# as wandb 0.31 wrote it: project p, group g, name lstm-seed1, id r1, config {"seed": 1,
# "opt": {"lr": .1}, "long": "x" * 40000}; log({"val/acc": .5 + k/8, "deep": {"x": k},
# "h": "text"}) for k in 0 .. 2; summary["test/acc"] = .75; finish(exit_code=1)
_WANDB = zlib.decompress(
    base64.b85decode(
        "c-rmM&1)QG9Ki8Blg(!PWRq^DwWJHaF!&xbnVH?4mwJ(C@gmwoLC9s@otZQncQ>2eNxNFJCL>y?BBCd~2-So1AU#"
        "PuD7esGL{U_b9z_2EwThmdl~k5$aYd*g-_L0Vp5N;X&ymOPT>9?Av7=Y&w?8~4GNPYNNu_O`7xzm~E*g5l)Qx$ww"
        "Bq_zzvP;M>6iQ!-wq4ritSd5ZZ!zZf*<-;5LmvNHgw0(jSJ_#IrH|jN=AvrjFxq3wT*6}u-bgeE$pQ~E53SP89d}"
        "gOWRH!r)9c)s?rRqu~1HLNhwpEFbrZLOsUH8^;Q%Md0MNtwIhaZZplw}6`889H&4W(zpH3n00000000000000000"
        "000000000000000000000000000000000000000002~o!+r08pm!<u?PSF0000000000|0|j$PAtiKCu%Ho!Z0w;"
        "ifrb~D{p?C&b`yWa87wc+>_sTn^+Ysu`Ps_F6gGIJNKpyy<qCbTDD$mZgv;Cu3ff^542u<JwGNg<JKX0Q0Cg<#%8"
        "S@Ho|7q(W7oOCw70mv{XzEr25&ERNCh9=(*qe`EYGM37yE_C2vyG<x`brP*o?}o6V@!2xB1(IU_UWq4$ri<8#|dL"
        "^}VB+^<fatkf4Pz8{NmLodl`H5G(mOBLPUL$j(_jYV3E!fvF=J5*U7Wa&heMk^MFlBT?p?G{UR(e(`1bnS57@Z_9"
        "2RBtM2x@0?!YuN=krB0MPQP>*fPCftq2XWHIq}scIRsS@xI<~X?>D_}3W=7uNONZb6Xwdq;d{52}<(n{c+q!0l=I"
        "GOSw&yv9bDe2C!|)u-8J@;G*njBqnWPb^#^MH+{fnVhB_n?N{FmHdky9ft^5`QkYdc9qHoqlvLpf81?p(7+>mLl{"
        "7?$g}*B!|6EYlty$a?Uz^VSPVAJgiN_)i;2)~LMlSZ~2enwhzJ8Qho8{&5-nIQ}>Hfq(Jx;w?$^{=Mk@0XZu(QPS"
        "SfM7?h>{@^8ta#u^}`I(#;y~umdEx$JS(z7Ff=|{f^4&0hVBtPnmmfcvZt*t+~UO(A3p5ANWRgwHbzX3z%&JX"
    )
)
_ACC = {("lstm", k): 0.8 + k / 100 for k in range(3)} | {
    ("cnn", k): 0.7 + k / 50 for k in range(3)
}


def _tensorboard(folder: Path, names: str, **config: Any) -> Path:
    """Three steps a run, whose last is the accuracy."""
    for (model, seed), acc in _ACC.items():
        run = folder / names.format(model=model, seed=seed)
        run.mkdir(parents=True)
        writer = EventsWriter(str(run / "events"), str(seed))
        parts = [(k, scalar("test/acc", acc - 0.1 + k / 20)) for k in range(3)]
        parts += [(2, scalar("train/loss", 0.1)), (0, scalar("val/acc", 0.9))]
        for step, part in parts:
            writer.write_event(proto.event_pb2.Event(step=step, summary=part))
        writer.close()
        if config:  # seed 0: in the run's folder, as Lightning; else within it, as PyTorch
            inner = run / ("1700000000.5" * bool(seed))
            inner.mkdir(exist_ok=True)
            writer = EventsWriter(str(inner / "events"), "h")
            for part in hparams({"arch": model, "seed": seed, **config}, {"hp": 0}):
                writer.write_event(proto.event_pb2.Event(summary=part))
            writer.close()
    return folder


def _mlruns(folder: Path) -> Path:
    """As mlflow 2 and 3 write it with MLFLOW_ALLOW_FILE_STORE."""
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "meta.yaml").write_text("experiment_id: '1'\nname: 'of: words'\n")
    for number, ((model, seed), acc) in enumerate([*_ACC.items(), (("cnn", 7), 0.0)]):
        run = folder / "1" / f"{number:032x}"
        for kind in ("params", "metrics/test"):
            (run / kind).mkdir(parents=True)
        (run / "params" / "arch").write_text(model)
        (run / "params" / "seed").write_text(str(seed))
        (run / "params" / "lr").write_text("0.1")
        curve = "".join(f"17000 {acc - 0.1 + k / 20} {k}\n" for k in (2, 0, 1))
        (run / "metrics" / "test" / "acc").write_text(curve)
        stage = "deleted" if seed == 7 else "active"
        about = f"lifecycle_stage: {stage}\nrun_id: {number:032x}\nrun_name: x\nstatus: 3\n"
        (run / "meta.yaml").write_text(about)
    return folder


def _mlflow(folder: Path) -> Path:
    """The tables of mlflow 3.17 that are read."""
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(folder / "mlflow.db")) as sql, sql:
        sql.execute("CREATE TABLE experiments (experiment_id INTEGER, name TEXT)")
        sql.execute("INSERT INTO experiments VALUES (1, 'of: words')")
        sql.execute(
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, lifecycle_stage TEXT, "
            "start_time INTEGER, experiment_id INTEGER)"
        )
        sql.execute("CREATE TABLE latest_metrics (key TEXT)")
        sql.execute("CREATE TABLE params (run_uuid TEXT, key TEXT, value TEXT)")
        columns = "run_uuid TEXT, key TEXT, step INTEGER, value REAL, is_nan BOOLEAN, timestamp"
        sql.execute(f"CREATE TABLE metrics ({columns})")
        for number, ((model, seed), acc) in enumerate([*_ACC.items(), (("cnn", 7), 0.0)]):
            stage = "deleted" if seed == 7 else "active"
            run = (str(number), "x", "FINISHED", stage, number, 1)
            sql.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", run)
            for key, value in {"arch": model, "seed": seed, "lr": 0.1}.items():
                sql.execute("INSERT INTO params VALUES (?, ?, ?)", (str(number), key, str(value)))
            for k, at in ((2, 17000), (0, 17000), (2, 16000)):  # the last was written over
                score = acc - 0.1 + k / 20 if at == 17000 else 0.0
                row = (str(number), "test/acc", k, score, 0, at)
                sql.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)
    return folder / "mlflow.db"


_WRITTEN: dict[str, Callable[[Path], Path]] = {
    "TensorBoard, by names": lambda folder: _tensorboard(folder, "{model}/seed{seed}"),
    "TensorBoard, hyperparameters": lambda folder: _tensorboard(folder, "{model}{seed}", lr=0.1),
    "MLflow, files": _mlruns,
    "MLflow, a database": _mlflow,
}


@pytest.mark.parametrize("written", _WRITTEN)
def test_runs_are_grouped_by_seed(written: str, tmp_path: Path) -> None:
    """Dies if a step is a run, the last value is not read, or a deleted run is."""
    path = _WRITTEN[written](tmp_path / "runs")
    found = jaxeval.read_scores(path, score="test/acc")
    each = {model: [x for (of, _), x in _ACC.items() if of == model] for model in ("lstm", "cnn")}
    for model, scores in by_model(found).items():
        assert scores == pytest.approx(each[model], abs=1e-7)
    assert sorted(labels(found, "seed")) == sorted("001122") and len(found.models) == 2
    assert found.warnings[0].startswith("6 runs of ")
    assert not any("lr" in note for note in found.warnings)  # the same in all runs
    uri = f"sqlite:///{path}" if path.is_file() else path  # as MLflow names a database
    first = jaxeval.read_scores(uri, score="test/acc", column={"last": "step"})
    assert by_model(first) == by_model(found)
    if written.startswith("TensorBoard"):
        best = jaxeval.read_scores(path, score="test/acc", column={"best": "val/acc"})
        assert by_model(best)["lstm"] == pytest.approx([x - 0.1 for x in each["lstm"]], abs=1e-7)


def test_a_file_of_weights_and_biases(tmp_path: Path) -> None:
    """Dies if a field of the file is read as another, or a cut file gives more or nothing."""
    file = tmp_path / "run-r1.wandb"
    file.write_bytes(_WANDB)
    program, (run,) = trackers.find(tmp_path)
    assert (program, run.name, run.state) == ("Weights & Biases", "lstm-seed1", "failed")
    config = {"group": "g", "seed": 1, "opt.lr": 0.1, "long": "x" * 40000}  # in two blocks
    assert run.config == config
    assert run.steps == {k: {"val/acc": 0.5 + k / 8, "deep.x": k} for k in range(3)}
    (row,) = run.rows(by_step=False)
    assert row["test/acc"] == 0.75 and "h" not in row
    for cut in [*range(0, 40000, 997), *range(40000, len(_WANDB), 17)]:
        file.write_bytes(_WANDB[:cut])
        _, runs = trackers.find(tmp_path)
        assert all([*run.steps] == [*range(len(run.steps))] for run in runs)


def test_a_block_that_has_no_room_for_a_header_ends_there() -> None:
    """Dies if the filling of a block is read as a record."""
    records = [b"a" * (32768 - 17), b"b"]
    parts = [bytes(4) + len(of).to_bytes(2, "little") + b"\1" + of for of in records]
    assert [*trackers._wandb(b":W&B\0\0\0" + bytes(3).join(parts))] == records


def test_tensors_are_scalars_as_tensorflow_2_writes_them(tmp_path: Path) -> None:
    """Dies if a tensor of one number is left out, or one of several is read."""
    numbers = {"packed": {"float_val": [0.25]}, "raw": {"tensor_content": b"\0\0\x80\x3e"}}
    shapes = {**numbers, "vector": {"float_val": [0.25]}}
    writer = EventsWriter(str(tmp_path / "events"))
    for tag, content in shapes.items():
        tensor = proto.tensor_pb2.TensorProto(dtype=1, **content)
        if tag == "vector":
            tensor.tensor_shape.dim.add(size=1)
        value = proto.summary_pb2.Summary.Value(tag=tag, tensor=tensor)
        summary = proto.summary_pb2.Summary(value=[value])
        writer.write_event(proto.event_pb2.Event(step=3, summary=summary))
    writer.close()
    _, (run,) = trackers.find(tmp_path)
    assert run.steps == {3: {"packed": 0.25, "raw": 0.25}} and run.name == tmp_path.name


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    """Dies if damage is a traceback, runs without models are guessed at, or keys are not named."""
    named = _tensorboard(tmp_path / "named", "{model}{seed}")
    with pytest.raises(
        DataError, match=r"names of runs \(cnn0, .* neither model nor seed.*config"
    ):
        sources.read(named)
    keyed = _mlruns(tmp_path / "keyed")
    for arch in keyed.rglob("arch"):
        arch.rename(arch.with_name("words"))
    with pytest.raises(DataError, match=r"neither model nor seed.* one: words, test/acc"):
        sources.read(keyed)
    assert (
        len(jaxeval.read_scores(keyed, column={"model": "words", "score": "test/acc"}).models) == 2
    )
    (damaged := tmp_path / "a.wandb").write_bytes(json.dumps({}).encode() * 9)
    with pytest.raises(DataError, match=r"a\.wandb: cannot be read \(expected b':W&B'"):
        sources.read(damaged)
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as sql, sql:
        sql.execute("CREATE TABLE runs (id)")
    with pytest.raises(DataError, match=r"a\.db: a database without runs of MLflow;"):
        sources.read(tmp_path / "a.db")
    damaged.write_bytes(_WANDB[:8])
    with pytest.raises(DataError, match="no run of Weights & Biases in it"):
        sources.read(damaged)
