"""Searches over a function of Python."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval.bandits.commands import Report
from jaxeval.errors import ConfigError
from jaxeval.report.tuning import as_json, progress
from jaxeval.report.tuning.as_json import Metric, Retrained
from jaxeval.runs import metrics
from jaxeval.space.distributions import Value
from jaxeval.tune import options
from jaxeval.tuning import history as histories
from jaxeval.tuning import retraining, running, saved
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import Search


class Function:
    """A function of a setting, called with what its arguments are named.

    Args:
      of: called with the values by name, and with `seed=` and `report=` where it has arguments of
        these names.

    Attributes:
      seeded: whether it is told its seed; if not, all seeds of a setting are the same run.
      reports: whether it reports intermediate scores.
    """

    def __init__(self, of: Callable[..., float]):
        names: Collection[str] = ()
        with contextlib.suppress(TypeError, ValueError):  # one written in C says nothing of them
            names = inspect.signature(of).parameters
        self.of, self.name = of, getattr(of, "__qualname__", type(of).__name__)
        self.seeded, self.reports = "seed" in names, "report" in names

    def __call__(
        self, values: Mapping[str, Value], seed: int, report: Report = lambda step, score: False
    ) -> float:
        given: dict[str, Any] = {"seed": seed} if self.seeded else {}
        if self.reports:
            given["report"] = report
        return self.of(dict(values), **given)


def tune(
    function: Function,
    search: Search,
    end: options.End,
    *,
    steps: int | None,
    state: Path | None,
    parallel: int,
    higher_is_better: bool,
    quiet: bool,
) -> as_json.Result:
    """Searches, and evaluates the best setting with fresh seeds.

    Args:
      steps: that a function reports at, of a search with halving.
      state: file that the search goes on from when it is called again; None: nothing is kept.

    Raises:
      ConfigError: several seeds, or halving, of a function that does not take what they need.
      RunError: another process works on the state.
    """
    _refuse_unfit(function, search)
    fresh = end.retrain if function.seeded else 0
    with _opened(state, search, function, steps, higher_is_better) as kept:
        stop = options.stopper(end, search, kept)
        called = running.run(
            search,
            kept.history,
            function,
            trials=end.trials,
            workers=parallel,
            steps=steps,
            stop=stop,
        )
        pace = progress.Pace(parallel)
        with contextlib.closing(called):
            for step in called:
                kept.save(step.history)
                if step.evaluation is not None and not quiet:
                    ended = len(histories.ended(step.history))
                    left = pace.left(ended, end.trials, kept.seconds)
                    _show(search, step, end.trials, left, fresh)
        best = searches.best(search, kept.history)
        retrained = _retrained(function, kept, best, fresh, parallel) if best and fresh else None
        return as_json.result(
            search,
            kept.history,
            best,
            options.reason(end.trials, kept, stop),
            kept.seconds,
            _metric(kept.history),
            retrained,
            seeded=function.seeded,
        )


def _retrained(
    function: Function, kept: saved.Saved, best: Setting, count: int, parallel: int
) -> Retrained:
    """The best setting with fresh seeds: what failed in an earlier call runs again."""
    identity, seeds = histories.identity(best.values), retraining.seeds(count)
    known = kept.fresh.get(identity, {})
    left = [seed for seed in seeds if not isinstance(known.get(seed), float)]
    for seed, result in running.again(function, best.values, left, parallel):
        kept.save_fresh(identity, seed, result)
    results = [kept.fresh[identity][seed] for seed in seeds]
    return Retrained(
        {"score": [result for result in results if isinstance(result, float)]},
        [result for result in results if isinstance(result, str)],
    )


def _refuse_unfit(function: Function, search: Search) -> None:
    if (search.seeds > 1 or search.adaptive) and not function.seeded:
        raise ConfigError(f"seeds: {function.name} has no argument seed, so that all are one run")
    if search.halving is not None and not function.reports:
        raise ConfigError(
            f"halving: {function.name} has no argument report, which it calls with step and score"
        )


class _Kept(saved.Saved):
    """A search that is kept nowhere."""

    def _write(self) -> None:
        pass


@contextlib.contextmanager
def _opened(
    path: Path | None, search: Search, function: Function, steps: int | None, higher: bool
) -> Iterator[saved.Saved]:
    if path is None:
        yield _Kept(None, History((), higher), {}, 0.0)  # type: ignore[arg-type]
        return
    source: dict[str, Any] = {"function": function.name, **({"steps": steps} if steps else {})}
    with saved.opened(path, search, higher, source) as kept:
        yield kept


def _metric(history: History) -> Metric:
    return Metric(unit=metrics.stored_unit(None, options.largest_of(history)))


def _show(search: Search, step: running.Step, trials: int, left: str, retrain: int) -> None:
    assert step.evaluation is not None
    evaluation = step.history.evaluations[step.evaluation.number]
    metric = _metric(step.history)
    sofar = progress.progress(search, step.history, trials, metric, left, retrain)
    said = progress.ended(evaluation, metric) if evaluation.result else step.note
    print(f"{sofar} | {said}", file=sys.stderr, flush=True)
