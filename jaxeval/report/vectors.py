"""What is said of word vectors by themselves: similarity, analogies, a baseline of counts."""

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxeval.report import standings, text
from jaxeval.report.document import Document, Table
from jaxeval.report.result import Result
from jaxeval.vectors import Difference, Scored
from jaxeval.vectors.analogies import Accuracy
from jaxeval.vectors.similarity import Unknown
from jaxeval.vectors.svd import Counted

_ALPHA = 0.05
_FEW = 20  # questions; resamples of 10 cover a share of .8 in 86 % of the cases, of 5 in 65 %
_RHOS = ("rho of covered", "rho, unknown 0")
_SHARES = ("right", "of covered", "of all")


@dataclasses.dataclass(frozen=True, repr=False)
class VectorScores(Result):
    """Files of vectors on sets of pairs of words, or of analogy questions.

    Attributes:
      files: short name -> path.
      zero_vectors: file -> words read whose vector is 0, which counts as none.
      lower_case: whether words are taken in lower case.
      resamples, seed: of the bootstraps.
      results: one a set and method.
      unknown: of similarity, which rule intervals and differences follow; None of analogies.
      headers: lines of sets of pairs that were taken as headers.
    """

    files: Mapping[str, str]
    zero_vectors: Mapping[str, int]
    lower_case: bool
    resamples: int
    seed: int
    results: Sequence[Scored[Any]]
    unknown: Unknown | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def document(self) -> Document:
        """Who is better, every score, every difference."""
        head = ("items", "vectors", "covered", *(_RHOS if self.unknown else _SHARES), "95 % CI")
        rows = [row for of in self.results for row in (_rhos if self.unknown else _shares)(of)]
        rule = {"skip": ", of the pairs covered", "zero": ", of all pairs", None: ""}[self.unknown]
        compared = Table(
            ("items", "A", "B", f"A - B{rule}", "95 % CI", "n", "corrected p"),
            [_difference(of, d) for of in self.results for d in of.differences],
            "Differences on what both cover; paired bootstrap, p by Holm's method over all",
            3,
        )
        parts = [] if self.unknown else [row for of in self.results for row in _sections(of)]
        single = (zip(head[2:], row[2:], strict=True) for row in rows if row[0].strip() == row[0])
        alone = [", ".join(f"{name} {cell}" for name, cell in cells) for cells in single]
        return Document(
            answer=[self._answer()] if len(self.files) > 1 else alone,
            blocks=[Table(head, rows, words=2), *([compared] if compared.rows else [])],
            notes=[*self._notes()],
            details=[Table(head[:-1], parts, "Sections", 2)] if parts else (),
            title=f"Word vectors: {text.listed([*self.files])}",
            signature=f"{text.versions()} | {self.resamples} resamples, seed {self.seed}",
        )

    def _answer(self) -> str:
        """Who is better than whom."""
        found, points = list[tuple[str, str, str, int]](), collections.Counter[str]()
        for of in self.results:
            for d in of.differences:
                shown = (d.test.direction or 0) if d.p_adjusted < _ALPHA else 0
                found.append((d.a, d.b, _name(of), shown))
                points[d.a] += d.effect.estimate  # type: ignore[assignment]
                points[d.b] -= d.effect.estimate  # type: ignore[assignment]
        order = [name for name, _ in points.most_common()]
        if not order:
            return "No two files have scores on what both cover: nothing is compared."
        return f"{standings.sentence(order, standings.signs(found), 'set')}."

    def _notes(self) -> Iterator[str]:
        for name, line in self.headers.items():
            yield f"{name}: taken as a header: {line!r}"
        for name, count in self.zero_vectors.items():
            if count:
                words = text.counted(count, "word has", "words have")
                yield f"{name}: {words} a vector of zeros, which counts as none"
        for of in self.results:
            yield from (f"{_name(of)}: {line}" for line in self._of_set(of))

    def _of_set(self, of: Scored[Any]) -> Iterator[str]:
        """Which intervals lack or are of few questions, which files are not compared."""
        each = [(name, score.covered, score.interval) for name, score in of.scores.items()]
        each += [(f"{d.a} - {d.b}", d.effect.n[0], d.effect.interval) for d in of.differences]
        for name, n, interval in each:
            if interval is not None and interval.absent:
                yield f"no CI of {name}: {interval.absent}"
            elif interval is not None and n < _FEW and not self.unknown:
                yield f"fewer than {_FEW} questions: the CI of {name} is too narrow"
        compared = {name for d in of.differences for name in (d.a, d.b)}
        for name in {*of.scores} - compared if len(of.scores) > 1 else ():
            yield f"{name} is not compared: no score on what it and another file cover"


def _name(of: Scored[Any]) -> str:
    return f"{of.name}, {of.method}"


def _difference(of: Scored[Any], d: Difference) -> Sequence[str]:
    size = f"{d.effect.estimate:+.4f}", text.bounds(d.effect.interval, 4)
    return (_name(of), d.a, d.b, *size, str(d.effect.n[0]), text.p_cell(d.p_adjusted))


def _rhos(of: Scored[Any]) -> Iterator[Sequence[str]]:
    """A row a file."""
    for name, score in of.scores.items():
        rhos = _number(score.skip), _number(score.zero)
        interval = text.bounds(score.interval, 3)
        yield (of.name, name, f"{score.covered} of {of.total}", *rhos, interval)


def _shares(of: Scored[Any]) -> Iterator[Sequence[str]]:
    """A row a file, and one a group of sections."""
    for name, score in of.scores.items():
        yield (*_counts(_name(of), name, score.overall), text.bounds(score.interval, 3))
        yield from ((*_counts(f"  {g}", name, part), "") for g, part in score.groups.items())


def _sections(of: Scored[Any]) -> Iterator[Sequence[str]]:
    for name, score in of.scores.items():
        for section, part in score.sections.items():
            yield _counts(f"{section}, {of.method}", name, part)


def _counts(first: str, file: str, of: Accuracy) -> tuple[str, ...]:
    shares = _number(of.right / of.covered if of.covered else None), _number(of.right / of.total)
    return (first, file, f"{of.covered} of {of.total}", str(of.right), *shares)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


@dataclasses.dataclass(frozen=True, repr=False)
class Baseline(Result):
    """Vectors that were made of a corpus by counting, and the settings."""

    output: str
    window: int
    dimension: int
    min_count: int
    lower_case: bool
    counted: Counted

    def document(self) -> Document:
        """What was counted and written."""
        of = self.counted
        positive = f"{of.positive} of them with positive association"
        said = f"{self.output}: {of.words} words of {of.tokens} tokens in all"
        return Document([f"{said}; {of.pairs} pairs of words, {positive}."])
