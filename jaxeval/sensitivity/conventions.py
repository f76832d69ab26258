"""How the metrics count: what the authors' code did, what the paper says, and what we defend.

Wiemerslage et al. (2024) describe the metrics in sections 3 and 4; the code behind their tables
counts differently in places. docs/sensitivity.md says where the three part and why.
"""

import dataclasses
from typing import Literal

Name = Literal["default", "published", "text"]


@dataclasses.dataclass(frozen=True)
class Convention:
    """One way to count.

    Attributes:
      kth: place of the k-th best score in the sorted scores, from 0, is k - 1 + kth.
      best_in_mean: whether mean@k begins with the best score itself.
      best_counts: whether the best run is one of the runs equivalent to it.
      of_others: whether shares are of the n - 1 other runs (else of all n).
      steps: what the mean change divides by: the n - 1 steps, or n.
      decimals: scores are rounded so before they meet the ROPE, as scores that were stored in
        single precision lie a hair off their decimal; None compares them raw.
      ties: runs of equal hyperparameter value are averaged into one point of the profile, or laid
        side by side in falling order of score.
      path: all hyperparameters together order the runs by their distance from the best run, or by
        the average of their ranks.
    """

    name: Name
    kth: int
    best_in_mean: bool
    best_counts: bool
    of_others: bool
    steps: Literal["n-1", "n"]
    decimals: int | None
    ties: Literal["averaged", "falling"]
    path: Literal["distance", "average rank"]


DEFAULT = Convention("default", 0, True, False, True, "n-1", 6, "averaged", "distance")
PUBLISHED = Convention("published", 1, True, True, True, "n-1", None, "falling", "average rank")
TEXT = Convention("text", 0, False, True, False, "n", 6, "falling", "average rank")
BY_NAME = {convention.name: convention for convention in (DEFAULT, PUBLISHED, TEXT)}
