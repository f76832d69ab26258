"""Models of one run each whose answers are known item by item: compared over items alone."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval.compare import logs

if TYPE_CHECKING:
    from jaxeval.runs.tables import ScoreTable
    from jaxeval.runs.trained import TrainedModel
    from jaxeval.stats.items.study import ItemStudy


def study(
    table: "ScoreTable", trained: "Sequence[TrainedModel]", args: argparse.Namespace
) -> "ItemStudy | None":
    """The models over items, where one of them has a single score on the only data set.

    None: the scores can be compared, or the answers are not known of the same items.

    Raises:
      ConfigError: an argument that only a comparison of scores has.
    """
    from jaxeval.stats.items import outcomes
    from jaxeval.stats.items import study as studies

    several = len(set(table.axes.get("dataset", ()))) > 1
    if several or min(len(table.scores_of(model)) for model in table.models) > 1:
        return None
    paired = outcomes.paired(trained, table.higher_is_better, fewest=1)
    if paired is None:
        return None
    logs.refuse_unfit(args, "one run of a model")
    rules = studies.Rules(None, args.alpha, args.margin or 0.0, args.resamples, args.seed)
    return studies.study(paired, rules, table.source)
