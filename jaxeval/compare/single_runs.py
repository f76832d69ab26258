"""Models of one run each whose answers are known item by item: compared over items alone."""

import argparse
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval.compare import logs
from jaxeval.errors import DataError

if TYPE_CHECKING:
    from jaxeval.runs.tables import ScoreTable
    from jaxeval.runs.trained import TrainedModel
    from jaxeval.stats.items.study import ItemStudy


def study(
    table: "ScoreTable", trained: "Sequence[TrainedModel]", args: argparse.Namespace
) -> "ItemStudy | None":
    """The models over items, where one of them has a single score on the only data set.

    None: the scores can be compared, or the answers are not known of the same items.

    What is known of the scores of runs (runs that failed, keys that differ) is in its warnings.

    Raises:
      ConfigError: an argument that only a comparison of scores has.
      DataError: the one run of a model is what failed ones left of several.
    """
    from jaxeval.stats.items import outcomes
    from jaxeval.stats.items import study as studies

    several = len(set(table.axes.get("dataset", ()))) > 1
    alone = [model for model in table.models if len(table.scores_of(model)) == 1]
    if several or not alone:
        return None
    _refuse_survivors(table, alone)
    paired = outcomes.paired(trained, table.higher_is_better, fewest=1)
    if paired is None:
        return None
    logs.refuse_unfit(args, "one run of a model")
    rules = studies.Rules(None, args.alpha, args.margin or 0.0, args.resamples, args.seed)
    notes = (*_known(table, alone), *paired.notes)
    return studies.study(paired._replace(notes=notes), rules, table.source)


def left_out(
    table: "ScoreTable", trained: "Sequence[TrainedModel] | None", args: argparse.Namespace
) -> list[str]:
    """The models of one score each that do not end the comparison of two or more others.

    Models that are named, or of several data sets, stay, and the comparison says what they lack;
    those whose one run is all they had may be compared over items.
    """
    if args.models or args.control or len(set(table.axes.get("dataset", ()))) > 1:
        return []
    alone = [model for model in table.models if len(table.scores_of(model)) == 1]
    left = [model for model in alone if not trained or _failed(table, model)]
    return left if len(table.models) - len(alone) >= 2 else []


def _failed(table: "ScoreTable", model: str) -> bool:
    from jaxeval.runs.headers import FAILED

    return any(table.statuses.get(model, {}).get(status) for status in FAILED)


def _refuse_survivors(table: "ScoreTable", alone: Sequence[str]) -> None:
    """Refuses a run that is left of several: it is no fair sample of them, whatever its items."""
    from jaxeval.report import text

    for model in alone:
        if _failed(table, model):
            raise DataError(
                f"{model}: 1 score, of runs of which others failed "
                f"({text.statuses(table.statuses[model])}), which is no fair sample of them; "
                "expected at least 2, better 5 or more (other seeds, splits)",
                table.source,
            )


def _known(table: "ScoreTable", alone: Sequence[str]) -> list[str]:
    """What a comparison of the scores would say of them; how runs ended, where some failed."""
    from jaxeval.report import text
    from jaxeval.report.comparison import verdict

    ended = {model: of for model, of in table.statuses.items() if _failed(table, model)}
    lines = [*table.warnings, *verdict.counted(dataclasses.replace(table, statuses=ended))]
    if len(alone) < len(table.models):
        have = "has" if len(alone) == 1 else "have"
        lines.append(
            f"{text.listed(alone)} {have} one run: all models are compared over items alone"
        )
    return lines
