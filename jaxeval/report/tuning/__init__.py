"""A search for the best setting: its result, and its progress."""

import collections
import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence

from jaxeval.errors import RunError
from jaxeval.files import Json
from jaxeval.report import Block, Document, Figure, Result, Table, scores, text
from jaxeval.runs.records import MemberRow
from jaxeval.space.distributions import Value
from jaxeval.tuning import State, insight
from jaxeval.tuning.history import Evaluation, History
from jaxeval.tuning.insight import Insight, Retrained

_MOST_SHOWN = 10  # settings of the table


@dataclasses.dataclass(frozen=True, repr=False)
class Tuned(Result):
    """The outcome of a search; scores as they are stored."""

    best: Evaluation | None  # None: no setting has a score
    reason: str
    trials: int  # evaluations that ended, failures among them
    failures: Mapping[str, int]
    seconds: float
    metric: str
    unit: str
    higher_is_better: bool
    seeded: bool  # otherwise nothing can be trained again
    noise: float | None  # sd of one seed's score about its setting; None: no two scores differ
    noise_df: int
    retrained: Retrained | None
    posterior: Insight | None  # of method gp
    evaluations: Sequence[Evaluation]
    search: Mapping[str, Json]
    signature: str
    config: str | None = None  # file with the config of the best setting

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """2 if no setting has a score, else 0."""
        return 2 if self.best is None else 0

    @property
    def values(self) -> dict[str, Value]:
        """The best setting; raises RunError if no setting has a score."""
        if self.best is None:
            raise RunError(self._answer())
        return dict(self.best.values)

    def ranked(self) -> list[Evaluation]:
        """Returns the settings that can be taken, best mean first."""
        return History(tuple(self.evaluations), self.higher_is_better).ranked()

    def document(self) -> Document:
        """Returns the best setting and its worth, a table of settings, hyperparameters, losses."""
        details: list[Block] = []
        if self.noise is not None:
            df = text.counted(self.noise_df, "degree")
            details.append(f"sd of one seed's score: {self._shown(self.noise)} ({df} of freedom)")
        details += [importance(self.posterior)] if self.posterior else []
        by = f"{self.search['method']}, seed {self.search['seed']}"
        spent = f"{text.duration(self.seconds)}, {self.reason}"
        return Document(
            (self._answer(),),
            () if self.best is None else [*self._tables(self.best)],
            [*self._losses()],
            details=(lambda: details) if details else None,
            figures=self._figures,
            title="Search",
            noun="setting",
            signature=f"{by}, {spent} | {self.signature}",
            last=() if self.config is None else (f"its config: {self.config}",),
        )

    def _figures(self) -> Sequence[Figure]:
        from jaxeval.report.tuning import figures

        return figures.draw(self)

    def _answer(self) -> str:
        if self.best is None:
            return f"No setting has a score ({self.reason})."
        by = "posterior mean" if self.search["method"] == "gp" else "mean"
        seen = _mean(self.best.scores, self.metric, self.unit) + _after(self.best)
        spent = text.counted(self.trials, "setting")
        return (
            f"Take setting {self.best.number}, the best {by} of {spent}: {seen} in the "
            f"search; {self._worth()}; {self._rivals()}."
        )

    def _worth(self) -> str:
        """States the scores of the best setting with fresh seeds."""
        if self.retrained is None:
            why = "" if self.seeded else " (it gets no seed)"
            return f"not trained again{why}, so its true score is unknown"
        if not self.retrained.parts:
            return "no fresh seed has a score, so its true score is unknown"
        means = []
        for part, of in self.retrained.parts.items():
            same = " each (do they depend on the seed?)" if of.n > 1 else ""
            ci = of.mean_interval
            ends = f", {text.confidence(ci)} {text.bounds(ci, self._shown)}" if ci else same
            means.append(f"{part} {self._shown(of.mean)}{ends}")
        count = max(of.n for of in self.retrained.parts.values())
        gives = "gives" if count == 1 else "give"
        return f"{text.counted(count, 'fresh seed')} {gives} {', '.join(means)}"

    def _rivals(self) -> str:
        """States which other settings may be as good."""
        if len(self.ranked()) < 2:
            return "no other setting has a score"
        if self.noise is None:
            return "settings cannot be tested against each other: none has two scores"
        if self.posterior is None:
            return "it was not tested against the others"
        others = len(self.posterior.alike) - 1
        many = f"{others} {'other' if others == 1 else 'others'} cannot be"
        known = ", which knows the noise of a score only from its prior"
        known = "" if self.posterior.noise_known else known
        return f"{many if others else 'all others are'} told apart from it by the model{known}"

    def _tables(self, best: Evaluation) -> Iterator[Block]:
        ranked = self.ranked()
        space = self.search["space"]
        assert isinstance(space, Mapping)
        shown = ranked[:_MOST_SHOWN]
        names = [name for name in space if any(name in of.values for of in shown)]
        rows = [
            [
                f"{of.number}{_after(of)}",
                str(len(of.scores)),
                self._shown(of.mean),
                *(scores.setting(of.values.get(name, "-")) for name in names),
            ]
            for of in shown
        ]
        label = scores.label(self.metric, self.unit)
        yield Table(["setting", "seeds", label, *names], rows, words=0)
        if len(ranked) > _MOST_SHOWN:
            yield f"the best {_MOST_SHOWN} of {len(ranked)} settings"
        head = ["hyperparameter", "value"]
        rows = [[name, scores.setting(of)] for name, of in best.values.items()]
        if self.posterior is not None:
            head.append("importance (model)")
            each, cell = self.posterior.importance, "{:.2f} ({:.2f} to {:.2f})"
            total = {of.name: cell.format(of.total, *of.total_spread) for of in each}
            rows = [[name, value, total[name]] for name, value in rows]
        yield Table(head, rows, words=2)

    def _losses(self) -> Iterator[str]:
        for e in self.evaluations:
            if e.failure:
                yield f"setting {e.number}: {e.failure}"
        stopped = sum(bool(e.stopped) for e in self.evaluations)
        if stopped:
            taken = "" if self.best and self.best.stopped else ", and cannot be taken"
            yield f"{text.counted(stopped, 'setting')} stopped early by halving{taken}"
        if self.retrained and (again := self.retrained.failures):
            causes = "; ".join(dict.fromkeys(again))
            yield f"{text.counted(len(again), 'fresh seed')} failed: {causes}"

    def _shown(self, score: float) -> str:
        return scores.shown(score, self.unit)


