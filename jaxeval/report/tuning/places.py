"""Where values of hyperparameters stand in figures of a search, and how they are written."""

import math
from typing import Any

import numpy as np

from jaxeval.report import plots
from jaxeval.sensitivity import hyperparameters
from jaxeval.space import distributions
from jaxeval.space.space import Parameter


def in_range(parameter: Parameter, value: Any) -> float:
    """Where a value stands in its range, from 0 to 1."""
    of = parameter.distribution
    if isinstance(of, distributions.Choices):
        return of.in_order.index(value) / max(1, len(of.values) - 1)
    low, high, number = of.low, of.high, value
    if isinstance(of, distributions.LogUniform | distributions.LogInteger):
        low, high, number = math.log(low), math.log(high), math.log(value)
    return (number - low) / (high - low) if high > low else 0.5


def on_axis(parameter: Parameter, value: Any) -> float:
    """Where a value stands on its axis: a number, or the place among the choices."""
    of = parameter.distribution
    numbers = hyperparameters.scale(of).categories is None
    if numbers or not isinstance(of, distributions.Choices):
        return float(value)
    return float(of.in_order.index(value))


def shown(value: Any) -> str:
    return plots.literal(f"{value:.3g}" if isinstance(value, float) else str(value))


def name(parameter: Parameter) -> str:
    """A name as a label, with its scale where that is logarithmic."""
    log = " (log)" if hyperparameters.scale(parameter.distribution).log else ""
    return plots.literal(parameter.name + log)


def labels(parameter: Parameter) -> tuple[str, str, dict[float, str]]:
    """Of the ends of a range, and of the choices between them by where they stand."""
    of = parameter.distribution
    if isinstance(of, distributions.Choices):
        first, *between = of.in_order[:-1] or of.in_order
        heights = {in_range(parameter, value): shown(value) for value in between}
        return shown(first), shown(of.in_order[-1]), heights
    low, high = (shown(of.at(q)) for q in (0.0, np.nextafter(1.0, 0.0)))
    return low, high, {}
