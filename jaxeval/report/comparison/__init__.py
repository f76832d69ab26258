"""The comparison of models: documents of studies of whole runs and of items."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.comparison import answers, claims, data_sets, figures, tables, words
from jaxeval.report.comparison.words import Study
from jaxeval.report.document import Block, Document, Heading, Table
from jaxeval.stats import failures
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.study import RunStudy


def document(study: Study, exit_code: int | None = None) -> Document:
    """Returns the document of a comparison; the exit code of a gate is its last line."""
    paper: Sequence[Table] = ()
    last: list[str] = []
    if isinstance(study, RunStudy):
        source, models, title, noun = (
            study.scores.source,
            study.scores.models,
            "Comparison of",
            "model",
        )
        notes, details, paper = _run_notes(study), _run_details(study), tables.for_paper(study)
    else:
        source, models, title, noun = study.source, study.models, "Leaderboard:", "file"
        notes = [*study.notes, *study.warnings, *_pair_warnings(study)]
        details = _item_details(study)
        if exit_code is not None:
            last = [f"gate: {answers.outcome(study)} (exit code {exit_code})"]
    alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
    return Document(
        answer=answers.answer(study),
        blocks=[
            *tables.shown(study),
            " | ".join([source, *words.directions(study), words.basis(study)]),
            *([words.tests(study) + alone] if study.pairs else []),
        ],
        notes=notes,
        details=[*details],
        paper=paper,
        figures=lambda: figures.draw(study),
        title=f"{title} {text.listed(models[:8])}",
        signature=words.signature(study),
        noun=noun,
        last=last,
    )


def _run_notes(study: RunStudy) -> list[str]:
    read = study.scores
    failed = {row for rows in failures.failed_runs(read).values() for row in rows}
    others = [one for one in read.unusable if one.row not in failed]
    unusable = [text.unusable(others, read.missing)] if others else []
    return [*unusable, *read.notes, *study.warnings]


def _run_details(study: RunStudy) -> Iterator[Block]:
    if study.across is not None:
        yield Heading("All data sets together")
        yield from data_sets.sentences(study, study.across)
        yield from data_sets.tables(study, study.across)
    ended = study.scores.statuses.items()
    yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
    yield tables.models(study)
    for pair in (*study.overall, *study.pairs):
        where = words.in_mean(study) if pair.data_set is None else words.on(pair.data_set)
        yield Heading(f"{pair.a} against {pair.b}{where}")
        yield from claims.about(pair, study)
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


def _item_details(study: ItemStudy) -> Iterator[Block]:
    for board in [*([study.board] if study.board else []), *study.boards]:
        yield Heading(tables.title(board))
        yield tables.leaderboard(board, study)
        seen = claims.detectable_on(board, study).removeprefix("; ")
        yield from [f"In this design {seen}."] if seen else []
    yield tables.sizes(study)
    yield tables.differences(study)
    for pair in (*study.overall, *study.pairs):
        yield Heading(f"{pair.a} against {pair.b}{words.on(pair.data_set)}")
        yield from claims.about(pair, study)
        for name, test in pair.tests.items():
            p = text.p_value(pair.adjusted[name])
            yield f"Items alone: {words.TESTS[name]}, corrected p {p} ({test.method})."
