"""What the functions of `jaxeval` return: shown as text, in notebooks as tables."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from jaxeval.errors import ConfigError, RunError
from jaxeval.files import Json
from jaxeval.runs.records import MemberRow

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from jaxeval.report.runs.summary import ExperimentSummary
    from jaxeval.report.selection.as_json import Result
    from jaxeval.report.tuning.as_json import Result as SearchResult

Part = Literal["dev", "test"]


@dataclasses.dataclass(frozen=True, repr=False)
class Runs:
    """Members that have ended, with their scores.

    Attributes:
      rows: one a member.
      location: runs folder or database that they are recorded in.
    """

    rows: tuple[MemberRow, ...]
    location: str

    @property
    def names(self) -> tuple[str, ...]:
        """Of the experiments that they belong to, in their order."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> "Runs":
        """The members of one experiment: of its name, its id, or the beginning of that.

        Raises:
          ConfigError: there is none.
        """
        from jaxeval.runs import experiments

        names = {row.experiment: row.name for row in self.rows}
        ids = experiments.ids_of(names, name)
        if not ids:
            known = experiments.with_ids(names)
            raise ConfigError(f"{self.location}: no runs of {name!r}; has {known}")
        return Runs(tuple(row for row in self.rows if row.experiment in ids), self.location)

    def scores(self, part: Part = "test") -> np.ndarray:
        """Scores of the members that have one, in the unit of their metric.

        Repeated runs of a seed are one score, their mean.

        Returns:
          [members with a score] float64, in the order of `rows`.

        Raises:
          ConfigError: no such part, members of several experiments, or the test part of a search.
        """
        from jaxeval.report.runs import summary
        from jaxeval.runs import experiments

        if part not in ("dev", "test"):
            raise ConfigError(f"part: expected dev or test, got {part!r}")
        if len({row.experiment for row in self.rows}) > 1:
            names = {row.experiment: row.name for row in self.rows}
            raise ConfigError(
                f"{self.location}: several experiments: {experiments.with_ids(names)}; expected "
                f"one, as runs[{next(iter(names))!r}].scores()"
            )
        if part == "test" and self.rows and experiments.kind(self.rows) == "tuning":
            raise ConfigError(
                f"{self.location}: {self.rows[0].name} has the settings of a search, chosen by "
                "dev; expected scores(part='dev'), or its best setting retrained, the experiment "
                "NAME_tuned"
            )
        members = summary.independent(self.rows) if self.rows else ()
        known = (getattr(row, part) for row in members)
        return np.array([score for score in known if score is not None], float)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a member; the columns are described in docs/runs.md.

        Raises:
          ConfigError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ConfigError("to_pandas: pandas is not installed (pip install pandas)") from None
        return pandas.DataFrame(self.rows, columns=list(MemberRow._fields))

    def __repr__(self) -> str:
        from jaxeval.report.runs import terminal

        return "\n".join(map(terminal.line, self._summaries())) or f"{self.location}: no runs"

    def _repr_html_(self) -> str:
        from jaxeval.report import markup
        from jaxeval.report.runs import terminal

        return "".join(
            markup.title(terminal.title(known))
            + markup.table(*terminal.table(known))
            + markup.lines(terminal.remarks(known))
            for known in self._summaries()
        )

    def _summaries(self) -> list["ExperimentSummary"]:
        from jaxeval.report.runs import summary
        from jaxeval.runs import experiments

        return [summary.of_members(group) for group in experiments.by_experiment(self.rows)]


@dataclasses.dataclass(frozen=True, repr=False)
class Selection:
    """What a selection ended with.

    Attributes:
      tree: plain data, as `select --json` writes it (docs/select.md).
    """

    tree: "Result"

    @property
    def best(self) -> str:
        """The model that was chosen, or leads."""
        name: str = self.tree["best"]
        return name

    @property
    def probability(self) -> float | None:
        """That it is the best one; None of a rule that does not say."""
        known: float | None = self.tree["probability"]
        return known

    def __repr__(self) -> str:
        from jaxeval.report.selection import terminal

        return terminal.answer(self.tree)

    def _repr_html_(self) -> str:
        from jaxeval.report import markup
        from jaxeval.report.selection import terminal

        answer = markup.lines([terminal.answer(self.tree)])
        remarks = markup.lines([*terminal.remarks(self.tree)])
        return answer + markup.table(*terminal.table(self.tree)) + remarks

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**self.tree}


@dataclasses.dataclass(frozen=True, repr=False)
class Tuned:
    """What a search ended with.

    Attributes:
      tree: plain data, as `tune --json` writes it (docs/tuning.md).
      path: of the config of the best setting; of a function its state, None where it has none.
    """

    tree: "SearchResult"
    path: Path | None

    @property
    def values(self) -> dict[str, Json]:
        """The best setting.

        Raises:
          RunError: no setting has a score.
        """
        best = self.tree["best"]
        if best is None:
            raise RunError(f"no setting has a score ({self.tree['reason']})")
        return dict(best["values"])

    def __repr__(self) -> str:
        from jaxeval.report.tuning import terminal

        return "\n".join([terminal.sentence(self.tree), *terminal.worth(self.tree)])

    def _repr_html_(self) -> str:
        from jaxeval.report import markup
        from jaxeval.report.tuning import terminal

        lines = [*terminal.losses(self.tree), *terminal.notes(self.tree)]
        lines += terminal.worth(self.tree)
        answer = markup.lines([terminal.sentence(self.tree)])
        return answer + markup.table(*terminal.table(self.tree)) + markup.lines(lines)

    def plot(self, name: str = "best_so_far") -> "Figure":
        """A figure: best_so_far, importance (of method gp), slices or parallel_coordinates.

        Raises:
          ConfigError: no such figure.
          RunError: no setting has a score.
        """
        from jaxeval.report.tuning import figures

        if self.tree["best"] is None:
            raise RunError(f"plot: no setting has a score ({self.tree['reason']})")

        drawn = {figure.name: figure.drawing for figure in figures.draw(self.tree)}
        if name not in drawn:
            raise ConfigError(f"plot: expected one of {', '.join(drawn)}, got {name!r}")
        return drawn[name]

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**self.tree}


def load(location: str | Path) -> Runs:
    """All members that a runs folder or database holds.

    Raises:
      RunError: there are none.
    """
    from jaxeval import runs

    return Runs(tuple(runs.load(location)), runs.shown(location))
