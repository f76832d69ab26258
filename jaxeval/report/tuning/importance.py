"""The importance of each hyperparameter and the neighbourhood of the best setting, for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import plots, scores, text
from jaxeval.report.figures import Figure
from jaxeval.report.tuning import progress
from jaxeval.report.tuning.as_json import Result

CAPTION = (
    "Sobol indices of the process's posterior over the whole space: the bar is the share of the "
    "objective's variance that a hyperparameter explains with all its interactions (total), the "
    "diamond what it explains by itself (first order). Lines are the spread over draws of the "
    "posterior (2.5 to 97.5 % quantiles). It is no confidence interval: the process expects "
    "interactions, so that of few scores total indices tend to be too high. "
    "Bad scores count by rank; near the best setting another hyperparameter may matter most."
)


def figure(of: Mapping[str, Any]) -> Figure:
    """Total and first-order indices with the spread of their draws.

    Args:
      of: `posterior` of a search.
    """
    rows = [*reversed(of["importance"])]
    drawing, axes = plots.canvas(6.0, 1.2 + 0.34 * len(rows))
    plots.ruled(axes, "x")
    places = np.arange(len(rows))
    total, first = (_values(rows, index) for index in ("total", "first"))
    axes.barh(places, total[0], height=0.5, color=plots.COLOURS[0], alpha=0.35, label="total")
    axes.plot(first[0], places + 0.24, "D", color=plots.COLOURS[1], ms=4, label="first order")
    for (values, errors), height, colour in (
        (total, places, plots.COLOURS[0]),
        (first, places + 0.24, plots.COLOURS[1]),
    ):
        style: Any = {"fmt": "none", "ecolor": colour, "capsize": 2, "linewidth": 1}
        axes.errorbar(values, height, xerr=errors, **style)
    axes.set_yticks(places, [plots.literal(row["name"]) for row in rows])
    axes.set(xlabel="share of the variance", xlim=(0, 1))
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    head = ("hyperparameter", "total", "over draws", "first order", "over draws")
    return Figure("importance", "Importance", CAPTION, drawing, head, [*table(of)])


def _values(rows: Sequence[Mapping[str, Any]], index: str) -> tuple[np.ndarray, np.ndarray]:
    """An index of each hyperparameter [n], and how far its draws go to both sides [2, n]."""
    values = np.array([row[index] for row in rows])
    ends = [[row[f"{index}_spread"][end] for row in rows] for end in ("low", "high")]
    # a mean may lie beside the quantiles
    return values, np.maximum(np.array([[-1.0], [1.0]]) * (np.array(ends) - values), 0.0)


def table(of: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """A row a hyperparameter, the most important first."""
    for row in of["importance"]:
        yield row["name"], *_index(row, "total"), *_index(row, "first")


def _index(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    spread = row[f"{name}_spread"]
    return f"{row[name]:.2f}", f"{spread['low']:.2f} to {spread['high']:.2f}"


def neighbourhood(of: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """A row a hyperparameter of the best setting: its value, and those not told apart from it."""
    for row in of["neighbourhood"]:
        yield row["name"], progress.value(row["value"]), _alike(row)


def _alike(row: Mapping[str, Any]) -> str:
    alike, numbers = row["alike"], isinstance(row["value"], int | float)
    if numbers and not isinstance(row["value"], bool):
        if len(alike) == len(row["values"]):
            return "the whole range"
        if len(alike) < 2:
            return "none other"
        return f"{progress.value(alike[0])} to {progress.value(alike[-1])}"
    others = [progress.value(value) for value in alike if value != row["value"]]
    return ", ".join(others) or "none other"


def sentences(tree: Result) -> Iterator[str]:
    """What is known of the noise, and which settings are as good as the best."""
    of = tree["posterior"]
    if tree["noise"] is None:
        how = "--seeds, --retrain" if tree["seeded"] else "{seed} in --command"
        yield (
            "No setting has two scores that differ, so the noise of a score is not known: no "
            f"difference between two settings can be called real ({how})."
        )
    if of is None:
        return
    others = len(of["alike"]) - 1
    least = scores.difference(of["margin"], tree["unit"])
    margin = f", by more than {least}," if of["margin"] else ""
    yield (
        f"{text.counted(others, 'other setting')} of the search "
        f"{'is' if others == 1 else 'are'} not told apart from the best one: worse{margin} with a "
        "posterior probability below 95 %."
    )
    if not of["noise_known"]:
        fresh = ""
        if tree["retrained"] is not None and tree["noise"] is not None:
            fresh = ", and the process is not told the fresh seeds"
        yield (
            "In the search too few settings have several seeds to tell the noise of scores from "
            f"the objective{fresh}: the process's intervals and probabilities come from its prior "
            "as much as from the scores, and are too narrow where the noise is large."
        )
