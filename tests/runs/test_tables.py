"""Score tables of other programs: every form that is read, and hostile ones refused in a line."""

import gzip
import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.runs import checks, imported, tables, units
from jaxeval.runs.layout import Layout

TIDY = "model,seed,score\nA,1,0.5\nA,2,0.6\nB,1,0.7\nB,2,0.9\n"


def _write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def _scores(table: tables.ScoreTable) -> dict[str, list[float]]:
    return {model: table.scores_of(model).tolist() for model in table.models}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", TIDY),
        ("a.tsv", TIDY.replace(",", "\t")),
        ("a.csv", TIDY.replace(",", ";")),
        ("a.csv", "\ufeff" + TIDY.replace("\n", "\r\n")),
        ("a.csv", TIDY.replace("\n", "\n\n")),
        ("a.csv.gz", gzip.compress(TIDY.encode(), mtime=0)),
        ("a.csv", "A,B\n0.5,0.7\n0.6,0.9\n"),
        ("a.csv", 'seed,"A",B\n1,"0.5",0.7\n2,0.6,0.9\n'),
        ("a.json", '{"A": [0.5, 0.6], "B": [0.7, 0.9]}'),
        *(
            (
                name,
                '{"model": "A", "score": 0.5}\n{"model": "A", "score": 0.6, "note": 1}\n\n'
                '{"model": "B", "score": 0.7}\n{"model": "B", "score": 0.9}\n',
            )
            for name in ("a.jsonl", "a.ndjson", "a.json", "a.txt", "a.csv")
        ),
        (
            "a.json",
            json.dumps(
                [
                    {"model": m, "score": s, "seed": k}
                    for m, s, k in (("A", 0.5, 1), ("A", 0.6, 2), ("B", 0.7, 1), ("B", 0.9, 2))
                ]
            ),
        ),
    ],
)
def test_all_forms_hold_the_same_scores(tmp_path: Path, name: str, content: str | bytes) -> None:
    """Dies if a delimiter, gzip, a byte order mark, a wide table or JSON is read another way."""
    table = tables.read(_write(tmp_path, name, content), Layout())
    assert _scores(table) == {"A": [0.5, 0.6], "B": [0.7, 0.9]}