def importance(insight: Insight) -> Table:
    """Returns a row for each hyperparameter, the most important first."""
    rows = []
    for each in insight.importance:
        both = (each.total, each.total_spread), (each.first, each.first_spread)
        cells = ((f"{mean:.2f}", "{:.2f} to {:.2f}".format(*spread)) for mean, spread in both)
        rows.append([each.name, *itertools.chain(*cells)])
    head = ("hyperparameter", "total", "over draws", "first order", "over draws")
    return Table(head, rows, "Importance: Sobol indices of the model, and their spread")


def result(
    state: State,
    metric: str,
    unit: str,
    fresh: Mapping[str, Sequence[float]] | None,
    failures: Sequence[str] = (),
    seeded: bool = True,
    config: str | None = None,
) -> Tuned:
    """Returns the outcome of a search.

    Args:
      fresh: part of the data -> scores of the best setting with fresh seeds.
      failures: why fresh seeds have no score.
    """
    search = state.search
    history = state.history
    best = state.best()
    posterior = None
    again = None
    if search.method == "gp" and best is not None:
        posterior = insight.insight(search.space, history, search.seed)
    samples = [e.scores for e in history.evaluations]
    if best is not None and fresh is not None:
        samples.append(tuple(next(iter(fresh.values()))))
        again = insight.retrained(fresh, failures, metric, unit)
    causes = [e.failure for e in history.ended if e.failure]
    return Tuned(
        best,
        state.reason,
        len(history.ended),
        dict(collections.Counter(causes).most_common()),
        state.seconds,
        metric,
        unit,
        history.higher_is_better,
        seeded,
        *insight.noise(samples),
        again,
        posterior,
        history.evaluations,
        search.to_dict(),
        text.versions(),
        config,
    )


def fresh_scores(rows: Sequence[MemberRow]) -> tuple[dict[str, list[float]], list[str]]:
    """Returns part of the data -> scores of members that have any, and why others have none."""
    parts = {"dev": [row.dev for row in rows], "test": [row.test for row in rows]}
    lost = [f"{row.status}: {row.message}".removesuffix(": ") for row in rows if row.dev is None]
    return {k: [x for x in scores if x is not None] for k, scores in parts.items()}, lost


def _after(evaluation: Evaluation) -> str:
    steps = "steps" if evaluation.joined is None else "epochs"  # of a command, of a config
    return (
        ""
        if evaluation.stopped is None
        else f" after {evaluation.stopped.epochs} of {evaluation.stopped.of} {steps}"
    )


def _mean(sample: Sequence[float], metric: str, unit: str) -> str:
    mean = f"{scores.label(metric, unit)} {scores.shown(statistics.fmean(sample), unit)}"
    return mean + (f" (mean of {len(sample)} seeds)" if len(sample) > 1 else "")


def evaluation_line(evaluation: Evaluation, metric: str, unit: str) -> str:
    """Returns the score and values of an evaluation that has ended, in one line."""
    mean = _mean(evaluation.scores, metric, unit) if evaluation.scores else ""
    score = evaluation.failure or mean + _after(evaluation)
    values = ", ".join(f"{name} {scores.setting(of)}" for name, of in evaluation.values.items())
    return f"setting {evaluation.number}: {score}; {values}"


def progress_line(state: State, metric: str, unit: str) -> str:
    """Returns the number of evaluations, the time left and the best score, in one line."""
    count = len(state.history.ended)
    ranked = state.history.ranked()
    pace = (state.seconds - state.before) / max(1, count - state.known)
    left = state.trials - count
    more = f", about {text.duration(pace * left)} left" if left > 0 else ""
    if not ranked:
        return f"{count} of {state.trials}{more}; no score yet"
    best = _mean(ranked[0].scores, metric, unit)
    return f"{count} of {state.trials}{more}; best {best} (setting {ranked[0].number})"
