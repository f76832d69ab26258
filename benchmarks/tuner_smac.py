"""Proposals by SMAC3's hyperparameter optimisation facade, for tuner_quality.py alone.

A search is one facade, asked for the next setting and told of results as they come, as its users
do; its random forest knows nothing of settings that run. One evaluation a setting (deterministic):
the objective's noise stays in the scores. A failure costs as much as the worst setting before it;
one before all scores is not told. The package builds pyrfr, which needs swig:

    pip install swig smac
"""

import math
import tempfile
from typing import Any

import ConfigSpace
import smac
from smac.runhistory import StatusType, TrialInfo, TrialValue

from jaxeval.space import Parameter, Space
from jaxeval.space.distributions import Choices, Distribution, Grid, Value
from jaxeval.tuning import candidates
from jaxeval.tuning.history import Evaluation, History, identity

_ATTEMPTS = 20  # to propose a setting that is new
_searches: dict[tuple[int, int], "_Search"] = {}  # by the identity of the space, and seed


def propose(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    """The next settings; arguments and result as of `gp.propose`."""
    key = (id(space), seed)
    search = _searches.get(key)
    if search is None or len(search.told) > len(history.evaluations):
        _searches.clear()
        search = _searches[key] = _Search(space, seed)
    proposed = []
    for _ in range(count):
        values = search.ask(history) or candidates.random(space, history, 1, seed)[0]
        proposed.append(values)
        history = history.propose(values, ())
    return proposed


class _Search:
    """A facade and the evaluations that it knows."""

    def __init__(self, space: Space, seed: int):
        self.space, self.told = space, set[int]()
        self.worst = -math.inf  # cost so far: that of a failure
        scenario = smac.Scenario(
            _configuration_space(space, seed),
            name=str(seed),
            output_directory=tempfile.mkdtemp(),
            deterministic=True,
            n_trials=100_000,
            seed=seed,
        )
        design = smac.HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=1)
        self.facade = smac.HyperparameterOptimizationFacade(
            scenario, lambda config, seed: 0.0, initial_design=design, logging_level=50
        )

    def ask(self, history: History) -> dict[str, Value] | None:
        """A setting that the history lacks, after all results that came since the last time."""
        for number, evaluation in enumerate(history.evaluations):
            if evaluation.ended and number not in self.told:
                self.told.add(number)
                self._tell(evaluation, -1.0 if history.higher_is_better else 1.0)
        known = {identity(e.values) for e in history.evaluations}
        for _ in range(_ATTEMPTS):
            values = self._values(self.facade.ask().config)
            if identity(values) not in known:
                return values
        return None

    def _tell(self, evaluation: Evaluation, sign: float) -> None:
        values = {p.name: _encoded(p, evaluation.values) for p in self.space.parameters}
        active = {name: value for name, value in values.items() if value is not None}
        config = ConfigSpace.Configuration(self.facade.scenario.configspace, active)
        scores = evaluation.scores
        if not scores and self.worst == -math.inf:
            return
        status = StatusType.SUCCESS if scores else StatusType.CRASHED
        cost = sign * scores[0] if scores else self.worst
        self.worst = max(self.worst, cost)
        value = TrialValue(cost=cost, status=status)
        self.facade.tell(TrialInfo(config, seed=0), value, save=False)

    def _values(self, config: Any) -> dict[str, Value]:
        drawn = dict(config)
        return {
            p.name: _decoded(p.distribution, drawn[p.name])
            for p in self.space.parameters
            if p.name in drawn
        }


def _configuration_space(space: Space, seed: int) -> Any:
    by_name = {p.name: _hyperparameter(p.name, p.distribution) for p in space.parameters}
    parents = {p.name: p for p in space.parameters}
    configurations = ConfigSpace.ConfigurationSpace(seed=seed)
    configurations.add([*by_name.values()])
    for parameter in space.parameters:
        conditions = [
            ConfigSpace.InCondition(
                by_name[parameter.name],
                by_name[other],
                [_encoded(parents[other], {other: value}) for value in values],
            )
            for other, values in parameter.when
        ]
        if len(conditions) > 1:
            configurations.add(ConfigSpace.AndConjunction(*conditions))
        elif conditions:
            configurations.add(conditions[0])
    return configurations


def _hyperparameter(name: str, of: Distribution) -> Any:
    """Numbers as numbers: of a grid and of ordered choices the index."""
    if isinstance(of, Grid):
        return ConfigSpace.UniformIntegerHyperparameter(name, 0, of.count - 1)
    if not isinstance(of, Choices):
        return ConfigSpace.UniformFloatHyperparameter(name, of.low, of.high, log=of.log)
    if len(of.values) == 1:
        return ConfigSpace.Constant(name, 0)
    if of.ordered:
        return ConfigSpace.UniformIntegerHyperparameter(name, 0, len(of.values) - 1)
    return ConfigSpace.CategoricalHyperparameter(name, [*of.values])


def _encoded(parameter: Parameter, values: Any) -> Any:
    of, value = parameter.distribution, values.get(parameter.name)
    if value is None:
        return None
    if isinstance(of, Grid):
        return (value - of.low) // of.step
    if isinstance(of, Choices) and (of.ordered or len(of.values) == 1):
        return of.values.index(value)
    return value


def _decoded(of: Distribution, value: Any) -> Value:
    if isinstance(of, Grid):
        return of.low + of.step * int(value)
    if isinstance(of, Choices):
        if of.ordered or len(of.values) == 1:
            return of.values[int(value)]
        return next(choice for choice in of.values if choice == value)
    return float(value)