def test_parquet_is_read(tmp_path: Path) -> None:
    """Dies if Parquet columns are mapped another way than text."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    columns = {"arch": ["A", "A", "B"], "f1": [0.5, None, 0.7], "seed": [1, 2, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    named = {"model": "arch", "score": "f1"}
    table = tables.read(str(path), Layout(columns=named, missing="drop"))
    assert _scores(table) == {"A": [0.5], "B": [0.7]}
    assert (table.unusable[0].row, table.unusable[0].what) == (2, "missing")


def test_names_models_metric_and_rows_are_chosen(tmp_path: Path) -> None:
    """Dies if mapped columns, the models asked for, a metric or the first rows are not kept to."""
    path = _write(
        tmp_path,
        "a.csv",
        "arch,run,metric,value\nA,1,f1,0.5\nA,1,acc,0.9\nB,1,f1,0.6\nC,1,f1,0.7\nA,2,f1,0.8\n",
    )
    named = {"model": "arch", "score": "value", "seed": "run"}
    with pytest.raises(
        DataError, match=r"several metrics \(f1, acc\); choose one with --metric NAME"
    ):
        tables.read(path, Layout(columns=named))
    table = tables.read(path, Layout(columns=named, metric="f1", models=["C", "A"]))
    assert _scores(table) == {"C": [0.7], "A": [0.5, 0.8]}
    assert table.metric == "f1" and table.rows.tolist() == [2, 5, 6]
    cut = tables.read(path, Layout(columns=named, metric="f1"), rows=4)
    assert _scores(cut) == {"A": [0.5], "B": [0.6], "C": [0.7]}


def test_none_is_a_value_and_empty_is_missing(tmp_path: Path) -> None:
    """Dies if the word None is taken for a missing model or seed."""
    table = tables.read(
        _write(tmp_path, "a.csv", "model,seed,score\nNone,None,1\nA,1,2\n"), Layout()
    )
    assert table.models == ("None", "A")
    assert table.axes["seed"].tolist() == ["None", "1"]


@pytest.mark.parametrize(
    ("cell", "what"),
    [("", "missing"), ("nan", "missing"), ("inf", "infinite"), ("0,5", "fields"), ("x", "'x'")],
)
def test_unusable_scores_are_told_with_row_and_column(
    tmp_path: Path, cell: str, what: str
) -> None:
    """Dies if a score that is none is dropped in silence, or its place is wrong."""
    path = _write(tmp_path, "a.csv", f"model,score\nA,1\n\nA,{cell}\nB,2\nB,3\n")
    with pytest.raises(DataError, match=what) as caught:
        tables.read(path, Layout())
    assert "4" in str(caught.value)
    if what == "fields":
        return
    assert "column score" in str(caught.value) and "--missing" in str(caught.value)
    dropped = tables.read(path, Layout(missing="drop"))
    assert _scores(dropped) == {"A": [1.0], "B": [2.0, 3.0]}
    assert [(problem.row, problem.column) for problem in dropped.unusable] == [(4, "score")]
    assert _scores(tables.read(path, Layout(missing="zero")))["A"] == [1.0, 0.0]


def test_failed_runs_are_counted_and_need_no_flag(tmp_path: Path) -> None:
    """Dies if a diverged run is an error, or is not counted."""
    path = _write(
        tmp_path,
        "a.csv",
        "model,score,status\nA,1,finished\nA,,diverged\nB,2,finished\nB,,failed\n",
    )
    table = tables.read(path, Layout())
    assert table.statuses == {
        "A": {"diverged": 1, "finished": 1},
        "B": {"failed": 1, "finished": 1},
    }
    assert len(table.unusable) == 2
    assert _scores(tables.read(path, Layout(missing="zero"))) == {"A": [1, 0], "B": [2, 0]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "model,score\n", "header without rows"),
        ("a.csv", "", "empty"),
        ("a.csv", b"\x00\x01\x02\xff" * 50, "binary|not UTF-8"),
        ("a.parquet", "model,score\n", "not a Parquet file|needs pyarrow"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[1, 2]", "expected {model: "),
        ("a.jsonl", '{"model": "A", "score": 1}\n[1]\n', r"jsonl:2: expected a record in each"),
        ("a.txt", '{"model": "A", "score": 1}\n{"a": 1, "a": 2}\n', "the key 'a' occurs twice"),
        ("a.jsonl", '{"model": "A", "score": 1}\n{"mod', "jsonl:2: not valid JSON"),
        ("a.json", "[" * 100_000, "not valid JSON"),
        ("a.csv", "model,score,model\nA,1,2\n", "two columns are named 'model'"),
        ("a.csv", "model,score, model\nA,1,2\n", "two columns are named 'model'"),
        ("a.csv", "model,kinds\nA,x\n", "no column 'score'; expected one of model, kinds"),
        ("a.csv", "a,score\nx,1\n", "column score holds the scores, but there is no column model"),
        ("a.csv", "seed\n1\n", "a column for each model"),
        ("a.csv", TIDY + "A,1,0.4\n", "rows 2 and 6 are both model A, seed 1"),
        ("a.csv", "model,score\nA,1,3\n", "expected 2 fields"),
        ("a.csv", 'model,score,note\nA,1,"oops\nA,2,x\nB,3,y\n', "not a table of delimited text"),
        ("a.json", '{"A": [1], "B": [2], "A": [3]}', "the key 'A' occurs twice"),
        ("a.csv", "model,score\n,1\n", "row 2: the model has no name"),
        ("a.json", '[{"model": "A", "score": 1}, {"score": 2}]', "row 2: the model has no name"),
        ("a.json", '{"\\ud800": [1]}', "not valid Unicode"),
        ("a.json", '{"A": [true], "B": [1]}', "not a number: 'True'"),
        ("a.json", '{"A": [[1, 2]], "B": [1]}', r"'A' holds \[1, 2\], which is no score; expec"),
        (
            "a.json",
            '{"results": [{"model": "A", "score": 1}]}',
            r"'results' holds .*, which is no score; expected .* a list of records",
        ),
        ("a.json", '[{"model": "A", "score": {"f1": 1}}]', "row 1, column score: .* is no number"),
        ("a.jsonl", '{"model": "A", "score": [1, 2]}', "row 1, column score: .* is no number"),
        ("a.json", '{"A": [1' + "0" * 400 + "]}", "infinite"),
        ("a.csv", "A,B\n1_0,2\n", "not a number: '1_0'"),
        ("a.csv", "model;score\nA;,5\nB;0,82\n", "column score: ',5'; expected a decimal point$"),
        ("a.csv", "A;B\n0,82;0,83\n", "row 2, column A: '0,82'; expected a decimal point$"),
        ("a.csv", "A,B\n82.1%,83\n", "A: '82.1%'; expected the number without the percent sign$"),
        ("a.csv", "A,B\n5e90,2\n", "row 2: 5e\\+90; expected 0, or an absolute value"),
        ("a.csv", "A,B\n-5e-90,2.5\n", "row 2: -5e-90; expected 0, or an absolute value"),
    ],
)
def test_hostile_tables_are_refused_in_a_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    """Dies if one of these is a traceback, or passes."""
    with pytest.raises(DataError, match=message) as caught:
        tables.read(_write(tmp_path, name, content), Layout())
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [checks.LARGEST / 10, 10 / checks.LARGEST])
def test_scores_of_sizes_that_are_read_can_be_tested(size: float) -> None:
    """Dies if degrees of freedom overflow: near 5e90 a t of -12 had p = .053."""
    a, b = np.array([[1.0, 1.2, 1.1, 1.3], [2.0, 2.3, 2.1, 2.2]])
    small, scaled = stats.welch_t(a, b), stats.welch_t(size * a, size * b)
    assert scaled.p_value == pytest.approx(small.p_value) and small.p_value < 0.001


def test_a_missing_model_names_those_there_are(tmp_path: Path) -> None:
    """Dies if a mistyped model is compared as an empty sample."""
    with pytest.raises(DataError, match="no model 'a'; expected one of A, B"):
        tables.read(_write(tmp_path, "a.csv", TIDY), Layout(models=["a", "B"]))
    with pytest.raises(DataError, match="column y holds the scores, but there is no column model"):
        tables.read(_write(tmp_path, "c.csv", "x,y\na,1\n"), Layout(columns={"score": "y"}))
    with pytest.raises(DataError, match="no column 'C'"):
        tables.read(_write(tmp_path, "b.csv", "A,B\n1,2\n"), Layout(models=["A", "C"]))


def test_json_may_be_compressed_and_quotes_hold_lines(tmp_path: Path) -> None:
    """Dies if gzip hides the form, or a line break in a name is lost or kept."""
    path = _write(tmp_path, "a.json.gz", gzip.compress(b'{"A": [1, 2]}'))
    assert _scores(tables.read(path, Layout())) == {"A": [1, 2]}
    quoted = _write(tmp_path, "b.csv", 'model,score\n"a\nb",1\nc,2\n')
    assert tables.read(quoted, Layout()).models == ("a\\nb", "c")


def test_a_metric_needs_its_column_and_failed_losses_are_not_zero(tmp_path: Path) -> None:
    """Dies if a metric that is nowhere is believed, or a failed run has the best loss."""
    with pytest.raises(DataError, match="expected a column metric"):
        tables.read(_write(tmp_path, "a.csv", TIDY), Layout(metric="f1"))
    path = _write(tmp_path, "b.csv", "A,B\n1,2\n,3\n")
    with pytest.raises(DataError, match="0 would be the best loss"):
        tables.read(path, Layout(missing="zero", higher_is_better=False))
    with pytest.raises(DataError, match="A: no usable score"):
        empty = _write(tmp_path, "c.csv", "A,B\n,2\n,3\n")
        units.pools(tables.read(empty, Layout(missing="drop")), together=False)


def test_the_mean_of_a_unit_does_not_depend_on_order(tmp_path: Path) -> None:
    """Dies if .1 + .2 + .3 and .3 + .2 + .1 make two means."""
    rows = [f"A,1,{k},{s}" for k, s in enumerate((0.1, 0.2, 0.3))]
    rows += [f"B,1,{k},{s}" for k, s in enumerate((0.3, 0.2, 0.1))]
    path = _write(tmp_path, "a.csv", "model,split,seed,score\n" + "\n".join(rows))
    cell = units.samples(tables.read(path, Layout()), "split").by_dataset[""]
    assert cell["A"].scores == cell["B"].scores


def test_percent_and_fractions_in_one_table_are_noticed(tmp_path: Path) -> None:
    """Dies if .9 against 90 passes without a word."""
    path = _write(tmp_path, "a.csv", "A,B\n0.9,91.5\n0.8,92.1\n")
    with pytest.raises(DataError, match="A look like fractions"):
        tables.read(path, Layout())
    mixed = _write(tmp_path, "b.csv", "A,B\n0.9,91.5\n89,92.1\n88,93.4\n")
    assert "A: 1 of 3" in tables.read(mixed, Layout()).warnings[0]
    assert not tables.read(_write(tmp_path, "c.csv", TIDY), Layout()).warnings


@pytest.mark.slow
def test_a_quarter_of_a_million_rows_takes_seconds(tmp_path: Path) -> None:
    """Dies if reading is quadratic or walks rows many times (.8 s here; the bar is 5)."""
    draw = random.Random(0)
    lines = [f"{'AB'[k % 2]},{k // 2},{draw.random():.6f}" for k in range(250_000)]
    path = _write(tmp_path, "a.csv", "model,seed,score\n" + "\n".join(lines) + "\n")
    begin = time.process_time()
    samples = units.samples(tables.read(path, Layout()))
    assert time.process_time() - begin < 5
    assert len(samples.by_dataset[""]["A"].scores) == 125_000


def test_numbers_name_the_rows_of_lists(tmp_path: Path) -> None:
    """Dies if lists and wide tables cannot be paired by their position."""
    for name, content in (("a.json", '{"A": [1, 2], "B": [3, 4]}'), ("a.csv", "A,B\n1,3\n2,4\n")):
        path = _write(tmp_path, name, content)
        samples = units.samples(tables.read(path, Layout(columns={"split": "number"})))
        assert samples.unit == "split"
        pairs = units.paired(samples.by_dataset[""]["A"], samples.by_dataset[""]["B"])
        np.testing.assert_array_equal(pairs, [[1, 2], [3, 4]])


def test_a_column_that_is_missing_is_named() -> None:
    """Dies if a mistyped column is a KeyError."""
    table = imported.Columns("t.csv", {"score": [1]}, [2])
    with pytest.raises(DataError, match=r"t\.csv: no column 'scor'; did you mean score\?"):
        table["scor"]


def test_headers_are_read_in_linear_time(tmp_path: Path) -> None:
    """Dies if 50,000 columns with one name twice take minutes, or as many models are compared."""
    header = [f"c{k}" for k in range(50_000)]
    begin = time.monotonic()
    for last, message in (("c0", "two columns are named 'c0'"), ("x", "50001 models; expected")):
        rows = [",".join([*header, last]), ",".join([".5"] * 50_001)]
        path = _write(tmp_path, "a.csv", "\n".join(rows))
        with pytest.raises(DataError, match=message):
            tables.read(path, Layout())
    twice = "{" + ",".join(f'"{name}":[1]' for name in [*header, "c0"]) + "}"
    with pytest.raises(DataError, match="the key 'c0' occurs twice"):
        tables.read(_write(tmp_path, "a.json", twice), Layout())
    assert time.monotonic() - begin < 30
