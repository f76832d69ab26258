"""`python -m jaxeval.neighbourhood`: random settings near a config's, as one population."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from jaxeval import parameters, parsers
from jaxeval.config import markers
from jaxeval.config.markers import Range
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Changes, Count, Natural, NonNegative, Number, Quiet

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.sweep.neighbourhood import Neighbourhood, Trend

_LEAST = 5  # scores; with fewer nothing can be said of a trend


@parameters.verb
def neighbourhood(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    settings: Count = 64,
    width: Annotated[float, Number(1e-6, 1)] = 0.2,
    within: NonNegative | None = None,
    range: Mapping[str, str] | None = None,
    part: Literal["dev", "test"] = "dev",
    seed: Natural = 1,
    quiet: Quiet = False,
) -> "Neighbourhood":
    """Trains random settings near that of a config, as one population and one compilation.

    Each traced hyperparameter (learning rate, decay, dropout rates ...) is drawn from an interval
    of --width times its range around the config's value (Melis et al. 2018, section 7.3). Shows
    the score against each of them, and the share of settings near the best.

    Ranges (the authors did not publish theirs): learning rates .0001 to .1 and l2 1e-7 to .001,
    both logarithmic; dropout rates 0 to .9. A value of 0 of l2 stays 0.

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      settings: how many are drawn.
      width: of each interval, as a share of the range.
      within: what is near the best (the metric's equivalence margin).
      range: LOW:HIGH or LOW:HIGH:log of a hyperparameter.
      part: whose scores are compared.
      seed: of the settings drawn.
      quiet: without progress.

    Examples:
      python -m jaxeval.neighbourhood CONFIG --data DIR --settings 64 --save figures
      python -m jaxeval.neighbourhood CONFIG --width 0.15 --range learning_rate=0.001:0.01:log

    Raises:
      ConfigError, DataError, RunError: of the config, the ranges, the data.
    """
    if settings < _LEAST:
        raise ConfigError(f"{argument('settings', settings)}: expected at least {_LEAST}")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.report.sweep.neighbourhood import Neighbourhood
    from jaxeval.runs import metrics
    from jaxeval.studies import cohorts, proposers

    place = None if data is None else str(data)
    whole = studies.read(config, parameters.changed_keys(changes), place)
    active = {name: h for name, h in markers.traced(whole).items() if h.active}
    # every draw depends on those before it: of language models, sites stand among the others
    prefix = "dropout_" if whole.task == "language" else ""
    traced = {name: active[name] for name in sorted(active, key=lambda n: n.removeprefix(prefix))}
    ranges = ranges_of(traced, range or {})
    centre = {name: h.value for name, h in traced.items()}
    drawn = draw(centre, ranges, width, settings, seed)
    session = studies.Session()
    entries = cohorts.entries(proposers.neighbourhood(whole, drawn), session.loader)
    first = entries[0].record
    metrics.refuse_points("within", within or 0.0, first.unit)
    programs = cohorts.by_program(entries)
    rows = observe.train_cohorts(programs, Path(out), session=session, quiet=quiet)
    return Neighbourhood(
        metric=first.metric,
        part=part,
        width=width,
        unit=first.unit,
        ranges=ranges,
        **describe(
            [getattr(row, part) for row in rows],
            drawn,
            first.margin if within is None else within,
            first.higher_is_better,
        ),
    )


def ranges_of(
    traced: Mapping[str, markers.Hyperparameter], asked: Mapping[str, str]
) -> dict[str, Range]:
    """The range of each hyperparameter that is varied.

    Args:
      traced: all that may be varied.
      asked: LOW:HIGH or LOW:HIGH:log by name, before the defaults.

    Raises:
      ConfigError: no such hyperparameter, no range, or values that it cannot have.
    """
    ranges = {name: of.marker.range for name, of in traced.items()}
    for name, text in asked.items():
        said, parts = argument("range", {name: text}), text.split(":")
        if name not in traced:
            raise ConfigError(f"{said}: expected one of {', '.join(traced)}")
        try:
            low, high = map(float, parts[:2])
        except ValueError:
            low = high = math.nan
        if not (low < high and math.isfinite(high - low) and parts[2:] in ([], ["log"])):
            raise ConfigError(f"{said}: expected LOW:HIGH or LOW:HIGH:log, with LOW below HIGH")
        if parts[2:] and low <= 0:
            raise ConfigError(f"{said}: log needs numbers above 0")
        limits = traced[name].marker.limits
        if not (limits.allow(low) and limits.allow(high)):
            raise ConfigError(f"{said}: expected {limits}")
        ranges[name] = Range(low, high, bool(parts[2:]))
    return {
        name: span
        for name, span in ranges.items()
        if span is not None and (name in asked or not (span.log and traced[name].value == 0))
    }


def draw(
    centre: Mapping[str, float], ranges: Mapping[str, Range], width: float, count: int, seed: int
) -> list[dict[str, float]]:
    """Random settings around one.

    Each hyperparameter is drawn evenly from an interval of `width` times its range, with the
    centre's value in its middle, and cut off where the range ends. The k-th setting does not
    depend on how many there are.

    Raises:
      ConfigError: a centre outside its range.
    """
    for name, span in ranges.items():
        if not span.low <= centre[name] <= span.high:
            raise ConfigError(
                f"{name}: {centre[name]:g} is not between {span.low:g} and {span.high:g}; "
                "give it another range"
            )
    generator, settings = np.random.default_rng(seed), []
    for _ in [None] * count:
        setting = {}
        for name, span in ranges.items():
            middle = span.to_unit(centre[name])
            low, high = max(0.0, middle - width / 2), min(1.0, middle + width / 2)
            setting[name] = span.from_unit(generator.uniform(low, high))
        settings.append(setting)
    return settings


def describe(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    within: float,
    higher_is_better: bool,
) -> dict:
    """The numbers of a `Neighbourhood`, by field.

    The best is near itself: only the others are a sample, of settings that score no better.

    Args:
      scores: None where a setting failed.

    Raises:
      DataError: fewer than 5 scores.
    """
    from scipy import stats

    kept = [k for k, score in enumerate(scores) if score is not None]
    values = np.array([scores[k] for k in kept], float)
    if len(values) < _LEAST:
        raise DataError(f"neighbourhood: expected at least {_LEAST} scores, found {len(values)}")
    low, high = float(values.min()), float(values.max())
    best, worst = (high, low) if higher_is_better else (low, high)
    # .9 - .89 is above .01: differences that single precision does not tell are equal. Decimals
    # do not say that, as those of a ROPE do: scores may have any unit
    slack = np.finfo(np.float32).eps * np.maximum(np.abs(values), abs(best))
    near, others = int(np.sum(np.abs(values - best) <= within + slack)) - 1, len(scores) - 1
    interval = stats.binomtest(near, others).proportion_ci(method="wilson")
    return {
        "settings": len(scores),
        "failed": len(scores) - len(kept),
        "best": best,
        "median": float(np.median(values)),
        "worst": worst,
        "sd": float(np.std(values, ddof=1)),
        "within": within,
        "near": near,
        "share": near / others,
        "share_interval": (float(interval.low), float(interval.high)),
        "trends": _trends([settings[k] for k in kept], values),
        "points": [{"score": s, **of} for s, of in zip(scores, settings, strict=True)],
    }


def _trends(settings: Sequence[Mapping[str, float]], values: np.ndarray) -> "list[Trend]":
    """Of each hyperparameter that was varied; none if all scores are equal."""
    from jaxeval.report.sweep.neighbourhood import Trend
    from jaxeval.stats.multiple import adjust_p_values
    from jaxeval.stats.ranks import spearman

    columns = {name: np.array([setting[name] for setting in settings]) for name in settings[0]}
    varied = {name: of for name, of in columns.items() if np.ptp(of) > 0 and np.ptp(values) > 0}
    found = [spearman(column, values) for column in varied.values()]
    adjusted = [*adjust_p_values([p for _, p in found])] if found else []
    return [
        Trend(name, float(column.min()), float(column.max()), rho, float(p))
        for (name, column), (rho, _), p in zip(varied.items(), found, adjusted, strict=True)
    ]


COMMANDS: parsers.Commands = {"": neighbourhood}

if __name__ == "__main__":
    parsers.start("neighbourhood", COMMANDS)
