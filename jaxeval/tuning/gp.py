"""Proposals by a Gaussian process: expected improvement in batches, failures as results.

What is proposed depends on nothing but the space, the history and the seed: asking for eight
settings gives what asking eight times for one gives.
"""

import collections
import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.space.distributions import Value
from jaxeval.space.space import Space
from jaxeval.tuning import acquisition, candidates, encoding, history, process, targets
from jaxeval.tuning.history import History, Rung, Setting
from jaxeval.tuning.process import Data, Model
from jaxeval.tuning.targets import Targets

INITIAL = 8  # proposals by Sobol points before the first by the model
# results that it needs: with fewer it proposes corners of the space, where all is unknown, and
# finds nothing better there than random search (docs/method.md)
_LEAST_ENDED = 4
# settings that hyperparameters are fitted to, and that the posterior is conditioned on, at most
_FITTED, _CONDITIONED = 120, 400
_NEAR = 8  # best settings: their surroundings are searched, and improvement is over draws of them
_FANTASIES, _SEARCH = range(2)  # streams of random numbers
_REPEATED = 32  # settings of the best posterior means that are considered for one more seed


class Fitted(NamedTuple):
    """What a history says of a space."""

    model: Model | None  # of the scores; None before the first
    success: Model | None  # of failures; None before the first
    settings: tuple[Setting, ...]  # with scores, as in the model's data; scores at rungs follow
    features: np.ndarray  # [n, D] theirs, without the budgets that the model knows
    places: np.ndarray  # [n, P]
    targets: Targets | None
    budget: float  # at which the next setting is to improve; 1: of whole trainings


def propose(
    space: Space,
    known: History,
    count: int,
    seed: int,
    fitted: Fitted | None = None,
) -> list[dict[str, Value]]:
    """So many next settings, each unlike all others and those of the history; or all there are.

    Args:
      fitted: to the history, where that is done.
    """
    first, early = len(known.evaluations), _initial(known, count)
    proposed = candidates.sobol(space, known, early, seed)
    if len(proposed) == count:
        return proposed
    for values in proposed:
        known = known.proposed(values, ())
    each = history.settings(known)
    taken = encoding.places(space, [setting.values for setting in each])
    running = taken[[bool(s.running and not s.scores) for s in each]]
    fitted = fitted or fit(space, known)  # proposals change what runs, not what is known
    for number in range(first + len(proposed), first + count):
        near, value = _acquisition(space, fitted, running, [seed, number, _FANTASIES])
        row = candidates.maximise(space, value, near, taken, [seed, number, _SEARCH])
        if row is None:
            break
        taken, running = np.vstack([taken, row]), np.vstack([running, row])
        proposed += encoding.settings(space, row[None])
    return proposed


def _initial(known: History, count: int) -> int:
    """How many of the next settings are Sobol points, before the model proposes."""
    if len(known.ended) < _LEAST_ENDED:
        return count
    return min(count, max(0, INITIAL - len(known.evaluations)))


