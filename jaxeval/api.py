"""The functions of `import jaxeval`: what the verbs do, for Python and notebooks.

A config is a TOML file, a shipped name, a dict, settings, or None: the embedded default. Training
shows its progress on stderr unless it is `quiet`; Ctrl-C stops it after the epoch, and the same
call goes on. Errors that a user can mend are `JaxevalError`s, a line each.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxeval.config import arguments
from jaxeval.config.arguments import Changes
from jaxeval.errors import ConfigError

if TYPE_CHECKING:
    from jaxeval.bandits import Rule
    from jaxeval.config.reading import Source
    from jaxeval.results import Comparison, Part, Runs, Selection, Tuned
    from jaxeval.runs.layout import Missing
    from jaxeval.runs.tables import ScoreTable
    from jaxeval.runs.units import Unit
    from jaxeval.space.space import Space
    from jaxeval.stats.multiple import Method
    from jaxeval.tuning.methods import Name


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
    _prepare()
    from jaxeval import observe, results, studies
    from jaxeval.runs import database
    from jaxeval.studies import proposers

    whole = studies.read(config, arguments.words(changes), arguments.path(data))
    numbers = [0] if splits is None else arguments.numbered("splits", splits)
    trials = proposers.seeds_by_splits(whole, arguments.numbered("seeds", seeds), numbers)
    with observe.interruptible():
        rows = observe.train(trials, Path(out), store, again=again, quiet=quiet)
    return results.Runs(tuple(rows), database.shown(store or out))


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
    _prepare()
    from jaxeval import observe, results
    from jaxeval.runs import database
    from jaxeval.space import space as spaces
    from jaxeval.studies import sweeps

    of, where = spaces.of(space)
    count, words = len(arguments.numbered("runs", runs)), arguments.words(changes)
    at, folder = arguments.path(data), Path(out)
    drawn = sweeps.draw(config, words, at, of, seed=seed, count=count, folder=folder, where=where)
    with observe.interruptible():
        rows = observe.sweep(drawn, store, most_cohorts=most_cohorts, again=again, quiet=quiet)
    return results.Runs(tuple(rows), database.shown(store or out))


def compare(
    *models: "Runs | str | Sequence[float] | Mapping[str, Sequence[float]]",
    table: "str | Path | ScoreTable | Runs | None" = None,
    paired: bool = False,
    higher_is_better: bool = True,
    unit: "Unit | None" = None,
    alpha: float = 0.05,
    correction: "Method" = "holm",
    margin: float | None = None,
    control: str | None = None,
    gamma: float | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> "Comparison":
    """Is model A really better than B? By the distributions of their scores.

    Args:
      models: sequences of scores (which are called A, B ...), or one dict of them by name; runs;
        or names in `table`, without which all models of the table are compared.
      table: a file of scores, a runs folder or a database URL, or what was read of one.
      paired: the k-th scores of all sequences belong together (one split).
      higher_is_better: of sequences and files; runs know it.
      unit: of replication; scores within one are averaged (docs/compare.md).
      alpha: level, after the `correction` over all tests looked at.
      margin: smallest difference that matters, in the scores' unit.
      control: compare all others with this model only.
      gamma: score of a data set that is solved.
      resamples, seed: of permutations and bootstraps.

    Raises:
      ConfigError, DataError, RunError: no such model, or scores that cannot be compared.
    """
    from jaxeval import results
    from jaxeval.compare import sources, studying
    from jaxeval.stats import pairwise

    rules = pairwise.Rules(alpha, correction, margin, resamples=resamples, seed=seed)
    scores = sources.table(models, table, paired=paired, higher_is_better=higher_is_better)
    return results.Comparison(studying.study(scores, rules, unit, control=control, gamma=gamma))


def select(
    models: "Sequence[Source] | Mapping[str, Callable[[int], float]]",
    *,
    delta: float = 0.05,
    budget: int | None = None,
    rule: "Rule | None" = None,
    data: str | Path | None = None,
    out: str | Path = "runs",
    changes: Changes | None = None,
    splits: Literal["random", "own"] | None = None,
    part: "Part | None" = None,
    seconds: float | None = None,
    store: str | None = None,
    higher_is_better: bool = True,
    quiet: bool = False,
) -> "Selection":
    """Finds the best of several models with few evaluations.

    Args:
      models: configs, which are trained; or functions by name, which give the score of the k-th
        evaluation (seed k, split k), k from 1.
      delta: stops when one is the best with probability 1 - delta.
      budget: most evaluations.
      rule: one of `jaxeval.bandits`, instead of top-two Thompson sampling with these two.
      splits: of configs, evaluation k has random split k or the data's own; None: random where
        the task has them.
      part: of configs, whose score counts; None: test on random splits, else dev.
      seconds: of configs, of training, after which the leader is named.
      higher_is_better: of functions; configs know it.
      data, out, changes, store, quiet: of configs, as of `train`.

    Raises:
      ConfigError, DataError, RunError: of the models or the rule, or every model was dropped.
    """
    from jaxeval import bandits, results

    if rule is not None and (delta, budget) != (0.05, None):
        raise ConfigError("select: expected either delta and budget, or a rule that has its own")
    chosen = rule or bandits.TopTwoThompson(delta=delta, budget=budget)
    if isinstance(models, Mapping):
        from jaxeval.select import functions

        tree = functions.select(chosen, models, higher_is_better=higher_is_better, quiet=quiet)
        return results.Selection(tree)
    _prepare()
    from jaxeval import observe
    from jaxeval.select import configs, training

    random_splits = None if splits is None else splits == "random"
    arms = configs.arms(
        list(models), arguments.words(changes), arguments.path(data), random_splits, part
    )
    chosen = training.fitted(chosen, arms, rule is None)
    with observe.interruptible():
        tree = training.select(chosen, arms, Path(out), store, seconds=seconds, quiet=quiet)
    return results.Selection(tree)


def tune(
    config: "Source",
    space: "str | Path | Mapping[str, object] | Space",
    trials: int = 64,
    data: str | Path | None = None,
    out: str | Path = "runs",
    *,
    method: "Name" = "gp",
    parallel: int | None = None,
    seeds: 'int | Literal["adaptive"]' = 1,
    halving: int | None = None,
    min_epochs: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    retrain: int = 8,
    changes: Changes | None = None,
    store: str | None = None,
    quiet: bool = False,
) -> "Tuned":
    """Searches a space for the best setting, and trains it with fresh seeds.

    Args:
      space: as of `sweep`.
      trials: settings in all; with more of them later it goes on where it ended.
      method: what proposes (docs/tuning.md).
      parallel: settings at once; None: 8, or as many as there are devices.
      seeds: of each setting.
      halving: successive halving: at each rung, of min_epochs, min_epochs * halving ... epochs,
        one of so many trainings goes on; None: all do.
      min_epochs: of halving: epochs of the first rung; None: 1.
      seed: of the proposals.
      seconds: of wall time, after which nothing more is proposed.
      retrain: fresh seeds of the best setting in the end.
      data, out, changes, store, quiet: as of `train`.

    Raises:
      ConfigError, DataError, RunError: of the config, the space, the data, the folder.
    """
    _prepare()
    from jaxeval import observe, results
    from jaxeval.space import space as spaces
    from jaxeval.tune import options, targets, training
    from jaxeval.tuning.search import Search, whole

    count, adaptive = (1, True) if seeds == "adaptive" else (seeds, False)
    end = options.called_end(trials, seconds, retrain, count)
    stops = options.halving(halving, min_epochs)
    parallel = None if parallel is None else whole("parallel", parallel, 1)
    of, where = spaces.of(space)
    search = Search(of, method, seed, count, adaptive, stops)
    target = targets.target(config, arguments.words(changes), arguments.path(data), search, where)
    place = training.Place(Path(out), store)
    with observe.interruptible():
        tree = training.tune(target, search, end, place, parallel, quiet)
    return results.Tuned(tree, training.best_path(place.state_of(target)))


def read_scores(
    path: str | Path,
    models: Sequence[str] = (),
    *,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: "Missing" = "error",
    higher_is_better: bool = True,
    rows: int | None = None,
) -> "ScoreTable":
    """Scores of any program, from a file (CSV, TSV, JSON, Parquet) or a runs folder.

    Args:
      models: only these.
      columns: role (model, score, seed, split, dataset ...) -> its column, where that has another
        name.
      metric: only rows of this one.
      missing: what to do with a score that is missing: error, drop, or zero.
      rows: only the first so many.

    Raises:
      DataError, RunError: naming file, row and column.
    """
    from jaxeval.compare import sources
    from jaxeval.runs import layout

    table_layout = layout.Layout(
        dict(columns or {}), list(models), metric, missing, higher_is_better
    )
    return sources.read(path, table_layout, rows)


def _prepare() -> None:
    """Prepares JAX, before anything imports it."""
    from jaxeval import backend

    backend.prepare()
