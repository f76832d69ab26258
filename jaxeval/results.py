"""What the functions of `jaxeval` return: shown as text, in notebooks as tables."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from jaxeval import errors
from jaxeval.errors import ConfigError, RunError
from jaxeval.files import Json
from jaxeval.runs.records import MemberRow

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from jaxeval.report.runs.summary import ExperimentSummary
    from jaxeval.report.tuning.as_json import Result as SearchResult
    from jaxeval.stats.study import ScoreStudy

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
class Comparison:
    """A score table in which all models are described, and compared pair by pair.

    Its text is what to know of the scores, then the verdict: a sentence on location, spread and
    what could have been seen, each.
    """

    study: "ScoreStudy"

    @errors.in_python(lower_is_better="higher_is_better=False")
    def __repr__(self) -> str:
        from jaxeval.report.comparison import paste

        return "\n".join(paste.sentences(self.study))

    @errors.in_python(lower_is_better="higher_is_better=False")
    def _repr_html_(self) -> str:
        from jaxeval.report import markup
        from jaxeval.report.comparison import paste, tables, verdict

        scale = verdict.scale_of(self.study)
        shown = [markup.table(*table) for table in tables.pasted(self.study, scale)]
        sentences = [*paste.sentences(self.study), verdict.signature(self.study)]
        return "".join(shown) + markup.lines(sentences)

    def plot(self, name: str = "violins") -> "Figure":
        """A figure: violins, ecdf, and of several data sets profiles and ranks.

        Raises:
          ConfigError: the study has no such figure.
        """
        from jaxeval.report.comparison import figures

        drawn = {figure.name: figure.drawing for figure in figures.draw(self.study)}
        if name not in drawn:
            raise ConfigError(f"plot: expected one of {', '.join(drawn)}, got {name!r}")
        drawing: Figure = drawn[name]
        return drawing

    def to_dict(self) -> dict[str, Json]:
        """Plain data, as `compare --json` writes it (docs/compare.md)."""
        from jaxeval.report.comparison import as_json

        return as_json.to_dict(self.study)


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
