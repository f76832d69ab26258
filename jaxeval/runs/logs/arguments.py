"""Command-line arguments of logs of evaluations, and what they ask for."""

import argparse
from collections.abc import Sequence

from jaxeval.runs import arguments
from jaxeval.runs.item_scores import Paired
from jaxeval.runs.logs import finding, pairing
from jaxeval.runs.logs.records import Keys
from jaxeval.runs.logs.tables import LogTable


def read(args: argparse.Namespace, models: Sequence[str]) -> tuple[LogTable, Paired]:
    """The logs that were named, and the scores of models on their common tasks.

    Args:
      models: in this order; all for none.

    Raises:
      DataError: as of `finding.read` and `pairing.paired`.
    """
    keys = Keys(args.cluster or "", arguments.roles(args.column))
    table = finding.read(args.log, keys, args.task or ())
    rules = pairing.Rules(
        models=models,
        metrics=arguments.names([args.metric] if args.metric else []),
        missing=args.missing,
        mismatched=args.mismatched,
        higher_is_better=args.higher_is_better,
    )
    return table, pairing.paired(table, rules)
