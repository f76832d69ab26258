"""What the verb `compare` returns."""

import dataclasses
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report import plain
from jaxeval.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxeval.report.document import Block, Document
    from jaxeval.runs.layout import Missing
    from jaxeval.runs.rows import Unusable
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

        return study.withhold_incomplete(self.study) if self.study.strict else self.study

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
        from jaxeval.report.comparison import words
        from jaxeval.report.document import Document

        direction = words.direction(self.score, self.higher_is_better, self.direction_assumed)
        return Document(
            [*self._answer()],
            [*self._blocks()],
            [direction, *([text.unusable(self.unusable, self.missing)] if self.unusable else [])],
            title=f"Values of {self.option}",
        )

    def _answer(self) -> "Iterator[str]":
        for group in self.groups:
            best = next(of for of in group.options if of.value == group.best)
            p = [of.adjusted.get("sign_test", 1.0) for of in group.options if of is not best]
            shown = "is" if all(each <= 0.05 for each in p) else "is not shown to be"
            head = f"{_name(group)}: " if group.group else ""
            wins = f"wins in {best.wins:.1%} of {group.n} configurations"
            said = f"and {shown} better than all others (sign test, corrected)"
            yield f"{head}{self.option} {best.value} {wins}, {said}."

    def _blocks(self) -> "Iterator[Block]":
        """A row a value of the option and group, then the seed effect."""
        from jaxeval.report import text
        from jaxeval.report.document import Table

        rows, tests = [], 0
        for group in self.groups:
            tests += sum(len(of.adjusted) for of in group.options) + (group.friedman is not None)
            for of in group.options:
                gap, p = of.median_difference, of.adjusted
                value = f"{of.value}{' *' if of.value == group.best else ''}"
                behind = "" if gap is None else f"{gap:+.4f}"
                spread = "-" if of.sd is None else f"{of.sd:.4f}"
                cells = (f"{of.wins:.1%}", f"{of.median:.4g}", behind, spread)
                tested = (text.p_cell(p.get(name)) for name in ("sign_test", "brown_forsythe"))
                rows.append((_name(group), str(group.n), value, *cells, *tested))
        head = ("group", "n", self.option, "wins", "median", "to the winner", "sd")
        yield Table((*head, "p (sign)", "p (spread)"), rows)
        for group in self.groups:
            if len(group.as_often) > 1:
                named = text.listed([str(value) for value in group.as_often])
                yield f"{_name(group)}: {named} win as often; the first is named"
            if group.friedman is not None and group.friedman_adjusted is not None:
                corrected = f"corrected p {text.p_value(group.friedman_adjusted)}"
                yield f"{_name(group)}: Friedman {group.friedman.statistic:.3f}, {corrected}"
        yield (
            "n: configurations with all values; wins: share in which the value is best; to the "
            "winner: median difference to the value that wins most often (*); repeats: "
            f"{self.groups[0].repeats}; p-values corrected by Holm over {tests} tests"
        )
        if self.seed_effect:
            yield "What the seed alone does: largest minus smallest score of a configuration."
            names = ("group", "configurations", "scores", "median", "95th percentile", "max")
            seeds = []
            for seed in self.seed_effect:
                ends = (f"{value:.4f}" for value in (seed.median, seed.percentile_95, seed.max))
                seeds.append((_name(seed), str(seed.configurations), str(seed.repeats), *ends))
            yield Table(names, seeds)


def _name(group: "OptionComparison | SeedEffect") -> str:
    return " ".join(map(str, group.group)) or "all"
