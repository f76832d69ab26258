"""`jaxeval sensitivity`: how much a score depends on the hyperparameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import parameters, parsers
from jaxeval.errors import ConfigError
from jaxeval.parameters import Natural, NonNegative
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.sensitivity.groups import Contrast, Group
    from jaxeval.space.space import Space

_FEW = 2  # sweeps that are put side by side, with intervals: those of each take seconds
_RESAMPLES = 1000


@parameters.verb
def sensitivity(
    *sources: str,
    score: str | None = None,
    hyperparameters: Sequence[str] = (),
    log_scale: Sequence[str] = (),
    space: "str | Path | Mapping[str, object] | Space | None" = None,
    by: Sequence[str] = (),
    over: str | None = None,
    rope: NonNegative = 0.01,
    missing: Missing = "error",
    resamples: Natural | None = None,
    seed: Natural = 0,
) -> "Sensitivity":
    """Says how much the score of an architecture depends on its hyperparameters.

    Computes the metrics of Wiemerslage et al. (2024) for random sweeps: how near to the best the
    other runs come, how many are as good, how the score goes with each hyperparameter. Two sweeps
    are put side by side; any number are averaged over datasets, for each architecture. Sweeps that
    jaxeval recorded need no flags: their space says what was drawn, in which order and when.

    Args:
      sources: tables with a row a run (CSV, TSV, JSON, Parquet), or runs folders.
      score: column of fractions (score; dev in a sweep of a runs folder).
      hyperparameters: columns (all of the space).
      log_scale: drawn evenly in the logarithm, where no space says so.
      space: what tables were drawn from: columns, ranges, orders, conditions.
      by: labels that tell groups of sweeps apart: columns of one value, keys of recorded configs,
        and part1, part2 .. of a file's name, which dashes part.
      over: label to average over in each group (dataset, if --by is given).
      rope: equivalence margin of two scores.
      missing: what to do with a missing score; zero: a run that failed scored 0.
      resamples: of the intervals of a sweep (1000 for one or two sweeps, none for more).
      seed: of the resamples.

    Examples:
      jaxeval sensitivity RUNS --save figures
      jaxeval sensitivity lstm.tsv transformer.tsv --score acc --space space.toml
      jaxeval sensitivity dutch-lstm.tsv dutch-gru.tsv irish-lstm.tsv irish-gru.tsv \\
          --by part2 --over part1 --hyperparameters batch_size,hidden_size --missing zero

    Raises:
      ConfigError, DataError, RunError: of what is read.
    """
    if not sources:
        raise ConfigError("expected tables or runs folders")
    from jaxeval import cli
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.sensitivity import analysis, groups, trials
    from jaxeval.space import space as spaces

    known = None if space is None else spaces.load(space)[0]
    request = trials.Request(score, hyperparameters, known, log_scale, missing)
    with cli.waiting("reading the sweeps, and resampling them for intervals"):
        read = trials.read([*map(str, sources)], request)
        count = _RESAMPLES if len(read) <= _FEW else 0
        count = count if resamples is None else resamples
        analyses = [  # two sweeps are drawn apart
            analysis.analyze(
                of.scores, of.axes, name=of.name, rope=rope, resamples=count, seed=seed + number
            )
            for number, of in enumerate(read)
        ]
    gaps = analysis.difference(*analyses) if len(analyses) == _FEW else {}
    averaged: tuple[list[Group], list[Contrast]] = [], []
    if by or over is not None:
        over = over or "dataset"
        values = {each.name: each.values for each in analyses}
        labels = {sweep.name: sweep.labels for sweep in read}
        averaged = groups.average(values, labels, by, over)
    return Sensitivity(analyses, gaps, over or "", *averaged, read)


COMMANDS: parsers.Commands = {"": sensitivity}
