"""What the verb `compare` returns."""

import dataclasses
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report import plain
from jaxeval.report.result import Result

if TYPE_CHECKING:
    from jaxeval.report.document import Document
    from jaxeval.runs.checks import Unusable
    from jaxeval.runs.layout import Missing
    from jaxeval.stats.configurations import OptionComparison, SeedEffect
    from jaxeval.stats.items.study import ItemStudy
    from jaxeval.stats.study import RunStudy

GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is that of bad input


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models whose runs are described, and compared pair by pair."""

    study: "RunStudy"

    def document(self) -> "Document":
        """Who is better, by how much, and what that rests on."""
        from jaxeval.report.comparison import documents

        return documents.of_runs(self.study)

    def to_dict(self) -> dict[str, Json]:
        """The study, what is known of its scores, and the sentences that answer."""
        from jaxeval.report.comparison import answers, words

        of, items = self.study.scores, self.study.items
        known = ("source", "higher_is_better", "direction", "missing", "unusable", "statuses")
        return {
            **{name: plain.plain(getattr(of, name)) for name in (*known, "notes")},
            "signature": words.signature(self.study),
            "metric": of.metric or None,
            "metric_unit": words.scale(self.study).unit,
            **plain.record(self.study),
            "items": None if items is None else ItemComparison(items).to_dict(),
            "answer": list(answers.of_runs(self.study)),
        }


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ItemComparison(Result):
    """Models compared item by item.

    Attributes:
      gate: whether the exit code says what was shown of the first model against the second.
    """

    study: "ItemStudy"
    gate: bool = False

    @property
    def _gated(self) -> "ItemStudy":
        """The study as a gate has it."""
        from jaxeval.stats.items import study

        return study.decided(self.study) if self.study.strict else self.study

    @property
    def outcome(self) -> str | None:
        """Of the first of two models: better, worse or not shown, as a gate has it."""
        from jaxeval.stats.items import study

        return study.decision(self._gated).outcome if len(self.study.models) == 2 else None

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """Of the gate; else 0."""
        return GATE[self.outcome or "better"] if self.gate else 0

    def document(self) -> "Document":
        """Who is better, on which tasks, and what that rests on."""
        from jaxeval.report.comparison import answers, documents

        said = f"gate: {answers.outcome(self.study)} (exit code {self.exit_code})"
        return documents.of_items(self.study, said if self.gate else "")

    def to_dict(self) -> dict[str, Json]:
        """The study, and the sentences that answer."""
        from jaxeval.report.comparison import answers, words

        return {
            **plain.record(self.study),
            "signature": words.signature(self.study),
            "outcome": self.outcome,
            "outcome_text": answers.outcome(self._gated) if self.outcome else None,
            "answer": list(answers.of_items(self.study)),
        }


@dataclasses.dataclass(frozen=True, repr=False)
class OptionsCompared(Result):
    """The values of one option, compared within configurations that are otherwise equal.

    Attributes:
      key: columns that are equal within a configuration.
      rows: of the table.
      groups: a comparison each.
      seed_effect: what the seed alone does; empty where no configuration was trained twice.
    """

    option: str
    score: str
    key: tuple[str, ...]
    rows: int
    higher_is_better: bool
    direction_assumed: bool
    missing: "Missing"
    unusable: "tuple[Unusable, ...]"
    groups: "tuple[OptionComparison, ...]"
    seed_effect: "tuple[SeedEffect, ...]"

    def document(self) -> "Document":
        """The values that win most often, and all others beside them."""
        from jaxeval.report import text
        from jaxeval.report.comparison import options, words
        from jaxeval.report.document import Document

        direction = words.direction(self.score, self.higher_is_better, self.direction_assumed)
        return Document(
            [*options.answer(self.option, self.groups)],
            [*options.blocks(self.option, self.groups, self.seed_effect)],
            [direction, *([text.unusable(self.unusable, self.missing)] if self.unusable else [])],
            title=f"Values of {self.option}",
        )
