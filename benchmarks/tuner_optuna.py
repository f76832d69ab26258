"""Proposals by the samplers of Optuna (uv pip install optuna), as a method of the tuner.

A study is made anew from the history for every batch, and each proposal has a sampler of its own
seed: what is proposed depends on the history, the seed and the number of the proposal alone.
"""

import statistics
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.space import Space
from jaxeval.space.distributions import Choices, Distribution, Grid, Value
from jaxeval.tuning import candidates
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import Evaluation, History, identity

if TYPE_CHECKING:
    import optuna

Sampler = Literal["tpe", "gp"]
_INITIAL = 8  # random trials before a model's first, as many as those of method gp by Sobol points
_ATTEMPTS = 10  # to propose a setting that is new


def propose(
    space: Space, history: History, count: int, seed: int, sampler: Sampler
) -> list[dict[str, Value]]:
    """The next settings; arguments and result as of `gp.propose`.

    Conditions are asked for as Optuna knows them, by what was suggested before. Evaluations that
    run are running trials, failures failed ones, trainings that were stopped pruned ones. Where a
    sampler repeats itself, a random setting is proposed instead.

    Raises:
      ConfigError: Optuna, or torch for `gp`, is not installed.
    """
    optuna = _optuna(sampler)
    study = optuna.create_study(direction="maximize" if history.higher_is_better else "minimize")
    for evaluation in history.evaluations:
        study.add_trial(_frozen(space, evaluation))
    proposed = []
    for number in range(len(history.evaluations), len(history.evaluations) + count):
        known = {identity(e.values) for e in history.evaluations}
        values = _new(study, space, known, [seed, number], sampler)
        if values is None:
            drawn = candidates.random(space, history, 1, seed)
            if not drawn:
                break
            (values,) = drawn
        proposed.append(values)
        history = history.propose(values, ())
    return proposed


def _optuna(sampler: Sampler) -> Any:
    try:
        import optuna

        if sampler == "gp":
            import torch  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"optuna, {sampler}: needs {error.name}, which is not installed: "
            f"uv pip install {error.name}"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _new(
    study: "optuna.Study", space: Space, known: set[str], stream: list[int], sampler: Sampler
) -> dict[str, Value] | None:
    """A setting that is not known; its trial runs. None where the sampler repeats itself."""
    import optuna

    for attempt in range(_ATTEMPTS):
        study.sampler = _sampler([*stream, attempt], sampler)
        trial = study.ask()
        values = _suggested(space, trial)
        if identity(values) not in known:
            return values
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return None


def _sampler(stream: list[int], sampler: Sampler) -> "optuna.samplers.BaseSampler":
    import optuna

    seed = int(np.random.default_rng(stream).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is experimental in them
        if sampler == "gp":
            return optuna.samplers.GPSampler(seed=seed, n_startup_trials=_INITIAL)
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=_INITIAL, constant_liar=True)


def _frozen(space: Space, evaluation: Evaluation) -> "optuna.trial.FrozenTrial":
    """An evaluation as a trial of a study."""
    from optuna.trial import TrialState, create_trial

    kinds = {p.name: p.distribution for p in space.parameters if p.name in evaluation.values}
    of: dict[str, Any] = {
        "params": {name: _param(kinds[name], v) for name, v in evaluation.values.items()},
        "distributions": {name: _distribution(kind) for name, kind in kinds.items()},
    }
    if not evaluation.ended:
        return create_trial(state=TrialState.RUNNING, **of)
    if not evaluation.scores:
        return create_trial(state=TrialState.FAIL, **of)
    score = statistics.fmean(evaluation.scores)
    if evaluation.stopped is not None:
        steps = {evaluation.stopped.epochs: score}
        return create_trial(state=TrialState.PRUNED, intermediate_values=steps, **of)
    return create_trial(state=TrialState.COMPLETE, value=score, **of)


def _suggested(space: Space, trial: "optuna.Trial") -> dict[str, Value]:
    """What a trial suggests, hyperparameter by hyperparameter, conditions included."""
    values: dict[str, Value] = {}
    for parameter in encoder(space).parents_first:
        name = parameter.name
        if all(other in values and values[other] in of for other, of in parameter.when):
            values[name] = _suggested_one(trial, name, parameter.distribution)
    return {name: values[name] for name in (p.name for p in space.parameters) if name in values}


def _suggested_one(trial: Any, name: str, of: Distribution) -> Value:
    value: Value
    if isinstance(of, Grid) and of.whole:
        step = {"log": True} if of.log else {"step": of.step}
        value = trial.suggest_int(name, of.low, _last(of), **step)
    elif isinstance(of, Grid):  # whose numbers are of a few digits
        value = of.value(trial.suggest_int(name, 0, of.count - 1))
    elif not isinstance(of, Choices):
        value = trial.suggest_float(name, of.low, of.high, log=of.log)
    elif of.ordered:
        value = of.in_order[trial.suggest_int(name, 0, len(of.values) - 1)]
    else:
        value = trial.suggest_categorical(name, list(of.values))
    return value


def _last(of: Grid) -> int:
    """The largest value of a grid, which may lie below its end."""
    return int(of.low + of.step * (of.count - 1))


def _distribution(of: Distribution) -> "optuna.distributions.BaseDistribution":
    """Numbers as numbers: an ordered choice is the index of one."""
    from optuna import distributions

    if isinstance(of, Grid) and of.whole:
        return distributions.IntDistribution(of.low, _last(of), of.log, of.step)
    if isinstance(of, Grid):
        return distributions.IntDistribution(0, of.count - 1)
    if isinstance(of, Choices):
        if of.ordered:
            return distributions.IntDistribution(0, len(of.values) - 1)
        return distributions.CategoricalDistribution(list(of.values))
    return distributions.FloatDistribution(of.low, of.high, log=of.log)


def _param(of: Distribution, value: Value) -> Value:
    if isinstance(of, Grid) and not of.whole:
        return round((float(value) - of.low) / of.step)
    return of.in_order.index(value) if isinstance(of, Choices) and of.ordered else value
