"""Score tables of other programs: every form that is read, and hostile ones refused in a line."""

import gzip
import json
import random
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import sources
from jaxeval.errors import DataError
from jaxeval.runs import columns
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Status
from tests.runs.reading import by_model, read

TIDY = "model,seed,score\nA,1,0.5\nA,2,0.6\nB,1,0.7\nB,2,0.9\n"
RECORDS: list[dict[str, Any]] = [
    {"model": m, "score": s, "seed": k}
    for m, s, k in (("A", 0.5, 1), ("A", 0.6, 2), ("B", 0.7, 1), ("B", 0.9, 2))
]


@pytest.fixture(params=[1 << 20, 0], ids=["csv", "arrow"], autouse=True)
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads delimited text by `csv`, and by Arrow as a large file."""
    monkeypatch.setattr(columns, "_LARGE", request.param)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", TIDY),
        ("a.tsv", TIDY.replace(",", "\t")),
        ("a.csv", TIDY.replace(",", ";")),
        ("a.csv", TIDY.replace(",", ";").replace(".", ",")),
        ("a.csv", "\ufeff" + TIDY.replace("\n", "\r\n\r\n")),
        ("a.csv.gz", gzip.compress(TIDY.encode(), mtime=0)),
        ("a.csv", 'seed,"A",B\n1,"0.5",0.7\n2,0.6,0.9\n'),
        ("a.json", '{"A": [0.5, 0.6], "B": [0.7, 0.9]}'),
        ("a.json", json.dumps(RECORDS)),
        ("a.json", json.dumps([{"model": r["model"], "on": {"f1": r["score"]}} for r in RECORDS])),
        *(("a" + end, "\n\n".join(map(json.dumps, RECORDS))) for end in (".jsonl", ".json", "")),
    ],
)
def test_all_forms_hold_the_same_scores(tmp_path: Path, name: str, content: str | bytes) -> None:
    """Dies if a delimiter, a decimal comma, gzip, a byte order mark, a wide table, JSON or nested
    records are read another way."""
    assert by_model(read(tmp_path, content, name)) == {"A": [0.5, 0.6], "B": [0.7, 0.9]}


def test_records_and_frames_are_tables() -> None:
    """Dies if records or the columns of a frame are read another way than a file."""

    class Frame(dict):
        columns = ("model", "score")

        def to_dict(self) -> None: ...

        def __len__(self) -> int:
            return 4

    frame = Frame({name: [row[name] for row in RECORDS] for name in Frame.columns})

    class Indexed(dict):
        columns, index = ("score",), types.SimpleNamespace(names=["model"])
        to_dict, __len__ = Frame.to_dict, Frame.__len__

        def reset_index(self) -> Frame:
            return frame

    class Series:  # as groupby returns it
        index = types.SimpleNamespace(names=["model", "seed"])
        to_dict, __len__, reset_index = Frame.to_dict, Frame.__len__, Indexed.reset_index

    for source in (RECORDS, frame, Indexed(), Series(), sources.read(RECORDS)):
        assert by_model(sources.read(source)) == {"A": [0.5, 0.6], "B": [0.7, 0.9]}
    assert by_model(sources.read(RECORDS, Layout(models=["B"]))) == {"B": [0.7, 0.9]}
    with pytest.raises(DataError, match=r"expected a path, .*, found int"):
        sources.read(5)
    with pytest.raises(DataError, match="row 5, column model: the model has no name"):
        sources.read([*RECORDS, {"model": float("nan"), "score": 1}])


def test_what_spreadsheets_add_is_left_out(tmp_path: Path) -> None:
    """Dies if empty rows and columns at the ends of a table are refused, or others pass."""
    rows = "model,seed,f1,,\nA,1,.8,,\nA,2,.9,,\n"
    found = read(tmp_path, rows + ",,,,\n" * 2)
    assert by_model(found) == {"A": [0.8, 0.9]}
    with pytest.raises(DataError, match="two columns are named ''"):
        read(tmp_path, rows.replace(".9,,", ".9,x,y"))


def test_parquet_is_read(tmp_path: Path) -> None:
    """Dies if Parquet columns are mapped another way than text, or pandas' index is a model."""
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    columns = {"arch": ["A", "A", "B"], "f1": [0.5, None, 0.7], "seed": [1, 2, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    of_pandas = {"A": [0.5, 0.6], "B": [0.7, 0.9], "__index_level_0__": [3, 7]}
    parquet.write_table(pyarrow.table(of_pandas), tmp_path / "wide.parquet")
    wide = sources.read(str(tmp_path / "wide.parquet"), Layout())
    assert by_model(wide) == {"A": [0.5, 0.6], "B": [0.7, 0.9]}
    of_data_sets = {**of_pandas, "__index_level_0__": ["wine", "iris"]}
    parquet.write_table(pyarrow.table(of_data_sets), tmp_path / "sets.parquet")
    with pytest.raises(DataError, match="column 'unnamed' looks like text"):
        sources.read(str(tmp_path / "sets.parquet"), Layout())
    named = {"model": "arch", "score": "f1"}
    table = sources.read(str(path), Layout(columns=named, missing="drop"))
    assert by_model(table) == {"A": [0.5], "B": [0.7]}
    assert (table.unusable[0].row, table.unusable[0].what) == (2, "missing")


def test_models_and_a_metric_are_chosen(tmp_path: Path) -> None:
    """Dies if mapped columns, the models asked for, their order or a metric are not kept to."""
    content = (
        "arch,run,metric,value\nA,1,f1,0.5\nA,1,acc,0.9\nB,1,f1,0.6\nC,1,f1,0.7\nA,2,f1,0.8\n"
    )
    named = {"model": "arch", "score": "value", "seed": "run"}
    with pytest.raises(DataError, match=r"several metrics \(f1, acc\); choose one with --metric"):
        read(tmp_path, content, columns=named)
    table = read(tmp_path, content, columns=named, metric="f1", models=["C", "A"])
    assert by_model(table) == {"C": [0.7], "A": [0.5, 0.8]} and table.metric == "f1"
    assert [of.rows.tolist() for of in table.data_sets[0].models.values()] == [[5], [2, 6]]
    table = read(tmp_path, "model,UAS,LAS\nA,8,1\nA,9,2\nB,7,3\n", metric="LAS")
    assert by_model(table) == {"A": [1, 2], "B": [3]} and table.metric == "LAS"


def test_the_cube_holds_each_score_in_its_place(tmp_path: Path) -> None:
    """Dies if data sets, runs, their labels, rows or dev scores are mixed up."""
    rows = [
        (m, d, s, 100 * k + 10 * j + s, k) for k, m in enumerate("AB") for j, d in enumerate("xy")
        for s in (2, 1)
    ]  # fmt: skip
    random.Random(0).shuffle(rows)
    lines = ["model,dataset,seed,score,dev", *(",".join(map(str, row)) for row in rows)]
    table = read(tmp_path, "\n".join(lines))
    assert [data.name for data in table.data_sets] == [*dict.fromkeys(row[1] for row in rows)]
    for data in table.data_sets:
        for model, of in data.models.items():
            mine = [(k, row) for k, row in enumerate(rows, 2) if row[:2] == (model, data.name)]
            assert of.scores[0, :, 0].tolist() == [row[3] for _, row in mine]
            assert of.labels["seed"].tolist() == [str(row[2]) for _, row in mine]
            assert of.rows.tolist() == [k for k, _ in mine]
            assert of.dev is not None and of.dev.tolist() == [row[4] for _, row in mine]


@pytest.mark.parametrize(
    ("cell", "what"), [("", "missing"), ("nan", "missing"), ("inf", "infinite"), ("x", "'x'")]
)
def test_unusable_scores_are_told_with_row_and_column(
    tmp_path: Path, cell: str, what: str
) -> None:
    """Dies if a score that is none is dropped in silence, or its place is wrong."""
    content = f"model,score\nA,1\n\nA,{cell}\nB,2\nB,3\n"
    with pytest.raises(DataError, match=rf"row 4, column score: .*{what}.*--missing drop"):
        read(tmp_path, content)
    dropped = read(tmp_path, content, missing="drop")
    assert by_model(dropped) == {"A": [1.0], "B": [2.0, 3.0]}
    assert dropped.data_sets[0].models["A"].status.ravel().tolist() == [0, Status.UNSCORED]
    assert [(problem.row, problem.column) for problem in dropped.unusable] == [(4, "score")]
    assert by_model(read(tmp_path, content, missing="zero"))["A"] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "crashed"),
    [("status", "diverged"), ("State", "crashed"), ("STATUS", " FAILED"), ("State", "OOM")],
)
def test_failed_runs_are_counted_and_need_no_flag(tmp_path: Path, name: str, crashed: str) -> None:
    """Dies if a failed run is an error, is not counted, or its score counts without a warning."""
    content = f"model,score,{name}\nA,1,finished\nA,,{crashed}\nB,2,finished\nB,7,{crashed}\n"
    table = read(tmp_path, content)
    assert table.statuses["A"] == {crashed: 1, "finished": 1} and len(table.unusable) == 1
    assert by_model(table) == {"A": [1], "B": [2]}
    for of in table.data_sets[0].models.values():
        assert of.status.ravel().tolist() == [Status.SCORED, Status.FAILED]
    assert f"B: 1 run with status {crashed} and a score; failed" in table.warnings[-1]
    wide = read(tmp_path, f"A,B,{name}\n1,2,finished\n,,{crashed}\n", columns={"status": name})
    assert by_model(wide) == {"A": [1], "B": [2]} and len(wide.unusable) == 2
    assert by_model(read(tmp_path, content, missing="zero")) == {"A": [1, 0], "B": [2, 0]}


