"""Word vectors: similarity, analogies, training tasks, and a baseline of counts."""

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import Block, Document, Figure, Heading, Result, Table, comparison, text
from jaxeval.report.comparison import answers, figures, tables, words
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.judgement import MEAN, Judgement
from jaxeval.vectors import Scored
from jaxeval.vectors.analogies import Accuracy
from jaxeval.vectors.similarity import Unknown
from jaxeval.vectors.svd import Counted

_ALPHA = 0.05
_FEW = 20  # questions; a bootstrap of 10 covers a share of .8 in 86 % of the cases
_RHOS = ("rho of covered", "rho, unknown 0")
_SHARES = ("right", "of covered", "of all")
_DIFFERENCES = "Differences on what both cover; paired bootstrap, p by Holm's method over all"
_MODES = {"fixed": "Vectors fixed", "tuned": "Vectors fine-tuned"}


@dataclasses.dataclass(frozen=True, repr=False)
class VectorScores(Result):
    """Files of vectors on sets of word pairs, or of analogy questions."""

    files: Mapping[str, str]  # short name -> path
    zero_vectors: Mapping[str, int]  # number of words with a zero vector, which counts as none
    repeated: Mapping[str, int]  # number of vectors left out: their word was there before
    lower_case: bool
    resamples: int
    seed: int
    results: Sequence[Scored[Any]]  # one for each set and method
    unknown: Unknown | None = None  # of similarity: how unknown words count
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def document(self) -> Document:
        """Returns the best file, all scores and all differences."""
        pairs = "unknown 0" if self.unknown == "zero" else "covered"
        numbers = _RHOS if self.unknown else _SHARES
        head = ("items", "vectors", "covered", *numbers, f"95 % CI of {pairs}")
        rows = [row for of in self.results for row in self._rows(of)]
        rule = {"skip": ", of the pairs covered", "zero": ", of all pairs", None: ""}[self.unknown]
        gaps = [
            (
                _name(of),
                d.a,
                d.b,
                f"{d.effect.estimate:+.4f}",
                text.bounds(d.effect.interval, 4),
                str(d.effect.n[0]),
                text.p_cell(d.p_adjusted),
            )
            for of in self.results
            for d in of.differences
        ]
        columns = ("items", "A", "B", f"A - B{rule}", "95 % CI", "n", "corrected p")
        differences = Table(columns, gaps, _DIFFERENCES, 3)
        sections = [
            _counts(f"{section}, {of.method}", name, part)
            for of in self.results
            for name, score in of.scores.items()
            for section, part in ({} if self.unknown else score.sections).items()
        ]
        by_section = [Table(head[:-1], sections, "Sections", 2)]
        cells = [(row[0], zip(head[2:], row[2:], strict=True)) for row in rows if row[0][0] != " "]
        alone = [
            f"{name}: " + ", ".join(f"{n} {cell}" for n, cell in each if cell not in ("-", ""))
            for name, each in cells
        ]
        return Document(
            answer=[self._best()] if len(self.files) > 1 else alone,
            blocks=[Table(head, rows, words=2), *([differences] if gaps else [])],
            notes=[*self._notes()],
            details=(lambda: by_section) if sections else None,
            title=f"Word vectors: {text.listed([*self.files])}",
            signature=f"{text.versions()} | {self.resamples} resamples, seed {self.seed}",
        )

    def _rows(self, result: Scored[Any]) -> Iterator[Sequence[str]]:
        for name, score in result.scores.items():
            interval = text.bounds(score.interval, 3)
            if self.unknown:
                rhos = _number(score.skip), _number(score.zero)
                yield (result.name, name, f"{score.covered} of {result.total}", *rhos, interval)
                continue
            yield (*_counts(_name(result), name, score.overall), interval)
            yield from ((*_counts(f"  {g}", name, part), "") for g, part in score.groups.items())

    def _best(self) -> str:
        found: list[tuple[str, str, str, int]] = []
        points = collections.defaultdict[str, float](float)
        for of in self.results:
            for d in of.differences:
                shown = (d.test.direction or 0) if d.p_adjusted < _ALPHA else 0
                found.append((d.a, d.b, _name(of), shown))
                points[d.a] += d.effect.estimate
                points[d.b] -= d.effect.estimate
        if not points:
            return "No two files have scores on what both cover: nothing is compared."
        order = sorted(points, key=lambda name: -points[name])
        noun = "set" if self.unknown else "score"  # each set of questions has two
        return f"{text.sentence(order, text.signs(found), noun)}."

    def _notes(self) -> Iterator[str]:
        for name, line in self.headers.items():
            yield f"{name}: taken as a header: {line!r}"
        for name, count in self.zero_vectors.items():
            if count:
                words = text.counted(count, "word has", "words have")
                yield f"{name}: {words} a vector of zeros, which counts as none"
        for name, count in self.repeated.items():
            if count:
                again = text.counted(count, "line repeats", "lines repeat")
                yield f"{name}: {again} a word, of which the first vector counts"
        for of in self.results:
            each = [(name, score.covered, score.interval) for name, score in of.scores.items()]
            each += [(f"{d.a} - {d.b}", d.effect.n[0], d.effect.interval) for d in of.differences]
            for name, n, interval in each:
                if interval is not None and interval.absent:
                    yield f"{_name(of)}: no CI of {name}: {interval.absent}"
                elif interval is not None and n < _FEW and not self.unknown:
                    few = f"fewer than {_FEW} questions: the CI of {name} is too narrow"
                    yield f"{_name(of)}: {few}"
            compared = {name for d in of.differences for name in (d.a, d.b)}
            for name in (n for n in of.scores if n not in compared and len(of.scores) > 1):
                none = "is not compared: no score on what it and another file cover"
                yield f"{_name(of)}: {name} {none}"


