"""What the functions of `jaxeval` return: shown as text, in notebooks as tables."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from jaxeval import parameters
from jaxeval.errors import ConfigError, RunError
from jaxeval.files import Json
from jaxeval.report import plain
from jaxeval.report.result import Result
from jaxeval.runs import records
from jaxeval.runs.records import MemberRow

if TYPE_CHECKING:
    import pandas

    from jaxeval.report.document import Document, Figure
    from jaxeval.report.runs.summary import ExperimentSummary

Part = Literal["dev", "test"]


@dataclasses.dataclass(frozen=True, repr=False)
class Runs(Result):
    """Members that have ended, with their scores."""

    rows: tuple[MemberRow, ...]  # one a member
    location: str  # runs folder or database that they are recorded in
    next: tuple[str, ...] = ()  # what to do with them, a line each
    _url: str = ""  # with its password

    @property
    def names(self) -> tuple[str, ...]:
        """Of the experiments that they belong to, in their order."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> "Runs":
        """The members of one experiment: of its name, its id, or the beginning of that.

        Raises ConfigError: there is none.
        """
        names = {row.experiment: row.name for row in self.rows}
        ids = records.find_ids(names, name)
        if not ids:
            known = records.describe_ids(names)
            raise ConfigError(f"{self.location}: no runs of {name!r}; has {known}")
        rows = tuple(row for row in self.rows if row.experiment in ids)
        return dataclasses.replace(self, rows=rows)

    def scores(self, part: Part = "test") -> np.ndarray:
        """[members with a score] float64, in order; repeats of a seed are one, their mean.

        Raises ConfigError: no such part, several experiments, or the test part of a search.
        """
        from jaxeval.report.runs import summary

        if part not in ("dev", "test"):
            raise ConfigError(f"part: expected dev or test, got {part!r}")
        names = {row.experiment: row.name for row in self.rows}
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
        members = summary.independent(self.rows) if self.rows else ()
        known = (getattr(row, part) for row in members)
        return np.array([score for score in known if score is not None], float)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a member (docs/runs.md); ConfigError: pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise ConfigError("to_pandas: pandas is not installed (pip install pandas)") from None
        return pandas.DataFrame(self.rows, columns=list(MemberRow._fields))

    def summaries(self) -> "list[ExperimentSummary]":
        """What is said of each experiment."""
        from jaxeval.report.runs import summary
        from jaxeval.sensitivity import trials

        return [
            summary.of_members(group, trials.planned(self.location, group[0].experiment))
            for group in self._groups()
        ]

    def _groups(self) -> list[list[MemberRow]]:
        return records.by_experiment(self.rows)

    def document(self) -> "Document":
        """A line, a table and figures an experiment."""
        from jaxeval.report.runs import document

        groups, summaries = self._groups(), self.summaries()
        return document.document(groups, summaries, self.location, self._figures, self.next)

    def _figures(self) -> "list[Figure]":
        from jaxeval import runs
        from jaxeval.report.runs import figures

        return figures.draw(self._groups(), runs.load_curves(self._url or self.location))

    def to_dict(self) -> dict[str, Json]:
        """The summaries as plain data, as --json writes them."""
        return {"location": self.location, "experiments": plain.plain(self.summaries())}


class Trained(Runs):
    """The members of one experiment, of a verb that has trained it."""

    def to_dict(self) -> dict[str, Json]:
        """Its summary as plain data, as --json writes it."""
        return plain.record(self.summaries()[0])


def trained(rows: Sequence[MemberRow], location: str | Path, *following: str) -> Trained:
    """Runs of one experiment that are recorded in a folder or database, and what to do next."""
    from jaxeval import runs

    return Trained(tuple(rows), runs.shown(location), following, str(location))


@parameters.verb
def load(runs: str | Path, *, experiment: str | None = None) -> Runs:
    """What a runs folder or database holds: all members with their scores.

    Shows the distribution of the scores of each experiment; --save report.html writes a page with
    all members, configs and figures.

    Args:
      runs: runs folder or database URL.
      experiment: only this one: its name, its id, or the beginning of that.

    Examples:
      jaxeval report runs
      jaxeval report runs --experiment wnut17_ner --save figures
      jaxeval report runs --save report.html --json -

    Raises:
      ConfigError: no such experiment.
      RunError: no member has ended.
    """
    from jaxeval import runs as database

    rows = database.load(runs)
    if not rows:
        raise RunError(f"{database.shown(runs)}: no member has ended")
    found = Runs(tuple(rows), database.shown(runs), _url=str(runs))
    return found if experiment is None else found[experiment]
