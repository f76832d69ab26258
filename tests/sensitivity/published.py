"""The metrics of sweeps as the code behind the tables of Wiemerslage et al. (2024) has them."""

from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.metrics import Axis


def metrics_of(scores: np.ndarray, axes: Sequence[Axis]) -> Mapping[str, float]:
    """Computes the metrics by path.

    Rel@k is the (k+1)-th best, the best run is equivalent to itself, scores are not rounded, and
    runs of equal value stand side by side with falling scores. Its rho is left out, since it took
    an unknown one of several best runs.
    """
    n, falling = len(scores), -np.sort(-scores)
    gaps = np.abs(scores[:, None] - scores)
    found = {
        **{
            name: float(of[0])
            for name, of in metrics.score_metrics(scores, np.arange(n)[None]).items()
        },
        **{f"rel_at_k.{k}": float(100 * falling[k] / falling[0]) for k in metrics.KS if k < n},
        "max": 100 * float(falling[0]),
        "share_zero": 100 * float(np.mean(scores == 0)),
        "best_equivalent": 100 * float(np.sum(falling[0] - scores <= metrics.MARGIN)) / (n - 1),
        "expected_equivalent": 100 * float((np.sum(gaps <= metrics.MARGIN) - n) / (n * (n - 1))),
    }
    for axis in axes:
        maxima, change, _ = metrics._ups_and_downs(scores[np.lexsort((-scores, -axis.rank))])
        found[f"by_hyperparameter.{axis.name}.maxima"] = maxima
        found[f"by_hyperparameter.{axis.name}.mean_change"] = change
    return found