def test_words_of_a_status_that_nobody_knows_are_named(tmp_path: Path) -> None:
    """Dies if the score of a run that may have failed counts in silence."""
    content = "model,score,status\nA,1,Finished\nA,2,halted\nB,2,COMPLETE\nB,7,\n"
    table = read(tmp_path, content)
    assert by_model(table) == {"A": [1, 2], "B": [2, 7]}
    (line,) = [line for line in table.warnings if "with status" in line]
    assert line.startswith("A: 1 run with status halted and a score; it counts; the")
    pruned = read(tmp_path, content.replace("halted", "PRUNED")).warnings[-1]
    assert pruned.startswith("A: 1 run with status PRUNED and a score; not finished; it counts")


def test_a_run_that_was_tried_again_counts_once(tmp_path: Path) -> None:
    """Dies if a crashed attempt is refused as a second score, or counts as 0 beside the other."""
    content = "model,seed,score,status\nA,1,,crashed\nA,1,.5,finished\nB,1,.7,finished\n"
    table = read(tmp_path, content)
    assert by_model(table) == {"A": [0.5], "B": [0.7]}
    assert table.data_sets[0].models["A"].runs == 2
    with pytest.raises(DataError, match="rows 2 and 3 are both model A, seed 1"):
        read(tmp_path, content, missing="zero")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "model,score\n", "header without rows"),
        ("a.csv", b"\x00\x01\x02\xff" * 50, "binary|not UTF-8"),
        ("a.parquet", "model,score\n", "not a Parquet file"),
        ("a.json", "{", "not valid JSON"),
        ("a.jsonl", '{"model": "A", "score": 1}\n[1]\n', r"jsonl:2: expected a JSON object"),
        ("a.json", '{"a": [1], "a": [2]}', "the key 'a' occurs twice"),
        ("a.jsonl", '{"a": 1}\n{"a": 1, "a": 2}', "a.jsonl:2: the key 'a' occurs twice"),
        ("a.json", '[{"on.f1": 1, "on": {"f1": 2}}]', "row 1: the key 'on.f1' occurs twice"),
        ("a.json", "[" * 100_000, "not valid JSON"),
        ("a.csv", "model,score, model\nA,1,2\n", "two columns are named 'model'"),
        ("a.csv", "A,1,0.5\nA,2,0.6\nB,1,0.4\n", "the first line looks like a row"),
        ("a.csv", "model,QQP,RTE\nA,8,9\nB,7,6\n", "QQP, RTE could each be the score; if col"),
        (
            "a.csv",
            "model,seed,QQP,RTE\nA,1,8,9\nA,2,7,6\n",
            "if columns are data sets, splits or seeds, expected one row",
        ),
        ("a.csv", "model,kinds\nA,x\n", "no column score; if .* columns are model, kinds: --col"),
        ("a.csv", "a,score\nx,1\n", "column score holds the scores, but there is no column model"),
        ("a.csv", TIDY + "A,1,0.4\n", "rows 2 and 6 are both model A, seed 1"),
        ("a.csv", "model,seed,cased,f1\nA,1,y,.5\nA,1,n,.6\n", "are both model A.*read: cased$"),
        ("a.csv", TIDY + "B ,9,0.4\n", "models 'B' and 'B ' differ only in blanks"),
        ("a.csv", "model,score\nA,1,3\n", "expected 2 fields"),
        ("a.csv", "model score\nA 1\n", "one column; expected several, with tabs, commas or"),
        ("a.csv", "model,score\rA,1\rB,2\r", "a.csv:1: lines end with CR alone"),
        ("a.csv", 'model,score,note\nA,1,"oops\nA,2,x\nB,3,y\n', "not a table of delimited text"),
        ("a.csv", "model,score\n,1\n", "row 2, column model: the model has no name"),
        ("a.json", '{"A": [true], "B": [1]}', "not a number: 'True'"),
        ("a.json", '{"A": [[1, 2]], "B": [1]}', r"row 1, column score: \[1, 2\] is not a number"),
        (
            "a.json",
            '[{"model": "A", "score": {"f": 1, "g": 1}}]',
            "score.f, score.g could",
        ),
        ("a.csv", "sep=;\nmodel;score\nA;1\nB;x\n", "row 4, column score: not a number"),
        ("a.csv", "sep=;\n", "expected a header below it"),
        ("a.json", '{"A": [1' + "0" * 400 + "]}", "infinite"),
        ("a.csv", "A,B\n1_0,2\n", "not a number: '1_0'"),
        ("a.csv", "A\tB\n0,82\t0,83\n", "row 2, column A: '0,82'; expected one decimal point "),
        ("a.csv", "A;B\n1.234,5;2\n", "column A: '1.234,5'; expected one decimal point "),
        ("a.csv", "A,B\n82.1%,83\n", "A: '82.1%'; expected the number without the percent sign$"),
        ("a.csv", "A,B\n82±0.3,83\n", "the score of each run, not a mean with its spread$"),
        ("a.csv", "A,B\n1,2\ndiverged,2\n", "'diverged', which belongs in a column status"),
        ("a.csv", "A,B\n5e90,2\n", "row 2: 5e\\+90; expected 0, or an absolute value"),
        ("a.csv", "A,B\n0.9,91.5\n0.8,92.1\n", "A look like fractions"),
        ("a.csv", "model,f1\nA,.8\nA,.81\nA,82\nB,.9\n", r"A look like .* \(0.8\), those of A"),
        ("a.csv", "Modell;f1\nA;0,8\nA;0,9\nB;0,7\n", "model or dataset, .*--column model=Modell"),
    ],
)
def test_hostile_tables_are_refused_in_a_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    """Dies if one of these is a traceback, or passes."""
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, content, name)
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Dies if a mistyped model, column or metric is passed over, or failed losses are the best."""
    with pytest.raises(DataError, match="no model 'a'; expected one of A, B"):
        read(tmp_path, TIDY, models=["a", "B"])
    with pytest.raises(DataError, match="--column item=seed: of scores of runs, expected one of"):
        read(tmp_path, TIDY, columns={"item": "seed"})
    with pytest.raises(DataError, match="no column 'C'"):
        read(tmp_path, "A,B\n1,2\n", models=["A", "C"])
    with pytest.raises(DataError, match=r"t\.csv: no column 'scor'; did you mean score\?"):
        columns.Columns("t.csv", {"score": [1]}, [2])["scor"]
    with pytest.raises(DataError, match="expected a column metric"):
        read(tmp_path, TIDY, metric="f1")
    with pytest.raises(DataError, match="--missing zero: 1 score missing, and 0 would be"):
        read(tmp_path, "A,B\n1,2\n,3\n", missing="zero", higher_is_better=False)


@pytest.mark.parametrize(("noise", "said"), [(0, "count as one"), (0.01, "are alike in all")])
def test_repeats_of_the_same_folds_are_noticed(tmp_path: Path, noise: float, said: str) -> None:
    """Dies if three copies of four folds pass for twelve splits, or three seeds on the same folds
    for three cross-validations without a word."""
    draw = np.random.default_rng(0)
    scores = draw.normal(0.5, 0.1, (1, 4, 2)) + noise * draw.normal(size=(3, 4, 2))
    rows = [f"{r},{f},{a},{b}" for r, of in enumerate(scores) for f, (a, b) in enumerate(of)]
    found = read(tmp_path, "\n".join(["rep,fold,A,B", *rows]))
    assert sum(said in line for line in found.warnings) == 1
    assert (found.overlap > 0) == (noise > 0)
