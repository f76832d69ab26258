"""Everything that is said of a comparison, of whole runs and of items."""

import itertools
from collections.abc import Iterator

from jaxeval.report import text
from jaxeval.report.comparison import (
    across,
    answers,
    boards,
    figures,
    item_claims,
    run_claims,
    tables,
    words,
)
from jaxeval.report.document import Block, Document, Heading
from jaxeval.stats import samples, study_warnings
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.study import RunStudy

_MOST_TOLD = 12  # models of a table of pairs told apart


def of_runs(study: RunStudy) -> Document:
    """Of scores of whole runs."""
    known, large = study.scores, study.across is not None and len(study.pairs) > 6
    lost = samples.rows_of(known)
    others = [of for of in known.unusable if of.row not in lost]
    of_details = {*study_warnings.of_details(study.samples, study.pairs, study.across)}
    notes = [text.unusable(others, known.missing)] if others else []
    notes += [*known.notes, *(line for line in study.warnings if line not in of_details)]
    pasted = [*across.tables(study)]
    return Document(
        answer=answers.of_runs(study),
        blocks=[*tables.of_runs(study), *_said_of_runs(study)],
        notes=notes,
        details=[*_details_of_runs(study), *sorted(of_details)],
        paper=[tables.paper(study), *pasted, *([] if large else [tables.summaries(study)])],
        figures=lambda: figures.draw(study),
        title=f"Comparison of {text.listed(known.models[:8])}",
        signature=words.signature(study),
        noun="model",
    )


def _said_of_runs(study: RunStudy) -> Iterator[str]:
    """The direction, the unit and the tests in a line or two."""
    yield " | ".join([study.scores.source, *words.directions(study), words.unit(study)])
    if study.pairs:
        alone = "" if len(study.pairs) == 1 else "; intervals are not corrected"
        yield f"{words.primary(study.primary)}{alone}"


def _details_of_runs(study: RunStudy) -> Iterator[Block]:
    """What data sets say together, then all tests of all pairs, of single models and of items."""
    scale = words.scale_of_runs(study)
    if study.across is not None:
        yield Heading("All data sets together")
        yield from across.sentences(study)
        yield from across.tables(study)
        yield from across.tests(study)
    ended = study.scores.statuses.items()
    yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
    yield tables.summaries(study)
    for pair in study.pairs:
        yield Heading(words.title(pair))
        yield from run_claims.of_pair(pair, study.rules, scale)
        yield tables.tests(pair)
    if study.single is not None and (study.single.pairs or study.single.notes):
        yield Heading("Single trained models, item by item")
        yield from (run_claims.single(pair, study, scale) for pair in study.single.pairs)
        yield from study.single.notes
    if study.items is not None:
        yield Heading("All runs, item by item")
        yield from dict.fromkeys([*study.items.warnings, *_of_differences(study.items)])
        yield boards.differences(study.items)
        for pair in study.items.pairs:
            said = item_claims.claims(
                pair, study.items, words.scale_on(study.items, pair.data_set)
            )
            yield from (f"{words.title(pair)}: {line}" for line in said)


def _of_differences(study: ItemStudy) -> Iterator[str]:
    """What the comparisons rest on, each once, with the tasks where it is not of all."""
    said: dict[str, dict[str, None]] = {}
    for pair in study.pairs:
        for line in pair.difference.warnings if pair.difference else ():
            said.setdefault(line, {})[pair.data_set or "scores"] = None
    for line, on in said.items():
        yield line if len(on) == len(study.data_sets) else f"{text.listed([*on])}: {line}"


def of_items(study: ItemStudy, gate: str = "") -> Document:
    """Of scores of items.

    Args:
      gate: its last line, if there is one.
    """
    over = words.OVER[study.pairs[0].difference.over] if study.pairs[0].difference else ""
    level = f"{study.rules.alpha:g}".removeprefix("0")
    alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
    return Document(
        answer=answers.of_items(study),
        blocks=[
            *boards.tables(study),
            " | ".join([study.source, *words.directions(study), f"over {over}"]),
            f"t tests (Satterthwaite), {words.families(study)}, level {level}{alone}",
        ],
        notes=[*study.notes, *study.warnings, *_of_differences(study)],
        details=[*_details_of_items(study)],
        figures=lambda: boards.figures(study),
        title=f"Leaderboard: {text.listed(study.models[:8])}",
        signature=words.signature(study),
        last=[gate] if gate else [],
    )


def _details_of_items(study: ItemStudy) -> Iterator[Block]:
    """Means and intervals on each task, differences over items, runs and both, and their tests."""
    for board in itertools.chain([study.board] if study.board else [], study.boards):
        yield Heading(boards.title(board))
        yield boards.ranked(board, study)
        if 2 < len(board.rows) <= _MOST_TOLD:
            yield boards.told_apart(board)
        yield boards.detectable(board, study)
    yield boards.sizes(study)
    yield boards.differences(study)
    yield from item_claims.headline(study)
    for pair in study.pairs:
        yield Heading(words.title(pair))
        yield from item_claims.of_pair(pair, study, words.scale_on(study, pair.data_set))
        if pair.tests and pair.p_adjusted == pair.p_adjusted:  # else nothing is shown
            tests = "; ".join(
                f"{words.TESTS[name]}, corrected p {text.p_value(pair.adjusted[name])} "
                f"({test.method})"
                for name, test in pair.tests.items()
            )
            yield f"Items alone: {tests}."