def _acquisition(
    space: Space, fitted: Fitted, running: np.ndarray, seed: list[int]
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Places [k, P] of the best evaluated settings, and log EI times P(success) of places."""
    model, features = fitted.model, functools.partial(encoding.features, space)
    if model is None:
        return fitted.places, lambda rows: acquisition.log_success(fitted.success, features(rows))
    near = fitted.places[ranked(fitted, fitted.budget)[:_NEAR]]
    at = functools.partial(model.columns.complete, budget=fitted.budget)
    unknown = at(features(np.vstack([near, running])))
    pending = acquisition.fantasise(model, unknown, seed)

    def value(rows: np.ndarray) -> np.ndarray:
        seen = features(rows)
        improvement = acquisition.log_batch_improvement(model, pending, at(seen))
        return improvement + acquisition.log_success(fitted.success, seen)

    return near, value


def propose_adaptive(
    space: Space, known: History, count: int, seed: int
) -> list[dict[str, Value]]:
    """The next settings: new ones, or old ones that are to be trained with one more seed.

    Both are valued by the knowledge gradient: a new setting can be good; a further seed can show
    that another setting is the better one. Differences that seeds blur are worth seeds. A space
    that has no new setting goes on with seeds of old ones.
    """
    fitted, proposed = fit(space, known), list[dict[str, Value]]()
    for _ in range(count):
        new = propose(space, known, 1, seed, fitted)
        again = _further_seed(space, known, fitted, new)
        if again is None and not new:
            break
        proposed.append(new[0] if again is None else dict(again))
        known = known.proposed(proposed[-1], ())
    return proposed


def _further_seed(
    space: Space, known: History, fitted: Fitted, new: list[dict[str, Value]]
) -> Mapping[str, Value] | None:
    """The evaluated setting of which one more seed is worth more than a new setting, if any.

    Args:
      fitted: to the history, but for what runs.
      new: the setting that is proposed next otherwise, if there is one.
    """
    model = fitted.model
    if model is None or fitted.targets is None or (new and _initial(known, 1)):
        return None
    order = ranked(fitted)[:_REPEATED]
    if new and fitted.settings[order[0]].failures:  # so has every other one
        return None
    pending = collections.Counter(history.identity(e.values) for e in known.pending)
    awaited = [float(pending[history.identity(fitted.settings[k].values)]) for k in order]
    values = acquisition.knowledge_gradients(
        model,
        fitted.features[order],
        np.array(awaited),
        encoding.features(space, encoding.places(space, new)),
        fitted.targets.seed or math.exp(model.kernel.noise),
    )
    best = int(np.argmax(values))
    return None if best >= len(order) else fitted.settings[order[best]].values


def fit(space: Space, known: History) -> Fitted:
    """The models of scores and of failures."""
    each = history.settings(known)
    scored, rungs = tuple(setting for setting in each if setting.scores), history.rungs(known)
    values = [*(s.values for s in scored), *(known.evaluations[r.number].values for r in rungs)]
    observed = encoding.places(space, values)
    features = encoding.features(space, observed)
    model, fitted_to, budget = None, None, 1.0
    if scored:
        scores = [*(setting.scores for setting in scored), *((rung.score,) for rung in rungs)]
        fitted_to = targets.targets(scores, known.higher_is_better, _weights(observed))
        rows = features
        if any(setting.stopped is not None for setting in scored):
            # so scores of few epochs say what they say of the whole training (Klein et al. 2020)
            budgets = [*(s.budget for s in scored), *(rung.budget for rung in rungs)]
            rows = np.column_stack([features, budgets])
        data = Data(rows, fitted_to.values, fitted_to.variances, fitted_to.shares)
        model, budget = _model(space, data), _supported(space, scored, rungs)
    count = len(scored)
    success = _success(space, each)
    return Fitted(model, success, scored, features[:count], observed[:count], fitted_to, budget)


def _weights(places: np.ndarray) -> np.ndarray:
    """[n]: equal for branches, those of the same active hyperparameters, however often visited."""
    _, branch, sizes = np.unique(np.isnan(places), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[branch.ravel()])


def _supported(space: Space, scored: tuple[Setting, ...], rungs: list[Rung]) -> float:
    """The largest budget that more settings have had than there are hyperparameters.

    (As BOHB chooses one, Falkner et al. 2018, algorithm 2, from two settings more.) Of larger ones
    nearly nothing is known anywhere: their expected improvement is largest in the corners of the
    space.
    """
    furthest = {setting.numbers[0]: setting.budget for setting in scored}
    for rung in rungs:
        furthest[rung.number] = max(rung.budget, furthest.get(rung.number, 0.0))
    ordered = sorted(furthest.values(), reverse=True)
    return ordered[min(len(space.parameters), len(ordered) - 1)]


def _success(space: Space, each: list[Setting]) -> Model | None:
    """Of all settings that ended; one failure of several evaluations counts as one."""
    ended = [setting for setting in each if setting.scores or setting.failures]
    if not any(setting.failures for setting in ended):
        return None
    features = encoding.features(space, encoding.places(space, [s.values for s in ended]))
    labels = np.where([bool(setting.failures) for setting in ended], -1.0, 1.0)
    return _model(space, Data(features, labels, np.zeros(len(labels)), np.ones(len(labels))))


def _model(space: Space, data: Data) -> Model:
    """The process fitted to at most _FITTED settings and conditioned on at most _CONDITIONED."""
    columns = encoding.columns(space)
    if data.features.shape[1] > len(columns.group):
        columns = columns.with_budget()
    fitted = process.fit(fitted_to(data), columns)
    if len(data.targets) <= _FITTED:
        return fitted
    return process.condition(fitted.kernel, columns, _part(data, _CONDITIONED))


def fitted_to(data: Data) -> Data:
    """What of the data hyperparameters are fitted to."""
    return _part(data, _FITTED)


def _part(data: Data, most: int) -> Data:
    """At most so many data: the better half of them the best ones, the others evenly spread."""
    if len(data.targets) <= most:
        return data
    order = np.argsort(-data.targets, kind="stable")
    best, others = np.split(order, [most // 2])
    spread = np.linspace(0, len(others) - 1, most - most // 2).astype(int)
    part = np.sort(np.concatenate([best, others[spread]]))
    return Data(*(array[part] for array in data))


def best(space: Space, known: History) -> Setting | None:
    """The evaluated setting to take, the first one `ranked`; None before the first score."""
    fitted = fit(space, known)
    return None if fitted.model is None else fitted.settings[ranked(fitted)[0]]


def ranked(fitted: Fitted, budget: float = 1.0) -> np.ndarray:
    """Indices of the settings with scores that can be taken, the best posterior mean first.

    One that was stopped before a budget, or of which an evaluation failed, cannot while another
    one can. Added to the mean, of whole trainings, is a share of what the score differs by from
    it: the fitted noise s in s / (1 + s). An objective with many peaks looks like noise to a
    smooth model.
    """
    assert fitted.model is not None and fitted.targets is not None
    features = fitted.model.columns.complete(fitted.features, budget)
    means = process.predict(fitted.model, features).mean
    if budget == 1.0:
        whole = np.array([setting.stopped is None for setting in fitted.settings])
        noise = math.exp(fitted.model.kernel.noise)
        means += noise / (1.0 + noise) * whole * (fitted.targets.values[: len(means)] - means)
    order = np.argsort(-means, kind="stable")
    each = fitted.settings
    able = [k for k in order if not each[k].failures and each[k].budget >= budget]
    return np.array(able) if able else order
