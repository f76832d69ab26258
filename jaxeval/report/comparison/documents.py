"""Everything that is said of a comparison, of whole runs and of items."""

from collections.abc import Iterator

from jaxeval.report import text
from jaxeval.report.comparison import across, answers, claims, figures, tables, words
from jaxeval.report.document import Block, Document, Heading
from jaxeval.stats import samples
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.study import RunStudy


def of_runs(study: RunStudy) -> Document:
    """Of scores of whole runs."""
    of, together = study.scores, study.across
    failed, behind = {row for rows in samples.failed_runs(of).values() for row in rows}, ""
    others = [one for one in of.unusable if one.row not in failed]
    notes = [text.unusable(others, of.missing)] if others else []
    notes += [*of.notes, *study.warnings]
    blocks: list[Block] = [*tables.of_runs(study)]
    blocks.append(" | ".join([of.source, *words.directions(study), words.unit(study)]))
    if study.pairs:
        behind = "" if len(study.pairs) == 1 else "; intervals are not corrected"
        blocks.append(words.primary(study.primary) + behind)
    paper = [tables.paper(study), *(across.tables(study, together) if together else ())]
    if together is None or len(study.pairs) <= 6:
        paper.append(tables.summaries(study))
    return Document(
        answer=answers.of_runs(study),
        blocks=blocks,
        notes=notes,
        details=[*_details_of_runs(study)],
        paper=paper,
        figures=lambda: figures.of_runs(study),
        title=f"Comparison of {text.listed(of.models[:8])}",
        signature=words.signature(study),
        noun="model",
    )


def _details_of_runs(study: RunStudy) -> Iterator[Block]:
    """What data sets say together, then all tests of all pairs, of single models and of items."""
    if study.across is not None:
        yield Heading("All data sets together")
        yield from across.sentences(study, study.across)
        yield from across.tables(study, study.across)
    ended = study.scores.statuses.items()
    yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
    yield tables.summaries(study)
    for pair in study.pairs:
        yield Heading(words.title(pair))
        yield from claims.of_runs(pair, study)
        yield tables.tests(pair)
    if study.single is not None and (study.single.pairs or study.single.notes):
        yield Heading("Single trained models, item by item")
        yield from (claims.single(pair, study) for pair in study.single.pairs)
        yield from study.single.notes
    if study.items is not None:
        yield Heading("All runs, item by item")
        yield from dict.fromkeys([*study.items.warnings, *_of_differences(study.items)])
        yield tables.differences(study.items)
        yield from (claims.verdict(pair, study.items) for pair in study.items.pairs)


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
    level = f"{words.families(study)}, level {text.level(study.rules.alpha)}"
    alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
    return Document(
        answer=answers.of_items(study),
        blocks=[
            *tables.of_items(study),
            " | ".join([study.source, *words.directions(study), f"over {over}"]),
            f"t tests (Satterthwaite), {level}{alone}",
        ],
        notes=[*study.notes, *study.warnings, *_of_differences(study)],
        details=[*_details_of_items(study)],
        figures=lambda: figures.of_items(study),
        title=f"Leaderboard: {text.listed(study.models[:8])}",
        signature=words.signature(study),
        last=[gate] if gate else [],
    )


def _details_of_items(study: ItemStudy) -> Iterator[Block]:
    """Means and intervals on each task, differences over items, runs and both, and their tests."""
    for board in [*([study.board] if study.board else []), *study.boards]:
        yield Heading(tables.title(board))
        yield tables.ranked(board, study)
        seen = claims.detected_on(board, study).removeprefix("; ")
        yield from [f"In this design {seen}."] if seen else []
    yield tables.sizes(study)
    yield tables.differences(study)
    for pair in study.overall:
        yield Heading(words.title(pair))
        yield from claims.overall(pair, study)
    for pair in study.pairs:
        yield Heading(words.title(pair))
        yield from claims.of_items(pair, study)
        if pair.tests and pair.p_adjusted == pair.p_adjusted:  # else nothing is shown
            tests = "; ".join(
                f"{words.TESTS[name]}, corrected p {text.p_value(pair.adjusted[name])} "
                f"({test.method})"
                for name, test in pair.tests.items()
            )
            yield f"Items alone: {tests}."
