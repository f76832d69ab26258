"""Trains populations, and uses what was trained."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, errors
from jaxeval.config import arguments
from jaxeval.config.arguments import MOST, Changes

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.results import Runs
    from jaxeval.space.space import Space


@errors.in_python()
def train(
    config: "Source" = None,
    seeds: int | Sequence[int] = 8,
    data: str | Path | None = None,
    splits: int | None = None,
    out: str | Path = "runs",
    *,
    changes: Changes | None = None,
    store: str | None = None,
    again: bool = False,
    quiet: bool = False,
) -> "Runs":
    """Trains one member a seed and split; those that have ended before are not trained again.

    Args:
      seeds: so many, from 1, or these.
      data: the corpus, instead of where the config says.
      splits: random splits 1 .. `splits` of all the data; None: the data's own split.
      out: the runs folder.
      changes: keys of the config with other values.
      store: URL of a database instead of the folder's.
      again: also those that have ended without the saved model that is asked for.

    Raises:
      ConfigError, DataError, RunError: of the config, the data, the folder.
    """
    arguments.switches(again=again, quiet=quiet)
    folder = arguments.folder("out", out)
    backend.prepare()
    from jaxeval import observe, results, studies
    from jaxeval.runs import database
    from jaxeval.studies import proposers

    whole = studies.read(config, arguments.words(changes), arguments.path(data))
    numbers = [0] if splits is None else arguments.numbered("splits", splits)
    trials = proposers.seeds_by_splits(whole, arguments.numbered("seeds", seeds), numbers)
    with observe.interruptible():
        rows = observe.train(trials, folder, store, again=again, quiet=quiet)
    return results.Runs(tuple(rows), database.shown(store or out))


@errors.in_python()
def sweep(
    config: "Source",
    space: "str | Path | Mapping[str, object] | Space",
    runs: int = 24,
    data: str | Path | None = None,
    out: str | Path = "runs",
    *,
    seed: int = 1,
    changes: Changes | None = None,
    most_cohorts: int | None = None,
    store: str | None = None,
    again: bool = False,
    quiet: bool = False,
) -> "Runs":
    """Draws runs from a search space and trains them, in as few compiled programs as pay.

    Args:
      space: a TOML file, a shipped name, a dict or a Space (docs/sweeps.md).
      runs: how many are drawn; with more of them later it goes on where it ended.
      seed: of the draws; run k has seed k.
      most_cohorts: compiled programs at most, whatever padding costs.
      data, out, changes, store, again, quiet: as of `train`.

    Raises:
      ConfigError, DataError, RunError: of the config, the space, the data, the folder.
    """
    count, seed = arguments.whole("runs", runs, 1, MOST), arguments.whole("seed", seed, 0)
    arguments.counts(most_cohorts=most_cohorts)
    arguments.switches(again=again, quiet=quiet)
    folder = arguments.folder("out", out)
    backend.prepare()
    from jaxeval import observe, results
    from jaxeval.runs import database
    from jaxeval.space import space as spaces
    from jaxeval.studies import sweeps

    of, where = spaces.of(space)
    words, at = arguments.words(changes), arguments.path(data)
    drawn = sweeps.draw(config, words, at, of, seed=seed, count=count, folder=folder, where=where)
    with observe.interruptible():
        rows = observe.sweep(drawn, store, most_cohorts=most_cohorts, again=again, quiet=quiet)
    return results.Runs(tuple(rows), database.shown(store or out))
