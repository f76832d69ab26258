"""`python -m jaxeval.runs`: lists and exports the members of a runs folder."""

import csv
import dataclasses
import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import files, parameters, parsers, results
from jaxeval.errors import RunError
from jaxeval.report.document import Document
from jaxeval.report.result import Result

if TYPE_CHECKING:
    from jaxeval.report.runs.summary import ExperimentSummary


@dataclasses.dataclass(frozen=True, repr=False)
class _Listing(Result):
    """The experiments of a runs folder."""

    experiments: "tuple[ExperimentSummary, ...]"

    def document(self) -> Document:
        """Returns a table with a row an experiment."""
        from jaxeval.report.runs import document

        count = len(self.experiments)
        answer = f"{count} experiment{'s' if count != 1 else ''}"
        return Document((answer,), (document.listing(self.experiments),), title="Experiments")


@parameters.verb
def list_experiments(runs: str | Path) -> _Listing:
    """Lists the experiments of a runs folder or database with their members.

    Args:
      runs: runs folder or database URL.

    Examples:
      python -m jaxeval.runs list runs

    Raises:
      RunError: no member has ended.
    """
    return _Listing(tuple(results.load(runs).summaries()))


@parameters.verb
def export(runs: str | Path, *, curves: bool = False, to: str = "-") -> None:
    """Writes one row a member, as CSV or Parquet.

    Args:
      runs: runs folder or database URL.
      curves: one row an epoch and metric instead.
      to: a .csv or .parquet file; - is stdout.

    Examples:
      python -m jaxeval.runs export runs --to members.csv
      python -m jaxeval.runs export runs --curves --to curves.parquet

    Raises:
      RunError: another ending, or no such runs.
    """
    from jaxeval import outputs
    from jaxeval.runs import records, store

    outputs.refuse_unwritable(to, runs=[runs])
    if to != "-" and not to.endswith((".csv", ".parquet")):
        raise RunError(f"{to}: expected a name that ends in .csv or .parquet, or - for stdout")
    rows: Sequence[tuple] = store.load_curves(runs) if curves else store.load(runs)
    columns = (records.CurveRow if curves else records.MemberRow)._fields
    if not to.endswith(".parquet"):
        stream = io.StringIO()  # whole or not at all
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])
        files.write_out(to, stream.getvalue())
        return
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RunError(f"{to}: Parquet needs pyarrow; pip install pyarrow") from None
    table = pyarrow.table({c: [row[i] for row in rows] for i, c in enumerate(columns)})
    with files.replacing(Path(to), "wb") as binary:
        parquet.write_table(table, binary)


COMMANDS: parsers.Commands = {"list": list_experiments, "export": export}
main = functools.partial(parsers.main, "runs", COMMANDS)

if __name__ == "__main__":
    parsers.start("runs", COMMANDS)
