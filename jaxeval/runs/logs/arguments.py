"""Command-line arguments of logs of evaluations, and what they ask for."""

import argparse
from collections.abc import Sequence

from jaxeval.runs import arguments, flat_items
from jaxeval.runs.item_scores import Paired
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import finding


def read(args: argparse.Namespace, models: Sequence[str]) -> tuple[str, Paired]:
    """The logs that were named, in words, and the scores of models on their common tasks.

    Args:
      models: in this order; all for none.

    Raises:
      DataError: as of `finding.read`.
    """
    layout = Layout(
        arguments.roles(args.column),
        models,
        ",".join(arguments.names([args.metric] if args.metric else [])) or None,
        args.missing,
        args.higher_is_better,
        args.cluster or "",
        args.task or (),
        args.mismatched,
    )
    scores = finding.read(args.log, layout)
    return scores.source, flat_items.paired(scores)
