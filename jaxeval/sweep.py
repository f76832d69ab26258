"""Random sweeps, and what they say of an architecture: the verbs `sweep` and `sensitivity`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval import cli, launchers, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Changes, Count, Natural, Quiet
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.report.sweeps import SweepPlan
    from jaxeval.results import Runs
    from jaxeval.sensitivity.analysis import Contrast, Group
    from jaxeval.space import Space

_FEW = 2  # sweeps that have intervals and importance, which take seconds each
_RESAMPLES = 1000


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
    """Trains settings drawn at random from a search space, in few compiled programs.

    Runs whose shapes can share a compiled program are one population, padded to one size. The same
    command continues an interrupted sweep; with more --trials it extends it.

    Args:
      trials: number of runs; run k has seed k.
      programs: maximum number of compiled programs, whatever padding costs.

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
        jobs = None
        if launcher is not None:
            jobs = launching.describe(drawn.cohorts(estimates), launcher)
        return plan(estimates, values, jobs, findings.warnings)
    with running.locked(drawn.folder, drawn.record.id):
        estimates = drawn.estimates(programs)
        if not quiet:
            render.to_terminal(plan(estimates).document(), stderr=True)
        drawn.save(estimates)
        how: Any = {"session": drawn.session, "launcher": launcher}
        planned = drawn.cohorts(estimates)
        rows = observe.train_cohorts(planned, drawn.folder, quiet=quiet, **how)
    lost = " --missing zero" if any(row.dev is None for row in rows) else ""
    return results.trained(rows, out, f"next: jaxeval sensitivity {out}{lost}")


@parameters.verb
def sensitivity(
    *sources: str | Path,
    score: str | None = None,
    hyperparameters: Sequence[str] = (),
    space: "str | Path | Mapping[str, object] | Space | None" = None,
    by: Sequence[str] = (),
    over: str | None = None,
    missing: Missing = "error",
    resamples: Natural | None = None,
    seed: Natural = 0,
) -> "Sensitivity":
    """Measures how much the score of an architecture depends on its hyperparameters.

    Computes the metrics of Wiemerslage et al. (2024) for random sweeps: how close the other runs
    come to the best, how many are within .01 of it, and how the score varies with each
    hyperparameter. Two sweeps are compared. With --by, sweeps are averaged over data sets.
    Recorded sweeps need no options: their space is known.

    Args:
      sources: tables with one row per run (CSV, TSV, JSON, Parquet), or runs folders.
      score: column of fractions (score; dev in a sweep of a runs folder).
      hyperparameters: columns of hyperparameters (all of the space).
      space: the space that tables were drawn from: ranges, orders, conditions.
      by: labels that define groups of sweeps: columns with one value, keys of recorded configs,
        and part1, part2 .. of a file name split at dashes.
      over: label to average over in each group (dataset, with --by).
      missing: how to treat missing scores; zero: a failed run scored 0.
      resamples: bootstrap samples for intervals (1000 for one or two sweeps, none for more).

    Examples:
      jaxeval sensitivity RUNS --save figures
      jaxeval sensitivity lstm.tsv transformer.tsv --score acc --space space.toml
      jaxeval sensitivity dutch-lstm.tsv dutch-gru.tsv irish-lstm.tsv irish-gru.tsv \\
          --by part2 --over part1 --hyperparameters batch_size,hidden_size --missing zero
    """
    if not sources:
        raise ConfigError("expected tables or runs folders")
    from jaxeval import space as spaces
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.sensitivity import analysis, trials

    known = None if space is None else spaces.load(space)[0]
    request = trials.Request(score, hyperparameters, known, missing)
    with cli.waiting("reading the sweeps, and resampling them for intervals"):
        read = trials.read([*map(str, sources)], request)
        count = _RESAMPLES if len(read) <= _FEW else 0
        count = count if resamples is None else resamples
        analyses = [  # two sweeps are drawn apart
            analysis.analyze(of.scores, of.axes, name=of.name, resamples=count, seed=seed + k)
            for k, of in enumerate(read)
        ]
        important = {of.name: trials.importance(of) for of in read if len(read) <= _FEW}
    gaps = analysis.difference(*analyses) if len(analyses) == _FEW else {}
    averaged: tuple[list[Group], list[Contrast]] = [], []
    if by or over is not None:
        over = over or "dataset"
        values = {each.name: each.values for each in analyses}
        labels = {sweep.name: sweep.labels for sweep in read}
        averaged = analysis.average(values, labels, by, over)
    return Sensitivity(analyses, gaps, over or "", *averaged, read, important)
