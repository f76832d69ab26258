"""`jaxeval runs`: lists and exports what a runs folder holds."""

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import files, parameters, parsers, results
from jaxeval.errors import RunError
from jaxeval.report.document import Document, Result

if TYPE_CHECKING:
    from jaxeval.report.runs.summary import ExperimentSummary


@dataclasses.dataclass(frozen=True, repr=False)
class _Listing(Result):
    """The experiments of a runs folder."""

    experiments: "tuple[ExperimentSummary, ...]"

    def document(self) -> Document:
        """A row an experiment."""
        from jaxeval.report import runs as report

        count = len(self.experiments)
        answer = f"{count} experiment{'s' if count != 1 else ''}"
        return Document((answer,), (report.listing(self.experiments),), title="Experiments")


@parameters.verb
def list_experiments(runs: str | Path) -> _Listing:
    """Lists the experiments of a runs folder or database with their members.

    Args:
      runs: runs folder.

    Examples:
      jaxeval runs list runs

    Raises:
      RunError: no member has ended.
    """
    return _Listing(tuple(results.load(runs).summaries()))


@parameters.verb
def export(runs: str | Path, *, curves: bool = False, to: str = "-") -> None:
    """Writes one row a member, as CSV or Parquet.

    Args:
      runs: runs folder.
      curves: one row an epoch and metric instead.
      to: a .csv or .parquet file; - is stdout.

    Examples:
      jaxeval runs export runs --to members.csv
      jaxeval runs export runs --curves --to curves.parquet

    Raises:
      RunError: another ending, or no such runs.
    """
    from jaxeval import outputs
    from jaxeval import runs as database
    from jaxeval.runs import records

    outputs.refuse_unwritable(to, runs=[runs])
    if to != "-" and not to.endswith((".csv", ".parquet")):
        raise RunError(f"{to}: expected a name that ends in .csv or .parquet, or - for stdout")
    rows: Sequence[tuple] = database.load_curves(runs) if curves else database.load(runs)
    columns = (records.CurveRow if curves else records.MemberRow)._fields
    if not to.endswith(".parquet"):
        stream = io.StringIO()  # whole or not at all
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])
        files.write_out(to, stream.getvalue())
        return
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({c: [row[i] for row in rows] for i, c in enumerate(columns)})
    with files.replacing(Path(to), "wb") as binary:
        parquet.write_table(table, binary)


COMMANDS: parsers.Commands = {"list": list_experiments, "export": export}
