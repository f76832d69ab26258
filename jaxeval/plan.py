"""`jaxeval plan`: plans how many items, answers or runs show a difference of two models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import parameters
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
      difference: difference to be shown, in the unit of the scores: .01 is a point of accuracy.
      sd: standard deviation over items of the difference of the models' scores.
      power: probability to show the difference.

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
    """Plans how many items, answers or runs show a difference, from logs of both models.

    Args:
      logs: logs of evaluations, as in `compare logs`.
      difference: difference to be shown, in the unit of the scores: .01 is a point of accuracy.
      model, minus: the two models.
      power: probability to show the difference.
      task, metric: of logs with several.
      column: ROLE=KEY of JSON lines of predictions.
      cluster: key of items that belong together.
      missing, mismatched: as in `compare logs`.
    """
    from jaxeval.runs import logs as evaluations

    both = (model, minus)
    higher = None if lower_is_better is None else not lower_is_better
    asked = Layout(column or {}, both, metric, missing, higher, cluster or "", task, mismatched)
    return _of_pilot(evaluations.read(logs, asked), model, minus, difference, power, alpha)


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
    """Plans how many items or runs show a difference of accuracies, from predictions.

    Args:
      file: predictions, as in `compare items`.
      difference: difference to be shown: .01 is a point of accuracy.
      model, minus: the two models.
      power: probability to show the difference.
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

    ends = planned(pilot.low) if pilot.low else None, planned(pilot.high)
    warnings = (*scores.warnings, *completeness.warnings(counts[0]))
    sizes = a.shape[1], b.shape[1]
    return Planned(planned(pilot.spread), pilot.spread, pilot, *ends, sizes, warnings=warnings)
