"""The config that a search is over, with its data."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval import runs, studies
from jaxeval.config import markers, reading
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.studies import prepared, proposers
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import Evaluation
from jaxeval.tuning.search import Search

_DRAWS = 16  # settings of which it is seen what is traced: that can depend on conditions


@dataclasses.dataclass(frozen=True)
class Target:
    """A config that is tuned.

    Attributes:
      source, changes: of the config, before what a search sets.
      base: the config with its data.
      record: under which its evaluations are recorded.
      session: data that was read, programs that were compiled.
      compiled: hyperparameters whose values are compiled in.
    """

    source: reading.Source
    changes: Sequence[str]
    space: Space
    base: prepared.Prepared
    record: runs.Experiment
    design: Mapping[str, Json]
    session: studies.Session
    compiled: tuple[str, ...] = ()

    def config(self, values: Mapping[str, Any]) -> Any:
        """The config of a setting.

        Raises:
          ConfigError: the values are no config.
        """
        return proposers.configured(self.source, self.changes, self.space, values)

    def trials(self, evaluation: Evaluation) -> list[studies.Trial]:
        """One a seed.

        Raises:
          ConfigError: as `config`.
        """
        config = self.config(evaluation.values)
        setting = (evaluation.values, evaluation.seeds)
        return proposers.evaluations(self.base.config, [config], [setting], self.design)


def target(
    source: reading.Source,
    changes: Sequence[str],
    data: str | None,
    search: Search,
    where: str = "space",
) -> Target:
    """Reads a config and its data; nothing is trained.

    Args:
      data: where the data is, instead of where the config says.
      where: what messages about the space begin with.

    Raises:
      ConfigError, DataError: the config or the space is wrong, or the data cannot be used.
    """
    base = studies.read(source, changes, data)
    if search.halving is not None:
        _refuse_unscored_rungs(base, search, search.halving, where)
    for parameter in search.space.parameters:
        if parameter.key is not None:  # else every setting would be a failure
            reading.refuse_unknown(type(base), parameter.key, f"{where}: {parameter.name}")
    changes = [*changes, *prepared.data_changes(base.task, data)]
    proposers.refuse_leaks(base, search.space, where)
    session = studies.Session()
    loaded = session.loader.prepare(base)
    design = search.to_dict()
    study = proposers.evaluations(base, [base], [({}, [1])], design)[0].study
    assert study is not None
    record = prepared.record_of(loaded.record, study)
    target = Target(source, changes, search.space, loaded, record, design, session)
    padded = loaded.kind.member_sizes is not None
    return dataclasses.replace(target, compiled=_compiled(target, padded))


def _compiled(of: Target, padded: bool) -> tuple[str, ...]:
    """Hyperparameters that are neither traced nor sizes that are padded, in any of some draws.

    Args:
      padded: whether members of several sizes share a program.
    """
    changing: set[str] = set()
    if padded:
        changing.update(markers.keys(of.base.config, markers.RAGGED))
    for run in range(_DRAWS):
        with contextlib.suppress(ConfigError):
            config = of.config(spaces.draw(of.space, 0, run))
            changing.update(number.key for number in markers.traced(config).values())
    return tuple(p.name for p in of.space.parameters if p.key and p.key not in changing)


def _refuse_unscored_rungs(base: Any, search: Search, halving: Halving, where: str) -> None:
    """Raises ConfigError where a rung may be an epoch after which dev is not scored."""
    every, key = base.training.evaluate_every, "training.evaluate_every"
    if halving.first % every:
        raise ConfigError(
            f"{argument('min_epochs')}: expected a multiple of {key}, which is {every}, got "
            f"{halving.first}"
        )
    for parameter in search.space.parameters:
        if parameter.key == key:
            raise ConfigError(
                f"{where}: {parameter.name}: expected no {key} with {argument('halving')}, whose "
                "rungs are after epochs that score dev; fix it in the config"
            )
