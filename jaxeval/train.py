"""Trains a population: the verbs `train` and `sweep`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, launchers, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import Changes, Count, Natural, Quiet, Seeds, Splits
from jaxeval.report import Document, Result, Table

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.sweeps import SweepPlan
    from jaxeval.results import Runs
    from jaxeval.space import Space
    from jaxeval.studies.cohorts import Cohort
    from jaxeval.studies.launching import Launcher


@dataclasses.dataclass(frozen=True, repr=False)
class _Plan(Result):
    """The plan of a training: sizes, programs, memory, the whole config."""

    plan: Mapping[str, Json]
    toml: str

    def document(self) -> Document:
        """The plan as comments above the config: a file that trains the same."""
        rows = [(key, str(value)) for key, value in self.plan.items() if key != "config"]
        comments = [f"# {key}: {value}" for key, value in rows]
        whole = "\n".join(["", *self.toml.splitlines()])
        table = Table(("key", "value"), rows)
        return Document(comments, (whole,), paper=lambda: (table,), title="Plan")

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
    launch: str = launchers.HERE,
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Runs | _Plan":
    """Trains one network per seed (and split), all in one compiled program.

    Without CONFIG it trains eight small taggers on a generated corpus. The same command resumes an
    interrupted run. `jaxeval configs` lists the shipped configs, and `jaxeval configs keys TASK`
    lists all keys of a task's configs.

    Args:
      splits: train every seed on random splits instead of the data's own: N (splits 1 to N), or a
        list.
      outputs: store which items each member gets right, so that compare also tests item by item.

    Examples:
      jaxeval train reimers2017/wnut17_ner --data DIR --seeds 8
      jaxeval train CONFIG --splits 5 --seeds 4  # 5 random splits x 4 seeds
      jaxeval train CONFIG --dry-run             # the plan, and the whole config as TOML
    """
    launcher = launchers.prepare(launch)
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
    rows = observe.train(trials, Path(out), launcher=launcher, outputs=outputs, quiet=quiet)
    return results.trained(rows, out)


def _plan(trials: list, launcher: "Launcher | None") -> _Plan:
    from jaxeval.config import fields
    from jaxeval.studies import cohorts, launching, prepared, running

    (cohort,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    if launcher is None:
        running.refuse_impossible([cohort])
    plan = _described(cohort)
    if launcher is not None:
        plan["jobs"] = launching.describe([cohort], launcher)
    return _Plan(plan, fields.to_toml(cohort.config))


def _described(cohort: "Cohort") -> dict[str, Json]:
    """Returns the plan of a cohort of one config: data, sizes, batches, memory."""
    import jax

    from jaxeval.config import reading
    from jaxeval.population import lanes, member
    from jaxeval.studies import cohorts

    own = cohort.entries[0].prepared
    source, training = own.data, own.config.training
    rows = [len(rows) for rows in source.split(0).train]
    updates = int(member.steps(rows, training.batch_size).count)
    fitting = cohorts.lanes_for(cohort.problem, cohort.members, None)
    width = lanes.round_up(fitting, lanes.make_mesh())
    count = cohorts.parameters(cohort.problem, cohort.members[0])
    corpus = sum(leaf.nbytes for leaf in jax.tree.leaves(cohort.problem.corpus))
    population = 4 * 4 * count * width  # params, best params, at most two moments
    return {
        "experiment": own.record.id,
        "config": reading.to_dict(own.config),
        **source.facts,
        **source.findings.facts,
        **({"warnings": [*source.findings.warnings]} if source.findings.warnings else {}),
        "metric": own.task.metric.name,
        "parameters": count,
        "members": len(cohort.members),
        "lanes": f"{width} on {backend.describe()}",
        "batches": [  # a bucket's last batch is a rest
            {
                "nominal": training.batch_size,
                "at_once": min(training.at_once, training.batch_size),
                "micro_batches": -(-training.batch_size // training.at_once),
                "updates_an_epoch": updates,
                "effective": round(sum(rows) / updates, 1),
            }
        ],
        "memory_megabytes": {
            "corpus, on each device": round(corpus / 2**20, 1),
            "population": round(population / 2**20, 1),
        },
    }


@parameters.verb
def sweep(
    config: "Source" = None,
    changes: Changes = (),
    *,
    space: "str | Path | Mapping[str, object] | Space",
    data: str | Path | None = None,
    out: str | Path = "runs",
    trials: Count = 24,
    seed: Natural = 1,
    programs: Count | None = None,
    launch: str = launchers.HERE,
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Runs | SweepPlan":
    """Trains random settings of a search space, in few compiled programs.

    Runs that can share a compiled program are padded to one size. The same command resumes an
    interrupted sweep; with more --trials it extends the sweep.

    Args:
      trials: number of runs; run k has seed k.
      programs: maximum number of compiled programs (default: what the cost model finds fastest).

    Examples:
      jaxeval sweep wiemerslage2024/georgian_transformer_small \\
          --space wiemerslage2024/space_transformer_small --data DIR
      jaxeval sweep CONFIG --space FILE --data DIR --trials 200 --dry-run   # the plan
      jaxeval sensitivity runs               # how much scores depend on settings
    """
    launcher = launchers.prepare(launch)
    from jaxeval import observe, results
    from jaxeval import space as spaces
    from jaxeval.report import render
    from jaxeval.report.sweeps import plan
    from jaxeval.studies import launching, running, sweeps

    known, where = spaces.load(space)
    drawn = sweeps.draw(
        config, [*changes], data, known, where, seed=seed, count=trials, folder=Path(out)
    )
    if dry_run:
        findings, estimates = drawn.base.data.findings, drawn.estimates(programs)
        if not quiet:
            observe.say_findings(findings.remarks, findings.warnings)
        values = [dict(entry.trial.values) for entry in drawn.entries]
        jobs = launching.describe(drawn.cohorts(estimates), launcher) if launcher else None
        return plan(estimates, values, jobs, findings.warnings)
    with running.locked(drawn.folder, drawn.record.id):
        estimates = drawn.estimates(programs)
        if not quiet:
            render.to_terminal(plan(estimates).document(), stderr=True)
        drawn.save(estimates)
        rows = observe.train_cohorts(
            drawn.cohorts(estimates),
            drawn.folder,
            session=drawn.session,
            launcher=launcher,
            quiet=quiet,
        )
    lost = " --missing zero" if any(row.dev is None for row in rows) else ""
    return results.trained(rows, out, f"next: jaxeval sensitivity {out}{lost}")


if __name__ == "__main__":
    from jaxeval.__main__ import command

    command("train")
