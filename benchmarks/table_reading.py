"""What does it take to read a table of ten million scores? Each form of table is written to a
folder, then read in a process of its own. Prints a JSON line for each.

    python benchmarks/table_reading.py FOLDER [--rows N] [FORM ...]
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import csv


def main() -> None:
    """Writes the tables that are not there yet, and reads each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("forms", nargs="*", help=f"of {', '.join(FORMS)}; all if there is none")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--read", action="store_true", help="read the one form, in this process")
    given = parser.parse_args()
    for form in given.forms or FORMS:
        path = given.folder / f"{form}_{given.rows}.csv"
        if given.read:
            print(json.dumps(_read(form, path)))
            continue
        if not path.exists():
            _write(form, given.rows, path)
        command = [sys.executable, __file__, str(given.folder), form, "--rows", str(given.rows)]
        subprocess.run([*command, "--read"], check=True)


def _write(form: str, rows: int, path: Path) -> None:
    rows //= 4 if form == "wide" else 1
    columns = FORMS[form](np.arange(rows), np.random.default_rng(0).normal(80, 2, rows))
    arrays = {name: pyarrow.array(values) for name, values in columns.items()}
    style = "needed" if form == "quoted" else "none"
    csv.write_csv(pyarrow.table(arrays), path, csv.WriteOptions(quoting_style=style))


def _read(form: str, path: Path) -> dict[str, object]:
    from jaxeval import sources
    from jaxeval.runs import items
    from jaxeval.runs.layout import Layout

    load = os.getloadavg()[0]
    begin, used = time.perf_counter(), time.process_time()
    if form == "items":
        items.read(path)
    else:
        sources.read(str(path), Layout({"score": "Test Acc"} if form == "mixed" else {}))
    return {
        "benchmark": "table_reading",
        "form": form,
        "mib": path.stat().st_size >> 20,
        "seconds": round(time.perf_counter() - begin, 2),
        "cpu_seconds": round(time.process_time() - used, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "load_before": round(load, 1),
        "numpy": np.__version__,
        "pyarrow": pyarrow.__version__,
        "python": platform.python_version(),
    }


def _names(prefix: str, codes: np.ndarray) -> pyarrow.Array:
    names = pyarrow.array([f"{prefix}{k}" for k in range(int(codes.max()) + 1)])
    return names.take(pyarrow.array(codes))


FORMS: dict[str, Callable[[np.ndarray, np.ndarray], dict[str, object]]] = {
    # 2 models x seeds
    "seeds": lambda k, score: {
        "model": _names("model ", k % 2),
        "seed": k // 2,
        "score": score,
    },
    # the same, as R writes it
    "quoted": lambda k, score: {
        "model": _names("model ", k % 2),
        "seed": k // 2,
        "score": score,
    },
    # 20 models x 500 data sets x seeds
    "datasets": lambda k, score: {
        "model": _names("model ", k % 20),
        "dataset": _names("task_", k // 20 % 500),
        "seed": k // 10_000,
        "score": score,
    },
    # columns of any names, most of which are not scores
    "mixed": lambda k, score: {
        "Model Name": _names("model ", k % 2),
        "Random Seed": k // 2,
        "Batch Size": np.full(len(k), 32),
        "Learning Rate": np.full(len(k), 1e-3),
        "Test Acc": score,
        "Val Acc": score + 0.5,
        "Notes": _names("of machine ", k % 7),
    },
    # 4 columns of models, and a quarter of the rows
    "wide": lambda k, score: {f"model {m}": score + m for m in range(4)},
    # 2 models x 5 runs x items
    "items": lambda k, score: {
        "model": _names("model ", k % 2),
        "seed": k // 2 % 5,
        "item": k // 10,
        "correct": (score > 79).astype(int),
    },
}


if __name__ == "__main__":
    main()
