"""What is said of word vectors that small models were trained on."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.comparison import answers, documents
from jaxeval.report.comparison import figures as of_scores
from jaxeval.report.document import Block, Document, Figure, Heading, Table
from jaxeval.report.result import Result
from jaxeval.stats.results import Effect
from jaxeval.stats.vectors import MEAN, Judgement

_MODES = {"fixed": "vectors fixed", "tuned": "vectors fine-tuned"}
Coverage = Mapping[str, Mapping[str, float]]  # part -> fraction of tokens, of types


@dataclasses.dataclass(frozen=True, repr=False)
class JudgedVectors(Result):
    """Files of vectors judged by tasks.

    Attributes:
      files: short name -> path.
      metrics: task -> metric.
      coverage: file, task -> part -> fraction of its tokens, and types, with a vector.
      modes: a judgement a mode.
      trainings: what became of each.
    """

    files: Mapping[str, str]
    metrics: Mapping[str, str]
    coverage: Mapping[tuple[str, str], Coverage]
    modes: Sequence[Judgement]
    trainings: Sequence[Mapping[str, object]]

    def document(self) -> Document:
        """Who is better in each mode, scores, error reduced; then the comparisons."""
        return Document(
            answer=[line for mode in self.modes for line in self._answer(mode)],
            blocks=[block for mode in self.modes for block in self._blocks(mode)],
            notes=[*self._notes()],
            details=[self._covered(), *(b for mode in self.modes for b in _details(mode))],
            figures=self._figures,
            title=f"Word vectors judged: {text.listed([*self.files])}",
            signature=f"{text.versions()} | test scores, mean (sd) over seeds",
        )

    def _answer(self, mode: Judgement) -> Iterator[str]:
        title = _title(mode)
        if mode.overall is not None:
            yield from (f"{title}, {MEAN}: {line}" for line in answers.of_runs(mode.overall))
        elif len(mode.scores) < 2:
            yield f"{title}: {' '.join(next(_scores(mode))[:2])} ({MEAN})."
        else:
            yield f"{title}: one score says nothing about a distribution; none is compared."
        if mode.by_task is not None and len(mode.tasks) > 1:
            yield from (f"{title}, task by task: {x}" for x in answers.of_runs(mode.by_task))

    def _blocks(self, mode: Judgement) -> Iterator[Block]:
        yield Heading(_title(mode))
        head = ("vectors", MEAN, *(f"{task} ({self.metrics[task]})" for task in mode.tasks))
        yield Table(head, [*_scores(mode)], "Test scores in percent, mean (sd) over seeds")
        if mode.reductions:
            tasks = dict.fromkeys(task for of in mode.reductions.values() for task in of)
            rows = [(n, *map(_reduction, of.values())) for n, of in mode.reductions.items()]
            title = f"Relative error reduction against {mode.baseline}, in percent"
            yield Table(("vectors", *tasks), rows, title)

    def _covered(self) -> Table:
        """Of each file on each task, tokens (types) of test with a vector."""

        def cell(of: Coverage) -> str:
            return f"{of['test']['tokens']:.1%} ({of['test']['types']:.1%})"

        rows = [(n, *(cell(self.coverage[n, task]) for task in self.metrics)) for n in self.files]
        return Table(("vectors", *self.metrics), rows, "Tokens (types) of test with a vector")

    def _notes(self) -> Iterator[str]:
        for mode in self.modes:
            every = [effect for of in mode.reductions.values() for effect in of.values()]
            absent = dict.fromkeys(e.interval.absent for e in every if e.interval.absent)
            yield from (f"no interval of an error reduction: {reason}" for reason in absent)
            reduced = {task for of in mode.reductions.values() for task in of}
            if reduced and (perfect := [task for task in mode.tasks if task not in reduced]):
                yield f"{mode.baseline} makes no error to reduce in {text.listed(perfect)}"

    def _figures(self) -> list[Figure]:
        """Those of scores, mode by mode."""
        return [
            figure._replace(
                name=f"{figure.name}_{mode.mode}", title=f"{figure.title}, {_MODES[mode.mode]}"
            )
            for mode in self.modes
            if mode.by_task is not None
            for figure in of_scores.of_runs(mode.by_task)
        ]


def _title(mode: Judgement) -> str:
    said = _MODES[mode.mode]
    return f"{said[0].upper()}{said[1:]}"


def _scores(mode: Judgement) -> Iterator[tuple[str, ...]]:
    """A row a file, best mean first: the mean of tasks, then each task."""
    for name, of in mode.scores.items():
        yield (name, *map(_mean_and_sd, (of.mean(axis=0), *of)))


def _mean_and_sd(values: np.ndarray) -> str:
    values = values[~np.isnan(values)]
    if not len(values):
        return "-"
    sd = f"{100 * float(np.std(values, ddof=1)):.2f}" if len(values) > 1 else "-"
    return f"{scores.shown(float(values.mean()), 'fraction')} ({sd})"


def _reduction(effect: Effect) -> str:
    low, high = (100 * end for end in effect.interval[:2])
    ends = "" if effect.interval.absent else f" [{low:.1f}, {high:.1f}]"
    return f"{100 * effect.estimate:.1f}{ends}"


def _details(mode: Judgement) -> Iterator[Block]:
    """All that the two comparisons say."""
    for study, of in ((mode.overall, MEAN), (mode.by_task, "task by task")):
        if study is not None:
            yield Heading(f"{_title(mode)}, {of}")
            yield from documents.of_runs(study).blocks
            yield from documents.of_runs(study).details


@dataclasses.dataclass(frozen=True, repr=False)
class JudgePlan(Result):
    """What would be trained to judge files of vectors.

    Attributes:
      programs: of each compiled program task, mode, files, members and bytes of word tables.
    """

    files: Mapping[str, str]
    programs: Sequence[Mapping[str, object]]

    def document(self) -> Document:
        """A row a program."""
        rows = [[str(value) for value in program.values()] for program in self.programs]
        count = sum(int(str(program["members"])) for program in self.programs)
        programs = text.counted(len(rows), "program")
        return Document(
            [f"{text.counted(count, 'training')} in {programs}."],
            [Table([*self.programs[0]], rows, words=3), *map(": ".join, self.files.items())],
        )
