"""What is said of word vectors by themselves: similarity, analogies, a baseline of counts."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxeval.report import standings, text
from jaxeval.report.document import Document, Table
from jaxeval.report.result import Result
from jaxeval.stats.results import Interval
from jaxeval.vectors import analogies, similarity
from jaxeval.vectors.scored import Scored
from jaxeval.vectors.svd import Counted

_ALPHA = 0.05
_FEW = 20  # questions; resamples of 10 cover a share of .8 in 86 % of the cases, of 5 in 65 %


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
    unknown: "similarity.Unknown | None" = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def document(self) -> Document:
        """Who is better, every score, every difference."""
        pairs = self.unknown is not None
        shares = ("right", "of covered", "of all")
        rhos = ("rho of covered", "rho, unknown 0")
        head = ("items", "vectors", "covered", *(rhos if pairs else shares))
        rows = [row for of in self.results for row in (_rhos if pairs else _shares)(of)]
        parts = () if pairs else [row for of in self.results for row in _sections(of)]
        scores = Table((*head, "95 % CI"), rows, words=2)
        rule = {"skip": ", of the pairs covered", "zero": ", of all pairs", None: ""}[self.unknown]
        compared = Table(
            ("items", "A", "B", f"A - B{rule}", "95 % CI", "n", "corrected p"),
            [*self._differences()],
            "Differences on what all files cover; paired bootstrap, p by Holm's method over all",
            3,
        )
        return Document(
            answer=self._answer(),
            blocks=[scores, *([compared] if compared.rows else [])],
            notes=[*self._notes()],
            details=[Table(head[:-1], parts, "Sections", 2)] if parts else (),
            title=f"Word vectors: {text.listed([*self.files])}",
            signature=f"{text.versions()} | {self.resamples} resamples, seed {self.seed}",
        )

    def _answer(self) -> list[str]:
        """Who is better; the scores of a file alone."""
        if len(self.files) < 2:
            return [
                f"{_name(of)}: {_number(_estimate(score, self.unknown))}"
                f"{_ends(score.interval)}, {score.covered} of {of.total} covered."
                for of in self.results
                for score in of.scores.values()
            ]
        shown = standings.signs(
            (d.a, d.b, _name(of), (d.test.direction or 0) if d.p_adjusted < _ALPHA else 0)
            for of in self.results
            for d in of.differences
        )
        if not shown:
            return ["No two files have scores on what both cover: nothing is compared."]
        means = {
            name: sum(_estimate(of.scores[name], self.unknown) or 0.0 for of in self.results)
            for name in {name for pair in shown for name in pair}
        }
        order = sorted(means, key=lambda name: (-means[name], name))
        return [f"{standings.sentence(order, shown, 'set')}."]

    def _differences(self) -> Iterator[Sequence[str]]:
        for of in self.results:
            for d in of.differences:
                size = f"{d.effect.estimate:+.4f}", text.bounds(d.effect.interval, 4)
                n = str(d.effect.n[0])
                yield (_name(of), d.a, d.b, *size, n, text.p_cell(d.p_adjusted))

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
        intervals = [(name, s.covered, s.interval) for name, s in of.scores.items()]
        intervals += [
            (f"{d.a} - {d.b}", of.compared_on, d.effect.interval) for d in of.differences
        ]
        for name, n, interval in intervals:
            if interval is not None and interval.absent:
                yield f"no CI of {name}: {interval.absent}"
            elif interval is not None and n < _FEW and self.unknown is None:
                yield f"fewer than {_FEW} questions: the CI of {name} is too narrow"
        for name, on in of.left_out:
            why = f"no score on the {on} items that it and the others cover"
            yield f"{name} is left out of the differences: {why}"


def _name(of: Scored[Any]) -> str:
    return f"{of.name}, {of.method}"


def _estimate(
    score: "similarity.Score | analogies.Score", unknown: "similarity.Unknown | None"
) -> float | None:
    if isinstance(score, similarity.Score):
        return score.zero if unknown == "zero" else score.skip
    return score.overall.of_covered


def _rhos(of: Scored[similarity.Score]) -> Iterator[Sequence[str]]:
    """A row a file."""
    for name, score in of.scores.items():
        rhos = _number(score.skip), _number(score.zero)
        covered = f"{score.covered} of {of.total}"
        yield (of.name, name, covered, *rhos, text.bounds(score.interval, 3))


def _shares(of: Scored[analogies.Score]) -> Iterator[Sequence[str]]:
    """A row a file, and one a group of sections."""
    for name, score in of.scores.items():
        yield (*_counts(_name(of), name, score.overall), text.bounds(score.interval, 3))
        yield from ((*_counts(f"  {g}", name, part), "") for g, part in score.groups.items())


def _sections(of: Scored[analogies.Score]) -> Iterator[Sequence[str]]:
    for name, score in of.scores.items():
        for section, part in score.sections.items():
            yield _counts(f"{section}, {of.method}", name, part)


def _counts(first: str, file: str, of: analogies.Accuracy) -> tuple[str, ...]:
    shares = _number(of.of_covered), _number(of.of_all)
    return (first, file, f"{of.covered} of {of.total}", str(of.right), *shares)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None or interval.absent else f" {text.bounds(interval, 3)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Baseline(Result):
    """Vectors that were made of a corpus by counting.

    Attributes:
      output: the file of vectors.
    """

    output: str
    window: int
    dimension: int
    min_count: int
    lower_case: bool
    counted: Counted

    def document(self) -> Document:
        """What was counted and written, and how long it took."""
        of = self.counted
        spent = (f"{step} {text.duration(seconds)}" for step, seconds in of.seconds.items())
        return Document(
            [f"{self.output}: {of.words} words of {of.tokens} tokens in all."],
            [
                f"{of.pairs} pairs of words, {of.positive} of them with positive association; "
                f"{', '.join(spent)}"
            ],
        )
