"""Results of the verb `compare`."""

import dataclasses
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report.document import Document, Result, Table, to_json, to_json_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxeval.report.document import Block
    from jaxeval.runs.layout import Missing
    from jaxeval.runs.rows import Unusable
    from jaxeval.stats.configurations import OptionComparison, SeedEffect
    from jaxeval.stats.items.study import ItemStudy
    from jaxeval.stats.study import RunStudy

_GATE = {"better": 0, "not shown": 1, "worse": 3}  # exit codes; 2 is bad input
# fields of the scores of runs that stand in the JSON
_SCORES = ("source", "higher_is_better", "direction", "missing", "unusable", "statuses", "notes")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Models compared pair by pair, by the scores of their runs or item by item."""

    study: "RunStudy | ItemStudy"
    gate: bool = False  # over items: the exit code is the outcome

    @property
    def outcome(self) -> str | None:
        """Over items, a gate's outcome for the first of two models: better, worse or not shown."""
        from jaxeval.stats.items.study import ItemStudy, decision

        two = isinstance(self.study, ItemStudy) and len(self.study.models) == 2
        return decision(self.study)[0] if two else None  # type: ignore[arg-type]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of a gate, else 0."""
        return _GATE[self.outcome or "better"] if self.gate else 0

    def document(self) -> Document:
        """Returns the best model, by how much, and the tests."""
        from jaxeval.report import comparison

        return comparison.document(self.study, self.exit_code if self.gate else None)

    def to_dict(self) -> dict[str, Json]:
        """Returns the study and the answer; of runs also the source of the scores."""
        from jaxeval.report.comparison import answers, words
        from jaxeval.stats.items.study import ItemStudy

        study, facts = self.study, dict[str, Json]()
        about = to_json_object(study)
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


@dataclasses.dataclass(frozen=True, repr=False)
class OptionsCompared(Result):
    """The values of one option, compared within configurations that are otherwise equal."""

    option: str
    score: str
    key: tuple[str, ...]  # columns that are equal within a configuration
    rows: int  # of the table
    higher_is_better: bool
    direction_assumed: bool
    missing: "Missing"
    unusable: "tuple[Unusable, ...]"
    groups: "tuple[OptionComparison, ...]"
    seed_effect: "tuple[SeedEffect, ...]"  # empty if no configuration was trained twice

    def document(self) -> Document:
        """Returns the values that win most often, and all others beside them."""
        from jaxeval.report import text
        from jaxeval.report.comparison import words

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
            better = f"and {shown} better than all others (sign test, corrected)"
            yield f"{head}{self.option} {best.value} {wins}, {better}."

    def _blocks(self) -> "Iterator[Block]":
        from jaxeval.report import text

        rows, lines, tests = [], list[str](), 0
        for group in self.groups:
            name, whole = _name(group), group.friedman
            for of in group.options:
                gap = "" if of.median_difference is None else f"{of.median_difference:+.4f}"
                spread = "-" if of.sd is None else f"{of.sd:.4f}"
                value = f"{of.value}{' *' if of.value == group.best else ''}"
                cells = (f"{of.wins:.1%}", f"{of.median:.4g}", gap, spread)
                p = (of.adjusted.get(test) for test in ("sign_test", "brown_forsythe"))
                rows.append((name, str(group.n), value, *cells, *map(text.p_cell, p)))
            tests += sum(len(of.adjusted) for of in group.options) + (whole is not None)
            if len(group.as_often) > 1:
                named = text.listed([str(value) for value in group.as_often])
                lines.append(f"{name}: {named} win as often; the first is named")
            if whole is not None and group.friedman_adjusted is not None:
                corrected = f"corrected p {text.p_value(group.friedman_adjusted)}"
                lines.append(f"{name}: Friedman {whole.statistic:.3f}, {corrected}")
        head = ("group", "n", self.option, "wins", "median", "to the winner", "sd")
        yield Table((*head, "p (sign)", "p (spread)"), rows)
        yield from lines
        yield (
            "n: configurations with all values; wins: share in which the value is best; to the "
            "winner: median difference to the value that wins most often (*); repeats: "
            f"{self.groups[0].repeats}; p-values corrected by Holm over {tests} tests"
        )
        if self.seed_effect:
            yield "Effect of the seed: largest minus smallest score of a configuration."
            names = ("group", "configurations", "scores", "median", "95th percentile", "max")
            yield Table(names, [(_name(of), *_seed_cells(of)) for of in self.seed_effect])


def _seed_cells(seed: "SeedEffect") -> tuple[str, ...]:
    ends = (f"{value:.4f}" for value in (seed.median, seed.percentile_95, seed.max))
    return str(seed.configurations), str(seed.repeats), *ends


def _name(group: "OptionComparison | SeedEffect") -> str:
    return " ".join(map(str, group.group)) or "all"
