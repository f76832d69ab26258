"""Uses what was trained."""

from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, errors
from jaxeval.config import arguments

if TYPE_CHECKING:
    from jaxeval.results import Runs
    from jaxeval.studies.saved import Which


@errors.in_python()
def predict(
    runs: "Runs | str | Path",
    file: str | Path,
    *,
    which: "Which" = "best",
    experiment: str | None = None,
    seed: int | None = None,
    n_best: int | None = None,
    beam: int | None = None,
    max_length: int | None = None,
    whole: bool = False,
) -> list[str]:
    """The lines that the verb writes: what saved models make of a file.

    Args:
      runs: the folder of runs with `training.save_models`, or runs that are recorded in one: their
        models alone.
      file: text in the form that the models' task reads (docs/predict.md).
      which: the best model of dev, all of them (a column each), or their vote.
      experiment: id, the beginning of one, or name; None: there must be one only.
      seed: models of this seed only.
      n_best, beam, max_length, whole: as the verb's.

    Raises:
      ConfigError, DataError, RunError: of the options, the file, the folder.
    """
    arguments.counts(n_best=n_best, beam=beam, max_length=max_length)
    backend.prepare()
    from jaxeval import results
    from jaxeval.studies import saved
    from jaxeval.tasks.prediction import Options

    members = None
    if isinstance(runs, results.Runs):
        members = {(row.experiment, row.split, row.seed) for row in runs.rows}
        runs = runs.location
    for name, value in (("runs", runs), ("file", file)):
        if not isinstance(value, str | Path):
            raise errors.ConfigError(f"{name}: expected a path, got {type(value).__name__}")
    chosen = saved.choose(Path(runs), which, experiment, seed, members)
    options = Options(which == "vote", n_best, beam, max_length, whole)
    return saved.predictions(chosen.used, Path(file), options)
