"""The comparison of models: documents of studies of whole runs and of items."""

from collections.abc import Iterator

from jaxeval.report import text
from jaxeval.report.comparison import answers, claims, data_sets, figures, tables, words
from jaxeval.report.document import Block, Document, Heading
from jaxeval.stats import failures
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.study import RunStudy


def runs_document(study: RunStudy) -> Document:
    """Returns the document of a comparison of whole runs."""
    read, across = study.scores, study.across
    failed = {row for rows in failures.failed_runs(read).values() for row in rows}
    others = [one for one in read.unusable if one.row not in failed]
    notes = [text.unusable(others, read.missing)] if others else []
    notes += [*read.notes, *study.warnings]
    blocks: list[Block] = [*tables.runs_tables(study)]
    blocks.append(" | ".join([read.source, *words.directions(study), words.replication(study)]))
    if study.pairs:
        alone = "" if len(study.pairs) == 1 else "; intervals are not corrected"
        blocks.append(words.location_tests(study) + alone)
    paper = [tables.paper(study), *(data_sets.tables(study, across) if across else ())]
    if across is None or len(study.pairs) <= 6:
        paper.append(tables.models(study))
    return Document(
        answer=answers.about_runs(study),
        blocks=blocks,
        notes=notes,
        details=[*_runs_details(study)],
        paper=paper,
        figures=lambda: figures.runs_figures(study),
        title=f"Comparison of {text.listed(read.models[:8])}",
        signature=words.signature(study),
        noun="model",
    )


def _runs_details(study: RunStudy) -> Iterator[Block]:
    if study.across is not None:
        yield Heading("All data sets together")
        yield from data_sets.sentences(study, study.across)
        yield from data_sets.tables(study, study.across)
    ended = study.scores.statuses.items()
    yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
    yield tables.models(study)
    for pair in (*study.overall, *study.pairs):
        where = words.on(pair.data_set) if pair in study.pairs else words.in_mean(study)
        yield Heading(f"{pair.a} against {pair.b}{where}")
        yield from claims.about_runs(pair, study)
        yield tables.tests(pair)
    if study.single is not None and (study.single.pairs or study.single.notes):
        yield Heading("Single trained models, item by item")
        yield from (claims.about_single_models(pair, study) for pair in study.single.pairs)
        yield from study.single.notes
    if study.items is not None:
        yield Heading("All runs, item by item")
        yield from dict.fromkeys([*study.items.warnings, *_pair_warnings(study.items)])
        yield tables.differences(study.items)
        yield from (claims.verdict(pair, study.items) for pair in study.items.pairs)


def _pair_warnings(study: ItemStudy) -> Iterator[str]:
    """Yields each warning of the pairs once, with its tasks unless it is about all."""
    tasks: dict[str, dict[str, None]] = {}
    for pair in study.pairs:
        for line in pair.difference.warnings if pair.difference else ():
            tasks.setdefault(line, {})[pair.data_set or "scores"] = None
    for line, named in tasks.items():
        yield line if len(named) == len(study.data_sets) else f"{text.listed([*named])}: {line}"


def items_document(study: ItemStudy, gate: str = "") -> Document:
    """Returns the document of a comparison of items; `gate` is its last line."""
    over = words.OVER[study.pairs[0].difference.over] if study.pairs[0].difference else ""
    level = f"{words.families(study)}, level {text.level(study.rules.alpha)}"
    alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
    return Document(
        answer=answers.about_items(study),
        blocks=[
            *tables.items_tables(study),
            " | ".join([study.source, *words.directions(study), f"over {over}"]),
            f"t tests (Satterthwaite), {level}{alone}",
        ],
        notes=[*study.notes, *study.warnings, *_pair_warnings(study)],
        details=[*_items_details(study)],
        figures=lambda: figures.items_figures(study),
        title=f"Leaderboard: {text.listed(study.models[:8])}",
        signature=words.signature(study),
        last=[gate] if gate else [],
    )


def _items_details(study: ItemStudy) -> Iterator[Block]:
    for board in [*([study.board] if study.board else []), *study.boards]:
        yield Heading(tables.title(board))
        yield tables.leaderboard(board, study)
        seen = claims.detectable_on(board, study).removeprefix("; ")
        yield from [f"In this design {seen}."] if seen else []
    yield tables.sizes(study)
    yield tables.differences(study)
    for pair in study.overall:
        yield Heading(f"{pair.a} against {pair.b}{words.on(pair.data_set)}")
        yield from claims.about_tasks(pair, study)
    for pair in study.pairs:
        yield Heading(f"{pair.a} against {pair.b}{words.on(pair.data_set)}")
        yield from claims.about_items(pair, study)
        if pair.tests and pair.p_adjusted == pair.p_adjusted:  # not NaN
            tests = "; ".join(
                f"{words.TESTS[name]}, corrected p {text.p_value(pair.adjusted[name])} "
                f"({test.method})"
                for name, test in pair.tests.items()
            )
            yield f"Items alone: {tests}."
