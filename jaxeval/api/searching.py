"""Finds the best setting of a model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxeval import backend, errors
from jaxeval.config import arguments
from jaxeval.config.arguments import MOST, Changes

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.results import Tuned
    from jaxeval.space.space import Space
    from jaxeval.tuning.methods import Name


@errors.in_python(state="out{}")
def tune(
    config: "Source | Callable[..., float]",
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
    enqueue: Sequence[Mapping[str, object]] = (),
    steps: int | None = None,
    state: str | Path | None = None,
    higher_is_better: bool | None = None,
    changes: Changes | None = None,
    store: str | None = None,
    quiet: bool = False,
) -> "Tuned":
    """Searches a space for the best setting, and trains it with fresh seeds.

        def loss(values, seed, report):  # seed and report only where it has a use for them
            for step in range(1, 10):
                if report(step, so_far): break
            return final

        tuned = jaxeval.tune(loss, {"rate": {"log_uniform": [1e-4, 1]}}, higher_is_better=False)

    Args:
      config: a config, or a function of a setting (values by name) that gives its score; an
        exception of it that is no EvaluationFailed ends the search.
      space: as of `sweep`; of a function also its tables.
      trials: settings in all; with more of them later it goes on where it ended.
      method: what proposes (docs/tuning.md).
      parallel: settings at once; None: 8, or as many as there are devices.
      seeds: of each setting.
      halving: successive halving: at each rung, of min_epochs, min_epochs * halving ... epochs,
        one of so many trainings goes on; None: all do.
      min_epochs: of halving: epochs of the first rung; None: 1.
      seed: of the proposals.
      seconds: of wall time, after which nothing more is proposed.
      retrain: fresh seeds of the best setting in the end; none of a function without a seed.
      enqueue: settings that are evaluated before any other.
      steps: of a function and halving: how many it reports, by `report(step, score)`.
      state: of a function: a file from which the same call goes on.
      higher_is_better: of a function; None: True. Configs know it.
      data, out, changes, store, quiet: as of `train`.

    Raises:
      ConfigError, DataError, RunError: of the config, the space, the data, the folder.
    """
    arguments.switches(quiet=quiet)
    seed = arguments.whole("seed", seed, 0)
    adaptive = isinstance(seeds, str) and seeds == "adaptive"  # numpy's equality is no bool
    count = 1 if adaptive else arguments.whole("seeds", seeds, 1, MOST)
    parallel = None if parallel is None else arguments.whole("parallel", parallel, 1, MOST)
    folder = arguments.folder("out", out)
    backend.prepare()
    from jaxeval import observe, results
    from jaxeval.runs import directions
    from jaxeval.space import space as spaces
    from jaxeval.tune import options, targets, training
    from jaxeval.tuning import search as searches
    from jaxeval.tuning.search import Search, setting

    end = options.called_end(trials, seconds, retrain, count)
    stops = options.halving(halving, min_epochs)
    of, where = spaces.of(space)
    if isinstance(enqueue, str | Mapping):
        raise errors.ConfigError(f"enqueue: expected a list of settings, got {enqueue!r:.60}")
    known = tuple(setting(of, values) for values in enqueue)
    search = Search(of, method, seed, count, adaptive, stops, known)
    if callable(config):
        from jaxeval.tune import functions

        path = None if state is None else Path(state)
        tree = functions.tune(
            functions.Function(config),
            search,
            end,
            steps=searches.steps(halving, steps),
            state=path,
            parallel=parallel or 1,
            higher_is_better=directions.asked_for(higher_is_better) is not False,
            quiet=quiet,
        )
        return results.Tuned(tree, path)
    _refuse_of_functions(steps=steps, state=state, higher_is_better=higher_is_better)
    target = targets.target(config, arguments.words(changes), arguments.path(data), search, where)
    place = training.Place(folder, store)
    with observe.interruptible():
        tree = training.tune(target, search, end, place, parallel, quiet)
    return results.Tuned(tree, training.best_path(place.state_of(target)))


def _refuse_of_functions(**named: object) -> None:
    for name, value in named.items():
        if value is not None:
            raise errors.ConfigError(f"{name}: goes with a function, not with a config")
