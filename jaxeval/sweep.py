"""`jaxeval sweep`: a random sweep of hyperparameters, as few compiled programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, launchers, parameters, parsers
from jaxeval.parameters import Changes, Count, Natural, Quiet

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.plans import SweepPlan
    from jaxeval.results import Runs
    from jaxeval.space.space import Space


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
    store: str | None = None,
    again: bool = False,
    launch: str = launchers.HERE,
    dry_run: bool = False,
    quiet: Quiet = False,
) -> "Runs | SweepPlan":
    """Draws runs from a search space, and trains them in as few compiled programs as pay.

    Runs whose shapes can share a compiled program are one population, padded to its size. The same
    command continues what was interrupted; with more --trials it goes on where it ended.

    Args:
      trials: how many runs are drawn; run k has seed k.
      seed: of the draws.
      programs: compiled programs at most, whatever padding costs.

    Examples:
      jaxeval sweep wiemerslage2024/georgian_transformer_small \\
          --space wiemerslage2024/space_transformer_small --data DIR
      jaxeval sweep CONFIG --space FILE --data DIR --trials 200 --dry-run   # the plan
      jaxeval sensitivity runs               # what the sweep says of the architecture
    """
    backend.prepare()
    launcher = launchers.parse(launch)
    from jaxeval import observe, results
    from jaxeval.report.plans import SweepPlan
    from jaxeval.space import space as spaces
    from jaxeval.studies import launching, sweeps

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
        return SweepPlan(values, estimates, findings.warnings, jobs)
    more = {"again": again, "quiet": quiet}
    rows = observe.sweep(drawn, store, programs, launcher=launcher, **more)
    lost = " --missing zero" if any(row.dev is None for row in rows) else ""
    place = store or out
    return results.trained(rows, place, f"next: jaxeval sensitivity {place}{lost}")


COMMANDS: parsers.Commands = {"": sweep}
