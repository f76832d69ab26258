"""The result of `compare`: a study of whole runs, or of items."""

import dataclasses
from collections import Counter
from collections.abc import Iterator

from jaxeval.errors import argument
from jaxeval.files import Json
from jaxeval.report import (
    Block,
    Document,
    Heading,
    Result,
    Table,
    text,
    to_json,
    to_json_object,
)
from jaxeval.report.comparison import answers, claims, figures, tables, words
from jaxeval.stats import on
from jaxeval.stats.single_models import SingleModels, SinglePair
from jaxeval.stats.study import RunDesign, Study, decision

_GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is bad input
_MANY = 10  # comparisons
# fields of the scores of runs that stand in the JSON
_SCORES = ("higher_is_better", "direction", "missing", "unusable", "statuses")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models compared pair by pair, by the scores of their runs or item by item."""

    study: Study
    gate: bool = False  # over items: the exit code is the outcome
    single: SingleModels | None = None  # tests on the items of one trained model of each method
    items: Study | None = None  # of whole runs, all runs item by item

    @property
    def outcome(self) -> str | None:
        """Over items, a gate's outcome for the first of two models: better, worse or not shown."""
        if self.study.run_design or len(self.study.scores.models) != 2:
            return None
        return decision(self.study)[0]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of a gate, else 0."""
        return _GATE[self.outcome or "better"] if self.gate else 0

    def document(self) -> Document:
        """Returns the best model, by how much, and the tests."""
        study, details, last = self.study, list[Block](), list[str]()
        title, noun, paper = "Leaderboard:", "file", list[Table]()
        notes = [*study.notes, *study.warnings]
        if study.item_design:
            details, notes = [*_item_details(study)], [*notes, *_warnings(study)]
            if self.gate:
                last = [f"gate: {answers.outcome(study)} (exit code {self.exit_code})"]
        elif study.run_design:
            title, noun, paper = "Comparison of", "model", tables.for_paper(study)
            details = [*self._run_details(study, study.run_design)]
            notes += _fewer_comparisons(study)
        alone = "; intervals are not corrected" if len(study.pairs) > 1 else ""
        facts = [study.scores.source, *words.directions(study), words.basis(study)]
        return Document(
            answer=answers.answer(study, self.items),
            blocks=[
                *tables.shown(study),
                " | ".join(facts),
                *([words.tests(study) + alone] if study.pairs else []),
            ],
            notes=notes,
            details=details,
            paper=paper,
            figures=lambda: figures.draw(study),
            title=f"{title} {text.joined(study.scores.models)}",
            signature=words.signature(study),
            noun=noun,
            last=last,
        )

    def to_dict(self) -> dict[str, Json]:
        """Returns the study and the answer; of runs also the source of the scores."""
        study, about = self.study, to_json_object(self.study)
        run_design, item_design = about.pop("run_design"), about.pop("item_design")
        about |= {"source": study.scores.source, "signature": words.signature(study)}
        about |= {"answer": answers.answer(study, self.items)}
        if isinstance(item_design, dict):
            said = answers.outcome(study) if self.outcome else None
            about |= {"models": [*study.scores.models], **item_design}
            return about | {"outcome": self.outcome, "outcome_text": said}
        described = [
            {"model": model, "data_set": data_set, "summary": to_json(summary)}
            for data_set, model, summary in words.described(study)
        ]
        about |= {name: to_json(getattr(study.scores, name)) for name in _SCORES}
        about |= {"metric": study.scores.metric or None, "models": described}
        about |= {"metric_unit": words.score_format(study).unit, "single": to_json(self.single)}
        about |= run_design if isinstance(run_design, dict) else {}
        about |= {"items": Comparison(self.items).to_dict() if self.items else None}
        return {name: of for name, of in about.items() if name not in ("board", "boards")}

    def _run_details(self, study: Study, run_design: RunDesign) -> Iterator[Block]:
        if run_design.across is not None:
            yield Heading(f"All {study.noun}s together")
            yield from claims.over_data_sets(study, run_design.across)
            yield from tables.across(study, run_design.across)
        ended = study.scores.statuses.items()
        yield from (f"{model}: {text.statuses(counts)}" for model, counts in ended)
        yield tables.models(study)
        yield from _pairs(study)
        if self.single is not None and (self.single.pairs or self.single.notes):
            yield Heading("Single trained models, item by item")
            yield from (_about_single_models(pair, study) for pair in self.single.pairs)
            yield from self.single.notes
        if self.items is not None:
            yield Heading("All runs, item by item")
            yield from dict.fromkeys([*self.items.warnings, *_warnings(self.items)])
            yield tables.differences(self.items)
            yield from (claims.verdict(pair, self.items) for pair in self.items.pairs)


def _warnings(study: Study) -> Iterator[str]:
    """Yields each warning of the pairs once, with its tasks unless it is about all."""
    tasks: dict[str, dict[str, None]] = {}
    for pair in study.pairs:
        for line in pair.difference.warnings if pair.difference else ():
            tasks.setdefault(line, {})[pair.data_set or "scores"] = None
    for line, named in tasks.items():
        yield line if len(named) == len(study.boards) else f"{text.listed([*named])}: {line}"


def _item_details(study: Study) -> Iterator[Block]:
    for board in [*([study.board] if study.board else []), *study.boards]:
        yield Heading(tables.title(board))
        yield tables.leaderboard(board, study)
        seen = claims.detectable_on(board, study).removeprefix("; ")
        yield from [f"In this design {seen}."] if seen else []
    yield tables.differences(study)
    yield from _pairs(study)


def _fewer_comparisons(study: Study) -> list[str]:
    """Says how a baseline lowers the number of comparisons, if these are many and show nothing."""
    if len(study.pairs) < _MANY or any(pair.shown for pair in study.pairs):
        return []
    of_model = Counter(model for pair in study.pairs for model in pair.names)
    if (most := max(of_model.values())) == len(study.pairs):
        return []
    flag = argument("control", "MODEL")
    return [f"a baseline chosen before scores were seen needs only {most} comparisons: {flag}"]


def _pairs(study: Study) -> Iterator[Block]:
    for pair in (*study.overall, *study.pairs):
        where = words.in_mean(study) if pair.data_set is None else on(pair.data_set)
        yield Heading(f"{pair.a} against {pair.b}{where}")
        yield from claims.about(pair, study)
        yield from [tables.tests(pair)] if pair.tests else []


def _about_single_models(pair: SinglePair, study: Study) -> str:
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
        f"these {pair.items} of {pair.part}{on(pair.data_set)}: {shown}: "
        f"{scale(pair.scores[0])} and {scale(pair.scores[1])}; difference "
        f"{scale.difference(gap.estimate)}, {scale.ci(gap.interval)} by paired bootstrap; "
        f"{tested}. This says nothing about other runs of the two methods."
    )
