"""Large tables: Arrow reads the same as `csv`, and the work grows as the rows do."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import DataError
from jaxeval.runs import columns, cube, texts
from jaxeval.runs.layout import Layout
from jaxeval.runs.normal import Rows
from tests.runs.reading import read, written

_NUMBERS = """
    1 -0 01 +.5 5. 1e3 1E-3 1e400 -1e400 4.9e-324 2.4703282292062328e-324 nan -nan NaN inf - nan(1)
    -Infinity 1_0 0x10 1e 1d5 true infinit 0.1000000000000000055511151231257827021181583 \u0661
    123456789012345678901234567890 \uff11 \u2212
"""


def test_arrow_reads_what_csv_reads_or_nothing(tmp_path: Path) -> None:
    """Dies if quotes, line ends, empty lines or another number of fields are read differently."""
    draw, read_by_arrow = random.Random(0), 0
    for _ in range(1000):
        parts = ["a", "1.5", ",", ",", '"', '"x"', "\n", "\n", "\r\n", "\r", "\0", "\u00e9", " "]
        lines = [",".join(draw.choices(["A", "0.5", '"b"', "", '"c,d"'], k=2)) for _ in range(4)]
        noise = "".join(draw.choices(parts, k=draw.choice([0, 0, 4])))
        path = written(tmp_path, "m,s\n" + "\n".join(lines) + noise + draw.choice(["", "\n"]))
        found = texts.read_delimited(path, ["m", "s"], ",")
        if found:
            table = columns.read(path)
            assert [[*column] for column in found] == [[*table[name]] for name in "ms"]
            assert [*table.rows] == [*range(2, len(table) + 2)]
            read_by_arrow += 1
    assert read_by_arrow > 150
    unended = written(tmp_path, "m,s\nA,1\nB,2")
    assert texts.read_delimited(unended, ["m", "s"], ",")[1][1] == "2"


def test_large_tables_with_decimal_commas_are_read_by_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if they take ten times as long as others."""
    monkeypatch.setattr(columns, "_LARGE", 0)
    table = columns.read(written(tmp_path, "m;s\n" + "A;0,5\nB;1,5e3\n" * 9))
    assert isinstance(table["s"], texts.Cells) and [*table["s"]] == ["0.5", "1.5e3"] * 9


def test_texts_become_the_numbers_and_codes_that_python_gives() -> None:
    """Dies if a spelling of a number, or the order of names, depends on how cells are kept."""
    import pyarrow

    spelled = [
        "",
        " 1",
        "1 ",
        "-",
        *_NUMBERS.split(),
        *(repr(x) for x in np.random.default_rng(0).normal(size=99)),
    ]
    whole = ["7", "3", "7", "-1"]
    for cells in (spelled, whole, [*whole, "007"]):
        kept = texts.of_arrow(pyarrow.chunked_array([cells, cells[:2]]))
        plain = [*cells, *cells[:2]]
        assert isinstance(kept, texts.Cells) and [*kept] == plain
        both = [texts.to_floats(values).view(np.uint64) for values in (kept, plain)]
        nan = [np.isnan(of.view(np.float64)) for of in both]
        assert np.array_equal(*nan) and np.array_equal(both[0][~nan[0]], both[1][~nan[1]])
        coded, expected = (texts.encode(values) for values in (kept, plain))
        assert coded.names == expected.names and np.array_equal(coded.codes, expected.codes)
        places = np.array([3, 1, 3])
        for values in (kept, coded):
            assert [*texts.take(values, places)] == [plain[k] for k in places]
            assert [*texts.join([texts.encode(values), coded])] == plain * 2


def test_errors_in_large_tables_name_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if Arrow's own errors are shown, or places are lost."""
    monkeypatch.setattr(columns, "_LARGE", 0)
    good = "model,score\n" + "A,1\n" * 5000 + "B,2\n"
    for bad, message in [
        ("A,x\n", "t.csv: row 5003, column score: not a number: 'x'"),
        ("A,1,2\n", "t.csv:5003: expected 2 fields as in the header, found 3"),
        ('A,"1\n', "not a table of delimited text"),
        (",1\n", "t.csv: row 5003, column model: the model has no name"),
    ]:
        with pytest.raises(DataError, match=message):
            read(tmp_path, good + bad)
    with pytest.raises(DataError, match=r"t\.csv:2: not UTF-8"):
        read(tmp_path, b"model,score\n\xff,1\nB,2\n")


def test_verbs_read_large_tables_as_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a verb cannot leave out rows of a large table, or needs its columns as lists."""
    rows = [f"{k % 4},{rate},{(k + rate) / 50}" for k in range(40) for rate in (1, 2)]
    path = written(tmp_path, "\n".join(["depth,rate,acc", "0,1,", *rows, ""]))
    found = []
    for large in (1 << 20, 0):
        monkeypatch.setattr(columns, "_LARGE", large)
        chosen = {"score": "acc", "missing": "drop"}
        compared = jaxeval.compare_options(path, option="rate", **chosen)
        swept = jaxeval.sensitivity(path, hyperparameters=["rate"], resamples=0, **chosen)
        found.append((compared.to_dict(), swept.to_dict()))
    assert found[0] == found[1]


class _Counted(np.ndarray):
    """An array that counts the elements that go through functions of NumPy."""

    elements = 0

    def __getitem__(self, key: Any) -> Any:
        _Counted.elements += key.size if isinstance(key, np.ndarray) else 1
        return super().__getitem__(key)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        searched = args[1:] if function is np.searchsorted else args
        _Counted.elements += sum(x.size for x in searched if isinstance(x, np.ndarray))
        return super().__array_function__(function, types, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, _Counted) else x for x in inputs]
        _Counted.elements += max(getattr(x, "size", 1) for x in plain)
        if "out" in kwargs:
            kwargs["out"] = tuple(x.view(np.ndarray) for x in kwargs["out"])
        found = getattr(ufunc, method)(*plain, **kwargs)
        return found.view(_Counted) if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize("more", ["models", "data sets", "runs"])
def test_work_grows_as_the_rows(more: str) -> None:
    """Dies if all rows are searched for each model, data set or run: 8 times as many elements."""

    def elements(size: int) -> int:
        of = {"models": 3, "data sets": 3, "runs": 3, more: size}
        model, dataset, run = (
            x.ravel().astype(np.int32).view(_Counted)
            for x in np.indices((of["models"], of["data sets"], of["runs"]))
        )
        names = [tuple(map(str, range(of[kind]))) for kind in ("models", "data sets")]
        one = texts.constant("", len(run))
        rows = Rows(
            *("table", texts.Coded(names[0], model), texts.Coded(names[1], dataset), one, one),
            run=run,
            score=run.astype(float),
            status=(0 * run).astype(np.uint8),
            number=np.arange(len(run)).view(_Counted),
        )
        _Counted.elements = 0
        cube.build(rows, Layout())
        return _Counted.elements

    assert elements(400) < 10 * elements(50)
