"""What scores depend on: `noise` (split, seed and machine) and `sensitivity` (hyperparameters)."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import cli, launchers, parameters
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Changes, Count, Natural, Positive, Quiet, Seeds
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    import numpy as np

    from jaxeval.config.reading import Source
    from jaxeval.report.noise import CrossedStudy, Noise
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.runs.scores import Scores
    from jaxeval.sensitivity.analysis import Contrast, Group
    from jaxeval.space import Space
    from jaxeval.studies.cohorts import Entry

_FEW = 2  # sweeps that have intervals and importance, which take seconds each
_RESAMPLES = 1000


@parameters.verb
def noise(
    config: "Source" = None,
    changes: Changes = (),
    *,
    by: Literal["seed,repeat", "split,seed"] = "seed,repeat",
    seeds: Seeds = 8,
    splits: Count | None = None,
    repeats: Count | None = None,
    precision: Positive | None = None,
    data: str | Path | None = None,
    out: str | Path = "runs",
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "Noise":
    """Splits the variance of scores into components, with intervals.

    --by seed,repeat trains every seed several times (Melis et al. 2018, section 7.2), since on a
    GPU the same seed may give different scores. --by split,seed trains every seed on every random
    split, and plans the runs that a given precision of the mean needs.

    Args:
      by: components of the variance.
      splits: number of random splits, with --by split,seed (default: 6).
      repeats: runs of each seed (default: 4), or of each seed on each split (default: 1).
      precision: with --by split,seed, half-width of the mean's 95 % interval to plan for; .01 is
        one point of F1 (default: the metric's margin).

    Examples:
      jaxeval noise CONFIG --data DIR --seeds 8 --repeats 4
      jaxeval noise CONFIG --data DIR --by split,seed --seeds 6 --precision 0.01
    """
    numbers, crossed = parameters.numbers(seeds), by == "split,seed"
    for name, value in {"splits": splits, "precision": precision}.items():
        if value is not None and not crossed:
            raise ConfigError(f"{argument(name, value)}: needs {argument('by', 'split,seed')}")
    count, each = repeats or (1 if crossed else 4), splits or 6
    if min(len(numbers), each if crossed else count) < 2:
        other = argument("splits") if crossed else argument("repeats")
        raise ConfigError(f"expected 2 or more {other} and 2 or more {argument('seeds')}")
    if len(numbers) * count * (each if crossed else 1) > parameters.MOST:
        raise ConfigError(f"{argument('seeds')}: expected at most {parameters.MOST} runs in all")
    launcher = launchers.prepare(launch)
    from jaxeval import observe, studies
    from jaxeval.report.noise import Noise
    from jaxeval.runs import metrics
    from jaxeval.stats.crossed import balanced
    from jaxeval.studies import prepared

    whole = studies.read(config, [*changes], data)
    trials = prepared.seeds_by_splits(
        whole, numbers, range(1, each + 1) if crossed else (0,), count
    )

    def check(entries: "Sequence[Entry]") -> None:
        metrics.refuse_points("precision", precision or 0.0, entries[0].record.unit)

    rows = observe.train(trials, Path(out), check=check, launcher=launcher, quiet=quiet)
    first = rows[0]
    parts: dict[str, CrossedStudy] = {}
    for part in ("dev", "test"):
        cells = [(row.split, row.seed, getattr(row, part)) for row in rows]
        table, dropped = balanced(*zip(*cells, strict=True))
        limits = metrics.bounds(first.metric, table, first.unit)
        aim = (precision or first.margin) if crossed else None
        parts[part] = _study(table, dropped, aim, limits)
    return Noise(first.metric, first.unit, parts, name=whole.name)


@parameters.verb
def noise_table(
    source: "str | Path | Any",
    *,
    model: str | None = None,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    precision: Positive | None = None,
) -> "Noise":
    """Splits the variance of recorded scores into split, seed and their interaction.

    Args:
      source: a table of scores from any program, or a runs folder.
      model: the model, if there are several.
      column: ROLE=NAME says which column is the model, seed, split, metric or status.
      precision: half-width of the mean's 95 % interval to plan for, in the unit of the scores.

    Examples:
      jaxeval noise table scores.csv --model A --precision 0.005
    """
    import numpy as np

    from jaxeval import sources
    from jaxeval.report.noise import Noise
    from jaxeval.runs import metrics
    from jaxeval.stats import failures, samples
    from jaxeval.stats.crossed import balanced

    named = [] if model is None else [model]
    layout = sources.layout(column, score, metric, missing, single=True)
    scores, _ = sources.scores([source, *named], layout)
    unit = scores.stored_unit
    metrics.refuse_points("precision", precision or 0.0, unit)
    table, dropped = balanced(*_cells(scores, model))
    models = scores.data_sets[0].models.values()
    every = np.concatenate([each.scores[0, each.finished, 0] for each in models])
    limits = metrics.bounds(scores.metric, every, unit)
    label = f"{scores.metric or 'score'} of {model or scores.models[0]}"
    if not named and scores.metric in ("", scores.models[0]):  # there is no column of models
        label = scores.models[0]
    parts = {"score": _study(table, dropped, precision, limits)}
    fallen = failures.collapsed(scores, samples.samples(scores, "row"))
    return Noise(label, unit, parts, [*fallen, *scores.warnings])


def _cells(scores: "Scores", model: str | None) -> tuple[list[str], list[str], list[float | None]]:
    """Split, seed and score of each run of a model."""
    expected = "expected every seed on every split"
    if scores.overlap:
        advice = "if all repeats have the same folds, name their column seed"
        several = f"several cross-validations, whose folds differ; {advice}"
        raise DataError(f"{expected}, found {several}", scores.source)
    for axis in ("split", "seed"):
        if axis not in scores.labels:
            named = f"{argument('column', {axis: 'NAME'})} names a column"
            raise DataError(f"no column {axis}; {expected} ({named})", scores.source)
    if len(scores.data_sets) > 1:
        said = f"{len(scores.data_sets)} data sets; {argument('column', {'dataset': 'NAME'})}"
        raise DataError(f"{said}: expected one", scores.source)
    if model is None and len(scores.models) > 1:
        listed = ", ".join(scores.models)
        raise DataError(f"expected {argument('model')} with one of {listed}", scores.source)
    runs = scores.data_sets[0].models[model or scores.models[0]]
    splits, seeds = (runs.labels[axis][runs.finished].tolist() for axis in ("split", "seed"))
    return splits, seeds, runs.scores[0, runs.finished, 0].tolist()


def _study(
    table: "np.ndarray",
    dropped: Sequence[str],
    precision: float | None,
    limits: tuple[float, float] | None,
) -> "CrossedStudy":
    """The components of the variance, and a plan where a precision is known; limits of a mean."""
    from jaxeval.report.noise import CrossedStudy
    from jaxeval.stats import crossed

    found = crossed.components(table)
    varies = found.total.sd > 0  # equal scores say nothing of what others would be
    plan = crossed.plan(found, precision) if precision and varies else None
    if limits is not None:
        found = dataclasses.replace(found, mean_interval=found.mean_interval.clip(*limits))
    return CrossedStudy(found, dropped, plan)


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

    Computes the metrics of Wiemerslage et al. (2024) for random sweeps: how close other runs come
    to the best, how many are within .01 of it, and how the score varies with each hyperparameter.
    With two sweeps it also compares them. With --by it averages sweeps over data sets. Sweeps that
    jaxeval recorded need no options: their space is known.

    Args:
      sources: tables with one row per run (CSV, TSV, JSON, Parquet), or runs folders.
      score: column of scores, as fractions (default: score; in a runs folder: dev).
      hyperparameters: columns of hyperparameters (default: all of the space).
      space: the search space that the tables were drawn from (TOML).
      by: labels that define groups of sweeps: columns with one value, keys of recorded configs,
        and part1, part2 .. of a file name split at dashes.
      over: label to average over in each group (default with --by: dataset).
      missing: what to do with missing scores: stop with an error, leave them out, or count them
        as 0, as scores of failed runs.
      resamples: bootstrap samples for intervals (default: 1000 for one or two sweeps, else 0).

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
