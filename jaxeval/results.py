"""What a runs folder holds: `jaxeval report`, in Python `load`, and `jaxeval runs`."""

import csv
import dataclasses
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from jaxeval import files, parameters
from jaxeval.errors import ConfigError, RunError
from jaxeval.files import Json
from jaxeval.report import Document, Figure, Result, to_json
from jaxeval.runs import native, records, store
from jaxeval.runs.records import MemberRow

if TYPE_CHECKING:
    import pandas

    from jaxeval.report.runs.experiments import ExperimentSummary

_Part = Literal["dev", "test"]


@dataclasses.dataclass(frozen=True, repr=False)
class Runs(Result):
    """Members that have ended, with their scores."""

    rows: tuple[MemberRow, ...]  # one for each member
    location: str  # runs folder or its database
    next: tuple[str, ...] = ()  # lines about what to do next

    @property
    def names(self) -> tuple[str, ...]:
        """The names of their experiments, in order."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[MemberRow]:
        return iter(self.rows)

    def __contains__(self, experiment: object) -> bool:
        """Returns whether it has a member, or experiments of a name or id."""
        return experiment in self.rows or (
            isinstance(experiment, str) and bool(self._ids(experiment))
        )

    def __getitem__(self, name: str) -> "Runs":
        """Returns the members of one experiment, by its name, its id or its first digits.

        Raises:
          ConfigError: there is no such experiment.
        """
        ids = self._ids(str(name))
        if not ids:
            known = records.describe_ids(self._named())
            raise ConfigError(f"{self.location}: no runs of {name!r}; has {known}")
        rows = tuple(row for row in self.rows if row.experiment in ids)
        return dataclasses.replace(self, rows=rows)

    def _named(self) -> dict[str, str]:
        return {row.experiment: row.name for row in self.rows}

    def _ids(self, name: str) -> list[str]:
        return records.find_ids(self._named(), name)

    def scores(self, part: _Part = "test") -> np.ndarray:
        """Returns the scores [members with a score] as float64; repeats of a seed are averaged.

        Raises:
          ConfigError: the part is unknown, there are several experiments, or test scores of a
            search are requested.
        """
        from jaxeval.report.runs import experiments

        if part not in ("dev", "test"):
            raise ConfigError(f"part: expected dev or test, got {part!r}")
        names = self._named()
        if len(names) > 1:
            raise ConfigError(
                f"{self.location}: several experiments: {records.describe_ids(names)}; expected "
                f"one, as runs[{next(iter(names))!r}].scores()"
            )
        if part == "test" and self.rows and records.kind(self.rows) == "tuning":
            raise ConfigError(
                f"{self.location}: {self.rows[0].name} has the settings of a search, chosen by "
                "dev; expected scores(part='dev'), or its best setting retrained, the experiment "
                "NAME_tuned"
            )
        members = experiments.collapse_repeats(self.rows) if self.rows else ()
        known = (getattr(row, part) for row in members)
        return np.array([score for score in known if score is not None], float)

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a row for each member (docs/runs.md); needs pandas."""
        try:
            import pandas
        except ImportError:
            raise ConfigError("to_pandas: pandas is not installed (pip install pandas)") from None
        return pandas.DataFrame(native.columns(self.rows, self.location).values)

    def summaries(self) -> "list[ExperimentSummary]":
        """Returns the summary of each experiment."""
        from jaxeval.report.runs import experiments
        from jaxeval.sensitivity import trials

        return [
            experiments.summarize(group, trials.planned_runs(self.location, group[0].experiment))
            for group in records.by_experiment(self.rows)
        ]

    def document(self) -> Document:
        """Returns a line, a table and figures for each experiment."""
        from jaxeval.report import runs as report

        groups = records.by_experiment(self.rows)

        def figures() -> list[Figure]:
            from jaxeval.report.runs import experiments

            return experiments.draw(groups, store.load_curves(self.location))

        summaries = self.summaries()
        return report.experiments_document(groups, summaries, self.location, figures, self.next)

    def to_dict(self) -> dict[str, Json]:
        """Returns the summaries as plain data, as --json writes them."""
        return {"location": self.location, "experiments": to_json(self.summaries())}


class _Trained(Runs):
    """The members of one experiment that a verb has trained."""

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """2 if no member has a score, else 0."""
        return 0 if any(row.dev is not None for row in self.rows) else 2

    def to_dict(self) -> dict[str, Json]:
        """Returns the summary as plain data, as --json writes it."""
        tree: dict[str, Json] = to_json(self.summaries()[0])
        return tree


def trained(rows: Sequence[MemberRow], location: str | Path, *following: str) -> _Trained:
    """Returns the runs of one experiment, and lines about what to do next."""
    return _Trained(tuple(rows), str(location), following)


@parameters.verb
def load(runs: str | Path, *, experiment: str | None = None) -> Runs:
    """Loads all members of a runs folder or database, with their scores.

    Shows the score distribution of each experiment. --save report.html writes a page with all
    members, configs and figures.

    Args:
      experiment: show only this experiment: its name, or at least the first 4 digits of its id.

    Examples:
      jaxeval report runs
      jaxeval report runs --experiment wnut17_ner --save figures
      jaxeval report runs --save report.html --json -

    Raises:
      ConfigError: no such experiment.
      DataError: no member has ended. RunError: there are no runs.
    """
    found = Runs(tuple(store.load(runs)), str(runs))
    return found if experiment is None else found[experiment]


@parameters.verb
def runs_export(runs: str | Path, *, curves: bool = False, to: str | Path = "-") -> None:
    """Writes one row per member, as CSV or Parquet.

    Args:
      curves: write one row per epoch and metric instead.
      to: a .csv or .parquet file; - is stdout.

    Examples:
      jaxeval runs export runs --to members.csv
      jaxeval runs export runs --curves --to curves.parquet

    Raises:
      RunError: another ending, or no such runs.
    """
    to = str(to)
    files.refuse_unwritable(to, runs=[runs])
    if to != "-" and not to.endswith((".csv", ".parquet")):
        raise RunError(f"{to}: expected a name that ends in .csv or .parquet, or - for stdout")
    names: Sequence[str] = records.CurveRow._fields
    rows: Sequence[tuple] = store.load_curves(runs) if curves else ()
    if not curves:
        members = native.columns(store.load(runs), str(runs)).values
        names = [*members]
        rows = [*zip(*members.values(), strict=True)]
    if not to.endswith(".parquet"):
        stream = io.StringIO()  # whole or not at all
        csv.writer(stream, lineterminator="\n").writerows([names, *rows])
        files.write_out(to, stream.getvalue())
        return
    import pyarrow
    from pyarrow import parquet

    columns = {name: _of_one_type([row[k] for row in rows]) for k, name in enumerate(names)}
    with files.replacing(Path(to), "wb") as binary:
        parquet.write_table(pyarrow.table(columns), binary)


def _of_one_type(column: Sequence[object]) -> Sequence[object]:
    """Returns a column, as texts if it mixes words, numbers and booleans."""
    kinds = {type(value) for value in column if value is not None}
    if len(kinds) < 2 or kinds <= {int, float}:
        return column
    return [None if value is None else str(value) for value in column]