def _name(result: Scored[Any]) -> str:
    return f"{result.name}, {result.method}"


def _counts(first: str, file: str, accuracy: Accuracy) -> tuple[str, ...]:
    shares = (
        _number(accuracy.right / accuracy.covered if accuracy.covered else None),
        _number(accuracy.right / accuracy.total),
    )
    return (first, file, f"{accuracy.covered} of {accuracy.total}", str(accuracy.right), *shares)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:z.4f}"


@dataclasses.dataclass(frozen=True, repr=False)
class JudgedVectors(Result):
    """Files of vectors judged by training models on tasks with them."""

    files: Mapping[str, str]  # short name -> path
    metrics: Mapping[str, str]  # task -> metric
    # file, task -> part of the data -> fraction of tokens and of types with a vector
    coverage: Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]
    modes: Sequence[Judgement]
    trainings: Sequence[Mapping[str, object]]

    def document(self) -> Document:
        """Returns the best file in each mode, scores, relative error reduction, comparisons."""
        return Document(
            answer=[line for mode in self.modes for line in _judgement(mode)],
            blocks=[block for mode in self.modes for block in self._blocks(mode)],
            notes=[*dict.fromkeys(n for mode in self.modes for n in _reduction_notes(mode))],
            details=self._details,
            figures=self._figures,
            title=f"Word vectors judged: {text.joined([*self.files])}",
            signature=f"{text.versions()} | test scores, mean (sd) over seeds",
        )

    def _details(self) -> Iterator[Block]:
        cells = {
            key: f"{100 * of['test']['tokens']:.1f} % ({100 * of['test']['types']:.1f} %)"
            for key, of in self.coverage.items()
        }
        covered = [(name, *(cells[name, task] for task in self.metrics)) for name in self.files]
        title = "Tokens (types) of test with a vector"
        yield Table(("vectors", *self.metrics), covered, title)
        for mode in self.modes:
            if mode.study is not None:
                yield Heading(_MODES[mode.mode])
                compared = comparison.Comparison(mode.study)
                yield from compared.document().blocks
                yield from compared.details()

    def _blocks(self, mode: Judgement) -> Iterator[Block]:
        yield Heading(_MODES[mode.mode])
        head = ["vectors", MEAN, *(f"{task} ({self.metrics[task]})" for task in mode.tasks)]
        title = "Test scores in percent, mean (sd) over seeds"
        rows = [*_means(mode)]
        if mode.study is not None and mode.study.main is not None and len(mode.scores) > 2:
            scale = words.score_format(mode.study)
            places = mode.study.main.rows
            head[2:2] = text.confidence(mode.study.rules), "rank", "tied"
            for row in rows:
                (of,) = (place for place in places if place.model == row[0])
                ends = scale.interval(of.mean.interval)
                row[2:2] = ends, tables.rank(of), tables.tied(of.groups)
            title += "; rank [lowest, highest that the tests leave open]"
            title += "; files that share a letter were not told apart"
        yield Table(head, rows, title)
        if mode.reductions:
            reduced = dict.fromkeys(task for of in mode.reductions.values() for task in of)
            percent = ScoreFormat("fraction", 1)
            rows = [
                [name, *(text.estimate(e.estimate, e.interval, percent) for e in by_task.values())]
                for name, by_task in mode.reductions.items()
            ]
            title = f"Relative error reduction against {mode.baseline}, in percent"
            yield Table(("vectors", *reduced), rows, title)

    def _figures(self) -> list[Figure]:
        drawn = []
        for mode in self.modes:
            for figure in figures.draw(mode.study) if mode.study else ():
                title = f"{figure.title}, {_MODES[mode.mode].lower()}"
                drawn.append(figure._replace(name=f"{figure.name}_{mode.mode}", title=title))
        return drawn


