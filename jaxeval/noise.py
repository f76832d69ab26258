"""`jaxeval noise`: how much of the spread is the split's, the seed's, the machine's."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import parameters, parsers
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Changes, Count, Positive, Quiet, Seeds
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.noise import Noise, Study
    from jaxeval.runs.scores import Scores
    from jaxeval.stats import nested


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
    quiet: Quiet = False,
) -> "Noise":
    """Splits the spread of scores into its parts, with intervals.

    By seed,repeat every seed is trained several times (Melis et al. 2018, section 7.2): on a GPU,
    which may add up in another order each time, the same seed gives other scores. By split,seed
    every seed is trained on every random split; then it says what to train for a precision of the
    mean. The same command continues what was interrupted.

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      by: the parts of the variance: seed,repeat or split,seed.
      seeds: N for seeds 1 .. N, or a list such as 3,5,8.
      splits: random splits 1 .. N, by split,seed (6).
      repeats: runs of each seed (4; by split,seed 1, of each on each split).
      precision: by split,seed half of the mean's 95 % interval to plan for, in the scores' own
        unit: .01 is a point of F1 (the metric's equivalence margin).
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      quiet: without progress.

    Examples:
      jaxeval noise CONFIG --data DIR --seeds 8 --repeats 4
      jaxeval noise CONFIG --data DIR --by split,seed --seeds 6 --precision 0.01
      jaxeval noise table scores.csv --model A --minus B --precision 0.005

    Raises:
      ConfigError, DataError, RunError: of the config, the data, or runs without scores.
    """
    numbers, crossed = parameters.numbers(seeds), by == "split,seed"
    for name, value in {"splits": splits, "precision": precision}.items():
        if value is not None and not crossed:
            raise ConfigError(f"{argument(name, value)}: goes with {argument('by', 'split,seed')}")
    count, each = repeats or (1 if crossed else 4), splits or 6
    if min(len(numbers), each if crossed else count) < 2:
        other = argument("splits") if crossed else argument("repeats")
        raise ConfigError(f"expected 2 or more {other} and 2 or more {argument('seeds')}")
    if len(numbers) * count * (each if crossed else 1) > parameters.MOST:
        raise ConfigError(f"{argument('seeds')}: expected at most {parameters.MOST} runs in all")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.report.noise import Noise
    from jaxeval.runs import metrics
    from jaxeval.stats import nested
    from jaxeval.studies import cohorts, proposers

    words = parameters.changed_keys(changes)
    whole = studies.read(config, words, None if data is None else str(data))
    among = range(1, each + 1) if crossed else (0,)
    trials = proposers.crossed(whole, numbers, among, count)
    session = studies.Session()
    entries = cohorts.entries(trials, session.loader)
    first = entries[0].record
    metrics.refuse_points("precision", precision or 0.0, first.unit)
    programs = cohorts.by_program(entries)
    rows = observe.train_cohorts(programs, Path(out), session=session, quiet=quiet)
    parts: dict[str, nested.Noise | Study] = {}
    left_out = []
    for part in ("dev", "test"):
        scores = [getattr(row, part) for row in rows]
        if crossed:
            table = nested.balanced(
                [row.split for row in rows], [row.seed for row in rows], scores
            )
            limits = metrics.bounds(first.metric, table.scores, first.unit)
            parts[part] = _studied(table, precision or first.margin, limits)
            continue
        by_seed = [
            [s for s, row in zip(scores, rows, strict=True) if row.seed == k] for k in numbers
        ]
        whole = [of for of in by_seed if None not in of]
        if len(whole) < 2:
            raise DataError(f"noise: {len(whole)} seeds have scores of all their runs; 2 needed")
        parts[part] = nested.noise(whole)
        if lost := len(by_seed) - len(whole):
            left_out.append(f"{part}: {lost} seeds left out, a run of each has no score")
    return Noise(first.metric, first.unit, parts, left_out)


@parameters.verb
def noise_table(
    source: "str | Path | Any",
    *,
    model: str | None = None,
    minus: str | None = None,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    precision: Positive | None = None,
) -> "Noise":
    """Splits the spread of recorded scores into the split's part, the seed's and both together's.

    Args:
      source: a table of scores of any program, a runs folder or a database URL.
      model: where there are several.
      minus: another model: its score with the same seed on the same split is subtracted.
      score: column of scores (score; test of a runs folder).
      column: ROLE=NAME, which column is model, seed, split, metric or status.
      metric: only rows of this metric.
      missing: what to do with a score that is missing, no number or infinite.
      precision: half of the mean's 95 % interval to plan for, in the scores' own unit.

    Examples:
      jaxeval noise table scores.csv --model A --minus B --precision 0.005
    """
    if minus is not None and model in (None, minus):
        asked = argument("minus", minus)
        raise ConfigError(f"{asked}: expected another model in {argument('model')} beside it")
    import numpy as np

    from jaxeval import sources
    from jaxeval.report.noise import Noise
    from jaxeval.runs import metrics
    from jaxeval.stats import nested

    layout = sources.layout(column, score, metric, missing)
    named = [name for name in (model, minus) if name is not None]
    scores, _ = sources.scores([source, *named], layout)
    metrics.refuse_points("precision", precision or 0.0, scores.stored_unit)
    table = nested.balanced(*_cells(scores, model, minus))
    models = scores.data_sets[0].models.values()
    every = np.concatenate([of.scores[0, of.finished, 0] for of in models])
    limits = metrics.bounds(scores.metric, every, scores.stored_unit)
    if limits is not None and minus is not None:
        limits = limits[0] - limits[1], limits[1] - limits[0]
    parts = {"score": _studied(table, precision, limits)}
    metric = f"{scores.metric or 'score'} of {' - '.join(named or scores.models[:1])}"
    return Noise(metric, scores.stored_unit, parts, scores.warnings)


def _cells(
    scores: "Scores", model: str | None = None, minus: str | None = None
) -> tuple[list[str], list[str], list[float | None]]:
    """The scores of a model by split and seed, or of one minus another; None: one is missing.

    Raises:
      DataError: no such model, several data sets, or no columns split and seed.
    """
    for axis in ("split", "seed"):
        if axis not in scores.labels:
            asked = argument("column", {axis: "NAME"})
            named = f"name it with {asked}, every seed on every split"
            raise DataError(f"no column {axis}; {named}", scores.source)
    if len(scores.data_sets) > 1:
        said = f"{len(scores.data_sets)} data sets; {argument('column', {'dataset': 'NAME'})}"
        raise DataError(f"{said}: expected one", scores.source)
    if model is None and len(scores.models) > 1:
        listed = ", ".join(scores.models)
        raise DataError(f"expected {argument('model')} with one of {listed}", scores.source)

    def by_cell(name: str) -> dict[tuple[str, str], float]:
        of = scores.data_sets[0].models[name]
        cells = zip(*(of.labels[axis][of.finished] for axis in ("split", "seed")), strict=True)
        return dict(zip(cells, of.scores[0, of.finished, 0].tolist(), strict=True))

    first = by_cell(model or scores.models[0])
    other = dict.fromkeys(first, 0.0) if minus is None else by_cell(minus)
    cells = [*dict.fromkeys([*first, *other])]
    found = [first[of] - other[of] if of in first and of in other else None for of in cells]
    return [split for split, _ in cells], [seed for _, seed in cells], found


def _studied(
    table: "nested.Balanced", precision: float | None, limits: tuple[float, float] | None
) -> "Study":
    """The components, and a plan where a precision is known; `limits` of what a mean can be."""
    from jaxeval.report.noise import Study
    from jaxeval.stats import crossed, nested
    from jaxeval.stats.results import within

    of = crossed.components(table.scores)
    varies = of.total.sd > 0  # equal scores say nothing of what others would be
    plan = nested.plan(of, precision) if precision and varies else None
    if limits is not None:
        of = dataclasses.replace(of, mean_interval=within(of.mean_interval, *limits))
    return Study(of, table.dropped, plan)


COMMANDS: parsers.Commands = {"": noise, "table": noise_table}
