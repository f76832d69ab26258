"""P-values of several comparisons at once."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Sample, floats, sample

Method = Literal["bonferroni", "holm", "benjamini_hochberg"]


def adjust_p_values(p_values: Sample, method: Method = "holm") -> np.ndarray:
    """Adjusted p-values, to be compared with the level itself.

    Args:
      p_values: [m], one a comparison; NaN where it is not known, which counts as 1 for the others.
      method: "bonferroni" and "holm" (Holm 1979, uniformly better) bound the probability of any
        false rejection; "benjamini_hochberg" (1995) bounds the expected share of false ones.

    Returns:
      [m] float64, in the given order; NaN where it is not known.

    Raises:
      DataError: numbers that are no probabilities, or an unknown method.
    """
    given = floats(p_values, "p-values: expected numbers")
    unknown = np.isnan(given)
    values = sample(np.where(unknown, 1.0, given), "p-values", at_least=0)
    if np.any((values < 0) | (values > 1)):
        raise DataError("p-values: expected numbers from 0 to 1")
    count = len(values)
    order = np.argsort(values, kind="stable")
    ordered, rank = values[order], np.arange(1, count + 1)
    if method == "bonferroni":
        adjusted = ordered * count
    elif method == "holm":
        adjusted = np.maximum.accumulate(ordered * (count - rank + 1))
    elif method == "benjamini_hochberg":
        adjusted = np.minimum.accumulate((ordered * count / rank)[::-1])[::-1]
    else:
        raise DataError(
            f"correction: expected bonferroni, holm or benjamini_hochberg, not {method}"
        )
    result = np.empty(count)
    result[order] = np.minimum(adjusted, 1.0)
    return np.where(unknown, np.nan, result)


def adjust_by_name(
    p_values: Sequence[Mapping[str, float]], method: Method = "holm"
) -> list[dict[str, float]]:
    """Each test's p-values corrected over all comparisons that have it.

    Args:
      p_values: of each comparison, test -> p-value; not all need have the same tests.
    """
    adjusted: list[dict[str, float]] = [{} for _ in p_values]
    for name in dict.fromkeys(name for of in p_values for name in of):
        which = [k for k, of in enumerate(p_values) if name in of]
        corrected = adjust_p_values([p_values[k][name] for k in which], method)
        for k, p in zip(which, corrected, strict=True):
            adjusted[k][name] = float(p)
    return adjusted
