"""Two models compared, without a table."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxeval.report.comparison import verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import comparison
from jaxeval.stats.comparison import Pair
from jaxeval.stats.pairwise import Rules, Scores


def compared(scores: Scores, rules: Rules) -> Pair:
    return comparison.compare([scores], rules).pairs[0]


def scores_of(a: str, b: str, x: Any, y: Any, by_pairs: bool) -> Scores:
    first, second = np.array(x, float), np.array(y, float)
    paired = (first, second) if by_pairs else None
    return Scores(a, b, "", first, second, paired, by_pairs, "split" if by_pairs else "run")


def scale_of(*scores: Any) -> ScoreFormat:
    table = SimpleNamespace(score=np.concatenate(scores), stored_unit="number")
    return verdict.scale_of(SimpleNamespace(table=table, described=()))  # type: ignore[arg-type]
