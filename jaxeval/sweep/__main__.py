"""`python -m jaxeval.sweep`: a random sweep of hyperparameters, as few compiled programs."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval import runs as runs_room
    from jaxeval.experiment import base, sweeping
    from jaxeval.sweep import cohorts, timing

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
    from jaxeval import experiment
    from jaxeval.experiment import base, sweep_file, sweeping
    from jaxeval.report.runs import terminal
    from jaxeval.report.sweep import plan
    from jaxeval.sweep import space, timing

    of = space.read(given.space)
    config = experiment.read(given.config, given.changes, given.data)
    module = experiment.kind(config.task)
    place = json.dumps(given.data, ensure_ascii=False)
    changes = [*given.changes, *([f"{module.DATA}={place}"] if given.data else [])]
    runs = sweeping.draw(given.config, changes, module, of, given.seed, given.runs, given.space)
    prepared = experiment.prepare(config)
    record = sweeping.record_of(prepared, of, given.seed)
    path = sweep_file.path_of(Path(given.out), record)
    sizes = sweeping.sizes_of(prepared)

    def planned() -> "list[cohorts.Cohort]":
        asked = sweeping.asked(runs, module, prepared)
        machine = machine_of(prepared)
        return sweep_file.planned(path, runs, asked, sizes, machine, given.most_cohorts)

    ratio = _measured(given)
    if given.dry_run:
        findings = prepared.read.findings
        terminal.print_findings(findings.remarks, findings.warnings)
        made = timing.corrected(planned(), ratio)
        if given.json:
            drawn = [dict(run.values) for run in runs]
            cli.write_json(given.json, plan.to_dict(made, drawn, ratio, findings.warnings))
        if given.json != "-":
            plan.show(made, ratio)
        return 0
    with base.locked(Path(given.out), record.id):
        made = planned()
        plan.show(timing.corrected(made, ratio), ratio, stderr=True)
        sweep_file.save(path, record, runs, made, sizes)
        return _train(made, runs, module, record, given)


def _measured(given: argparse.Namespace) -> "timing.Measured | None":
    """What runs of sweeps in this folder took on this machine."""
    from jaxeval import backend, runs
    from jaxeval.sweep import timing

    estimates = timing.recorded(Path(given.out))
    if not estimates:
        return None
    return timing.measured(runs.load(given.store or given.out), estimates, backend.describe())


def machine_of(prepared: "base.Prepared") -> "cohorts.Machine":
    """What time is made of here, for a corpus of so many padded widths."""
    import jax

    from jaxeval.sweep import cohorts

    return cohorts.Machine(
        len(jax.devices()),
        _RATES.get(jax.default_backend(), _ACCELERATOR),
        _COMPILE_SECONDS * len(prepared.read.corpus.buckets),
        prepared.config.training.lane_mode == "vmap",
    )


def _train(
    made: Sequence["cohorts.Cohort"],
    runs: Sequence["sweeping.Run"],
    module: Any,
    record: "runs_room.Experiment",
    given: argparse.Namespace,
) -> int:
    from jaxeval.experiment import running, sweeping
    from jaxeval.report.runs import summary, terminal
    from jaxeval.report.sweep import plan

    by_cohort = running.run_all(
        [sweeping.prepare(one, number, runs, module, record) for number, one in enumerate(made)],
        Path(given.out),
        given.store,
        again=given.again,
        announce=lambda number: plan.announce(number, made),
    )
    rows = [row for found in by_cohort for row in found]
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
