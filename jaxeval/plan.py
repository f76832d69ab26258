"""`jaxeval plan`: how many items, answers or runs show a difference of two models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import parameters, parsers
from jaxeval.errors import ConfigError, DataError
from jaxeval.parameters import Positive, Probability
from jaxeval.runs.layout import Layout, Mismatched, Missing

if TYPE_CHECKING:
    from jaxeval.report.plans import Planned
    from jaxeval.runs.scores import Scores
    from jaxeval.stats.items.pilots import Spread
    from jaxeval.stats.items.planning import Plan


@parameters.verb
def plan(
    *, difference: Positive, sd: Positive, power: Probability = 0.8, alpha: Probability = 0.05
) -> "Planned":
    """Plans how many items show a difference of two models, one run each.

    Args:
      difference: that is to be shown, in the scores' own unit: .01 is a point of accuracy.
      sd: standard deviation of the difference of the two models' scores of an item.
      power: probability to show it.
      alpha: level of the test.

    Examples:
      jaxeval plan --difference 0.03 --sd 0.33333
      jaxeval plan logs logs --difference 0.02 --model new --minus old --metric acc
    """
    from jaxeval.report.plans import Planned
    from jaxeval.stats.items import pilots, planning

    spread = pilots.Spread(sd**2)
    found = planning.plan(difference, spread, pilots.Size(2), power=power, alpha=alpha)
    return Planned(found, spread)


@parameters.verb
def plan_logs(
    *logs: str,
    difference: Positive,
    model: str,
    minus: str,
    power: Probability = 0.8,
    alpha: Probability = 0.05,
    task: Sequence[str] = (),
    metric: str | None = None,
    column: Mapping[str, str] | None = None,
    cluster: str | None = None,
    missing: Missing = "error",
    mismatched: Mismatched = "error",
    lower_is_better: bool | None = None,
) -> "Planned":
    """Plans how many items, answers or runs show a difference; logs of both models are a pilot.

    Args:
      logs: of evaluations, as of `compare logs`.
      difference: that is to be shown, in the scores' own unit: .01 is a point of accuracy.
      model, minus: the two models.
      power: probability to show it.
      alpha: level of the test.
      task, metric: of logs of several.
      column: role=key of JSON lines of predictions.
      cluster: items with the same value of this key belong together.
      missing, mismatched: as of `compare logs`.
      lower_is_better: lower scores are better.
    """
    from jaxeval.runs.logs import finding

    both = (model, minus)
    higher = None if lower_is_better is None else not lower_is_better
    asked = Layout(column or {}, both, metric, missing, higher, cluster or "", task, mismatched)
    return _of_pilot(finding.read(logs, asked), model, minus, difference, power, alpha)


@parameters.verb
def plan_items(
    file: str | Path,
    *,
    difference: Positive,
    model: str,
    minus: str,
    power: Probability = 0.8,
    alpha: Probability = 0.05,
    column: Mapping[str, str] | None = None,
) -> "Planned":
    """Plans how many items or runs show a difference of accuracies; predictions are a pilot.

    Args:
      file: a row an item of a run, as of `compare items`.
      difference: that is to be shown: .01 is a point of accuracy.
      model, minus: the two models.
      power: probability to show it.
      alpha: level of the test.
      column: role=name of columns with other names.
    """
    from jaxeval.runs import items

    read = items.read(file, (model, minus), None, column)
    return _of_pilot(read.items, model, minus, difference, power, alpha)


def _of_pilot(
    scores: "Scores", model: str, minus: str, difference: float, power: float, alpha: float
) -> "Planned":
    from jaxeval.report.plans import Planned
    from jaxeval.runs import metrics
    from jaxeval.stats.items import completeness, pilots, planning

    if model == minus:
        raise ConfigError(f"expected two models, found {model!r} twice")
    data_sets, counts = completeness.prepare(scores.only([model, minus]))
    if len(data_sets) > 1:
        names = ", ".join(data.name for data in data_sets)
        raise DataError(f"several data sets ({names}); expected one", scores.source)
    data = data_sets[0]
    metrics.refuse_points("difference", difference, data.stored_unit)
    a, b = (data.models[name].scores for name in (model, minus))
    pilot = pilots.pilot(a, b, clusters=data.clusters)

    def planned(of: "Spread") -> "Plan":
        return planning.plan(difference, of, pilot.size, power=power, alpha=alpha)

    return Planned(
        *(planned(pilot.spread), pilot.spread, pilot, planned(pilot.low) if pilot.low else None),
        *(planned(pilot.high), (a.shape[1], b.shape[1])),
        warnings=(*scores.warnings, *completeness.warnings(counts[0])),
    )


COMMANDS: parsers.Commands = {"": plan, "logs": plan_logs, "items": plan_items}