def _judgement(mode: Judgement) -> Iterator[str]:
    title = _MODES[mode.mode]
    if mode.study is not None:
        yield from (f"{title}: {line}" for line in answers.answer(mode.study))
    elif len(mode.scores) < 2:
        yield f"{title}: {' '.join(next(_means(mode))[:2])} ({MEAN})."
    else:
        few = [n for n, of in mode.scores.items() if (~np.isnan(of)).sum(axis=1).min() < 2]
        had = f"{text.joined(few)} {'has' if len(few) == 1 else 'have'} fewer than two scores"
        yield f"{title}: {had} of a task; none is compared."


def _means(mode: Judgement) -> Iterator[list[str]]:
    """Yields a row for each file, best mean first: the mean over tasks, then each task."""

    def cell(values: np.ndarray) -> str:
        _, mean, sd = ScoreFormat("fraction", 2).described(values[~np.isnan(values)])
        return mean if mean == "-" else f"{mean} ({sd})"

    for name, by_task in mode.scores.items():
        yield [name, *map(cell, (by_task.mean(axis=0), *by_task))]


def _reduction_notes(mode: Judgement) -> Iterator[str]:
    every = [effect for of in mode.reductions.values() for effect in of.values()]
    absent = dict.fromkeys(e.interval.absent for e in every if e.interval.absent)
    yield from (f"no interval of an error reduction: {reason}" for reason in absent)
    reduced = {task for of in mode.reductions.values() for task in of}
    if reduced and (perfect := [task for task in mode.tasks if task not in reduced]):
        yield f"{mode.baseline} makes no error to reduce in {text.listed(perfect)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Baseline(Result):
    """Vectors made from the counts of a corpus (PPMI and SVD), with the settings."""

    output: str
    window: int
    dimension: int
    min_count: int
    lower_case: bool
    counted: Counted

    def document(self) -> Document:
        """Returns a line about the words and pairs that were counted."""
        of = self.counted
        positive = f"{of.positive} of them with positive association"
        words = f"{self.output}: {of.words} words of {of.tokens} tokens in all"
        return Document([f"{words}; {of.pairs} pairs of words, {positive}."])
