"""The result of `compare`: studies of whole runs and of items."""

import dataclasses
from collections.abc import Iterator

from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report.comparison import answers, claims, figures, tables, words
from jaxeval.report.comparison.words import Study
from jaxeval.report.document import (
    Block,
    Document,
    Heading,
    Result,
    Table,
    to_json,
    to_json_object,
)
from jaxeval.stats import failures
from jaxeval.stats.items import study as items
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.single_models import SinglePair
from jaxeval.stats.study import RunStudy

_GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is bad input
# fields of the scores of runs that stand in the JSON
_SCORES = ("source", "higher_is_better", "direction", "missing", "unusable", "statuses", "notes")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models compared pair by pair, by the scores of their runs or item by item."""

    study: Study
    gate: bool = False  # over items: the exit code is the outcome

    @property
    def outcome(self) -> str | None:
        """Over items, a gate's outcome for the first of two models: better, worse or not shown."""
        if isinstance(self.study, RunStudy) or len(self.study.models) != 2:
            return None
        return items.decision(self.study)[0]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of a gate, else 0."""
        return _GATE[self.outcome or "better"] if self.gate else 0

    def document(self) -> Document:
        """Returns the best model, by how much, and the tests."""
        study, noun, paper = self.study, "file", list[Table]()
        title, last = "Leaderboard:", list[str]()
        if isinstance(study, RunStudy):
            source, models = study.scores.source, study.scores.models
            title, noun = "Comparison of", "model"
            notes, details, paper = _run_notes(study), _run_details(study), tables.for_paper(study)
        else:
            source, models, details = study.source, study.models, _item_details(study)
            notes = [*study.notes, *study.warnings, *_pair_warnings(study)]
            if self.gate:
                last = [f"gate: {answers.outcome(study)} (exit code {self.exit_code})"]
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

    def to_dict(self) -> dict[str, Json]:
        """Returns the study and the answer; of runs also the source of the scores."""
        study, facts, about = self.study, dict[str, Json](), to_json_object(self.study)
        if isinstance(study, ItemStudy):
            said = answers.outcome(study) if self.outcome else None
            about |= {"outcome": self.outcome, "outcome_text": said}
        else:
            facts = {name: to_json(getattr(study.scores, name)) for name in _SCORES}
            facts |= {"metric": study.scores.metric or None}
            facts |= {"metric_unit": words.score_format(study).unit}
            about |= {"items": Comparison(study.items).to_dict() if study.items else None}
        answer = {"signature": words.signature(study), "answer": answers.answer(study)}
        return {**facts, **about, **answer}


def _run_notes(study: RunStudy) -> list[str]:
    read = study.scores
    failed = {row for rows in failures.failed_runs(read).values() for row in rows}
    others = [one for one in read.unusable if one.row not in failed]
    unusable = [text.unusable(others, read.missing)] if others else []
    return [*unusable, *read.notes, *study.warnings]


def _run_details(study: RunStudy) -> Iterator[Block]:
    if study.across is not None:
        yield Heading("All data sets together")
        yield from claims.over_data_sets(study, study.across)
        yield from tables.across(study, study.across)
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
        yield from (_about_single_models(pair, study) for pair in study.single.pairs)
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


def _about_single_models(pair: SinglePair, study: RunStudy) -> str:
    """States which of two trained models is better on items like these."""
    scale, test = words.score_format(study), pair.tests["approximate_randomization"]
    shown, gap = "no difference was shown", pair.difference
    sign = (test.direction or 0) * (1 if study.scores.higher_is_better else -1)
    if pair.adjusted["approximate_randomization"] <= study.rules.alpha and sign:
        shown = f"{pair.a if sign > 0 else pair.b} is better"
    tested = "; ".join(
        f"{words.TESTS[name]}, corrected p {text.p_value(p)}" for name, p in pair.adjusted.items()
    )
    split = f" of split {pair.split}" if pair.split not in ("", "0") else ""
    chosen = "best on dev" if pair.best_dev else "first run"
    a, b = (f"{m} (seed {s})" for m, s in zip((pair.a, pair.b), pair.seeds, strict=True))
    return (
        f"Of the trained models {a} and {b}{split}, each its method's {chosen}, on items like "
        f"these {pair.items} of {pair.part}{words.on(pair.data_set)}: {shown}: "
        f"{scale(pair.scores[0])} and {scale(pair.scores[1])}; difference "
        f"{scale.difference(gap.estimate)}, {scale.ci(gap.interval)} by paired bootstrap; "
        f"{tested}. This says nothing about other runs of the two methods."
    )
