"""`python -m jaxeval.sweep`: a random sweep of hyperparameters, as few compiled programs."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval import studies
    from jaxeval.studies import cohorts, costs, events, timing

_DESCRIPTION = """\
Draws runs from a search space, writes all draws down, and trains them: runs whose shapes can share
a compiled program are members of one population, padded to its size.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.sweep configs/wiemerslage2024/georgian_transformer_small.toml \\
      --space configs/wiemerslage2024/space_transformer_small.toml --data DIR --runs 24
  python -m jaxeval.sweep CONFIG --space FILE --data DIR --runs 200 --dry-run   # the plan
  python -m jaxeval.sensitivity runs    # what the sweep says of the architecture
  python -m jaxeval.report runs         # the same as a page with figures

The same command continues what was interrupted; with more --runs it goes on where it ended.
docs/sweeps.md describes space files, cohorts and the cost model.
"""
# Multiplications and additions a second of one device in products of many rows: of a core as we
# measured it; of an accelerator, which we could not, a guess.
_RATES = {"cpu": 6e10}
_ACCELERATOR = 5e12
_COMPILE_SECONDS = 8.0  # of a cohort for each padded width, on one core


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("sweep", _DESCRIPTION, _EXAMPLES)
    cli.add_config(made)
    made.add_argument("--space", required=True, metavar="FILE", help="the search space (TOML)")
    made.add_argument(
        "--runs", type=cli.positive, default=24, metavar="N", help="runs 1 .. N (24)"
    )
    made.add_argument(
        "--seed", type=arguments.count, default=1, metavar="S", help="of the draws (1)"
    )
    made.add_argument(
        "--most-cohorts",
        type=cli.positive,
        metavar="N",
        help="compiled programs at most, whatever padding costs",
    )
    made.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    cli.add_again(made)
    made.add_argument("--dry-run", action="store_true", help="show the plan, and stop")
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Parses, draws, plans, trains, prints."""
    given = cli.parse_config(parser(), words)
    from jaxeval import backend

    backend.prepare()
    from jaxeval import studies
    from jaxeval.report.runs import terminal
    from jaxeval.report.sweep import plan
    from jaxeval.space import space
    from jaxeval.studies import cohorts, plan_file, proposers, running, timing

    of = space.read(given.space)
    base = studies.read(given.config, given.changes, given.data)
    changes = [*given.changes, *_data(base, given.data)]
    trials = proposers.draws(given.config, changes, of, given.seed, given.runs, given.space)
    session = studies.Session()
    entries = cohorts.entries(trials, session.loader)
    first = session.loader.prepare(base)
    path = plan_file.path_of(Path(given.out), entries[0].record)
    sizes = cohorts.bucket_sizes(first)

    def planned() -> "list[costs.Estimate]":
        machine, known = machine_of(first), cohorts.jobs(entries)
        return plan_file.planned(path, trials, known, sizes, machine, given.most_cohorts)

    ratio = _measured(given)
    if given.dry_run:
        findings = first.source.findings
        terminal.print_findings(findings.remarks, findings.warnings)
        estimates = timing.corrected(planned(), ratio)
        if given.json:
            drawn = [dict(trial.values) for trial in trials]
            described = plan.to_dict(estimates, drawn, ratio, findings.warnings)
            cli.write_json(given.json, described)
        if given.json != "-":
            plan.show(estimates, ratio)
        return 0
    with running.locked(Path(given.out), entries[0].record.id):
        estimates = planned()
        plan.show(timing.corrected(estimates, ratio), ratio, stderr=True)
        plan_file.save(path, entries[0].record, trials, estimates, sizes)
        made = cohorts.by_estimates(entries, estimates, session.loader)
        return _train(made, session, given)


def _data(config: Any, data: str | None) -> list[str]:
    """The change of a config that --data means."""
    from jaxeval.tasks import registry

    key = registry.kind(config.task).data_key
    return [f"{key}={json.dumps(data, ensure_ascii=False)}"] if data else []


def _measured(given: argparse.Namespace) -> "timing.Measured | None":
    """What runs of sweeps in this folder took on this machine."""
    from jaxeval import backend, runs
    from jaxeval.studies import timing

    estimates = timing.recorded(Path(given.out))
    if not estimates:
        return None
    return timing.measured(runs.load(given.store or given.out), estimates, backend.describe())


def machine_of(prepared: "studies.Prepared") -> "costs.Machine":
    """What time is made of here, for a corpus of so many padded widths."""
    import jax

    from jaxeval.studies import costs

    return costs.Machine(
        len(jax.devices()),
        _RATES.get(jax.default_backend(), _ACCELERATOR),
        _COMPILE_SECONDS * len(prepared.source.corpus.buckets),
        prepared.config.training.lane_mode == "vmap",
    )


def _train(
    planned: "Sequence[cohorts.Cohort]", session: "studies.Session", given: argparse.Namespace
) -> int:
    from jaxeval import observe
    from jaxeval.report.runs import summary, terminal
    from jaxeval.report.sweep import plan

    estimates = [cohort.estimate for cohort in planned if cohort.estimate]

    def start(started: "events.Started") -> None:
        plan.announce(started.number, estimates)
        observe.announce(started)

    rows = observe.train_cohorts(
        planned,
        Path(given.out),
        given.store,
        again=given.again,
        session=session,
        start=start,
    )
    whole = summary.of_members(rows)
    if given.json:
        cli.write_json(given.json, summary.to_dict(whole))
    if given.json != "-":
        terminal.print_summary(whole)
        lost = " --missing zero" if any(row.dev is None for row in rows) else ""
        print(f"\nnext: python -m jaxeval.sensitivity {given.store or given.out}{lost}")
    return 0


if __name__ == "__main__":
    cli.run(main)
