"""`jaxeval train`: trains a population and shows its score distribution."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import backend, launchers, parameters, parsers
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import Changes, Quiet, Seeds, Splits
from jaxeval.report.document import Document, Result, Table

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.results import Runs
    from jaxeval.studies.launching import Launcher


@dataclasses.dataclass(frozen=True, repr=False)
class Plan(Result):
    """The plan of a training: sizes, programs, memory, the whole config."""

    plan: Mapping[str, Json]
    toml: str

    def document(self) -> Document:
        """The plan as comments above the config: a file that trains the same."""
        rows = [(key, str(value)) for key, value in self.plan.items() if key != "config"]
        comments = [f"# {key}: {value}" for key, value in rows]
        whole = "\n".join(["", *self.toml.splitlines()])
        return Document(comments, (whole,), paper=(Table(("key", "value"), rows),), title="Plan")

    def to_dict(self) -> dict[str, Json]:
        """The plan."""
        return {**self.plan}


@parameters.verb
def train(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    seeds: Seeds = 8,
    splits: Splits | None = None,
    outputs: bool = False,
    again: bool = False,
    launch: str = launchers.HERE,
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Runs | Plan":
    """Trains one member a seed (and split), all in one compiled program.

    Without CONFIG it trains eight small taggers on a generated corpus. The same command continues
    what was interrupted. `jaxeval configs` lists shipped configs, `jaxeval configs keys TASK` all
    keys of a config.

    Args:
      splits: random splits of all the data instead of its own: N for 1 .. N, or a list.
      outputs: keep what each member gets right or wrong, item by item.
      again: train also members that have ended without the saved model or outputs asked for.

    Examples:
      jaxeval train reimers2017/wnut17_ner --data DIR --seeds 8
      jaxeval train CONFIG --splits 5 --seeds 4  # 5 random splits x 4 seeds
      jaxeval train CONFIG --dry-run             # the plan, and the whole config as TOML
    """
    backend.prepare()
    launcher = launchers.parse(launch)
    if launcher is None:
        backend.join()
    from jaxeval import observe, results, studies
    from jaxeval.studies import prepared

    whole = studies.read(config, [*changes], data)
    numbers = [0] if splits is None else parameters.numbers(splits)
    each = parameters.numbers(seeds)
    if len(each) * len(numbers) > parameters.MOST:
        raise ConfigError(
            f"{argument('splits')}: expected at most {parameters.MOST} members, got {len(each)} "
            f"seeds on {len(numbers)} splits"
        )
    trials = prepared.seeds_by_splits(whole, each, numbers)
    if dry_run:
        return _plan(trials, launcher)
    more: Any = {"again": again, "outputs": outputs, "quiet": quiet}
    rows = observe.train(trials, Path(out), launcher=launcher, **more)
    return results.trained(rows, out)


def _plan(trials: list, launcher: "Launcher | None") -> Plan:
    from jaxeval.config import reading
    from jaxeval.studies import cohorts, launching, memory, prepared, running

    (cohort,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    running.refuse_impossible([cohort])
    plan = memory.describe(cohort)
    if launcher is not None:
        plan["jobs"] = launching.describe([cohort], launcher)
    return Plan(plan, reading.to_toml(cohort.config))


COMMANDS: parsers.Commands = {"": train}

if __name__ == "__main__":
    from jaxeval.__main__ import command

    command("train")
