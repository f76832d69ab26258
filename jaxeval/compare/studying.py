"""A score table studied, and its study written: all of `compare` but its arguments."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError

if TYPE_CHECKING:
    from jaxeval.runs.flat import ScoreTable
    from jaxeval.runs.trained import TrainedModel
    from jaxeval.runs.units import Unit
    from jaxeval.stats.pairwise import Rules
    from jaxeval.stats.study import ScoreStudy


class Destinations(NamedTuple):
    """Where a study goes, beside the terminal; "-" is stdout, and then nothing else is printed.

    Attributes:
      figures: a folder.
      details: print all tests of all pairs on all data sets.
    """

    json: str | None = None
    latex: str | None = None
    markdown: str | None = None
    figures: str | None = None
    details: bool = False

    @property
    def texts(self) -> dict[str, str]:
        """Name of an output -> file, of those that are asked for."""
        named = {"json": self.json, "latex": self.latex, "markdown": self.markdown}
        return {name: target for name, target in named.items() if target}

    def refuse_several_on_stdout(self) -> None:
        """Raises ConfigError where two texts would run into one another; before there is any."""
        if [*self.texts.values()].count("-") > 1:
            raise ConfigError("--json, --latex, --markdown: expected at most one to go to stdout")


def study(
    table: "ScoreTable",
    rules: "Rules | None" = None,
    unit: "Unit | None" = None,
    *,
    control: str | None = None,
    gamma: float | None = None,
    trained: "Sequence[TrainedModel] | None" = None,
) -> "ScoreStudy":
    """`stats.study.study`, which tells on stderr how far it is where that takes its time.

    Args:
      rules: None: the default ones.
      trained: one trained model of each model, to be compared item by item.
    """
    from jaxeval.report.comparison import progress
    from jaxeval.runs import experiments
    from jaxeval.stats import pairwise
    from jaxeval.stats import study as studies

    rules = rules or pairwise.Rules()
    if control is not None:  # an id may name it, as it names the models of our own runs
        control = experiments.model_of(table.ids, table.models, control) or control
    show_progress = progress.shown(all_pairs=control is None)
    return studies.study(
        table, rules, unit, control=control, gamma=gamma, trained=trained, progress=show_progress
    )


def write(study: "ScoreStudy", to: Destinations) -> None:
    """Writes and prints what is asked for.

    Raises:
      RunError: a file or folder cannot be written.
    """
    from jaxeval.report import figures
    from jaxeval.report.comparison import as_json, paste, terminal
    from jaxeval.report.comparison import figures as drawings

    pasted: dict[str, Callable[[ScoreStudy], str]] = {
        "latex": paste.latex,
        "markdown": paste.markdown,
    }
    for name, target in to.texts.items():
        if name == "json":
            files.write_json(target, as_json.to_dict(study))
        else:
            files.write_out(target, pasted[name](study))
    paths = figures.save_all(drawings.draw(study), Path(to.figures)) if to.figures else []
    if "-" not in to.texts.values():
        terminal.print_study(study, to.details)
        for path in paths:
            print(f"figure: {path}")
