"""A search for the best setting: its numbers, and what is said of them."""

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from jaxeval.errors import RunError
from jaxeval.files import Json
from jaxeval.report import folding, scores, text
from jaxeval.report.document import Document, Figure, Table
from jaxeval.report.result import Result
from jaxeval.report.tuning.progress import after, score_of, value_of
from jaxeval.space.distributions import Value
from jaxeval.stats.results import Interval
from jaxeval.tuning import Search, insight
from jaxeval.tuning.history import Evaluation, History
from jaxeval.tuning.insight import Insight, Retrained, Slice, Spread
from jaxeval.tuning.running import State

_MOST_SHOWN = 10  # settings of the table


@dataclasses.dataclass(frozen=True, repr=False)
class Tuned(Result):
    """The outcome of a search; scores as they are stored.

    Attributes:
      best: the setting that is taken; None: none has a score.
      trials: evaluations that ended, of which some failed: failures.
      seeded: whether what is evaluated is told its seed; if not, it cannot be trained again.
      noise, noise_df: standard deviation of one seed's score about its setting, and its degrees of
        freedom; None: no setting has two different scores.
      posterior: of method gp.
      config: file with the config of the best setting, of a search over one.
    """

    best: Evaluation | None
    reason: str
    trials: int
    failures: Mapping[str, int]
    seconds: float
    metric: str
    unit: str
    higher_is_better: bool
    seeded: bool
    noise: float | None
    noise_df: int
    retrained: Retrained | None
    posterior: Insight | None
    evaluations: Sequence[Evaluation]
    search: Mapping[str, Json]
    signature: str
    config: str | None = None

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """2 where no setting has a score."""
        return 2 if self.best is None else 0

    @property
    def values(self) -> dict[str, Value]:
        """The best setting; RunError where no setting has a score."""
        if self.best is None:
            raise RunError(self._answer())
        return dict(self.best.values)

    def ranked(self) -> list[Evaluation]:
        """Settings that can be taken, the best mean first."""
        return History(tuple(self.evaluations), self.higher_is_better).ranked()

    def document(self) -> Document:
        """The answer, the best settings, a line a hyperparameter of the one taken, what failed."""
        by = f"{self.search['method']}, seed {self.search['seed']}"
        spent = f"{text.duration(self.seconds)}, {self.reason}"
        return Document(
            (self._answer(),),
            (*(() if self.best is None else self._tables(self.best)), *self._losses()),
            details=[*self._notes()],
            figures=self._figures,
            title="Search",
            signature=f"{by}, {spent} | {self.signature}",
            last=() if self.config is None else (f"its config: {self.config}",),
        )

    def _figures(self) -> Sequence[Figure]:
        from jaxeval.report.tuning import figures

        return figures.draw(self)

    def _answer(self) -> str:
        """The setting to take, what it is worth, and what is not shown, in a sentence."""
        if self.best is None:
            return f"No setting has a score ({self.reason})."
        by = "posterior mean" if self.search["method"] == "gp" else "mean"
        seen = score_of(self.best.scores, self.metric, self.unit) + after(self.best.stopped)
        spent = text.counted(self.trials, "setting")
        return (
            f"Take setting {self.best.number}, the best {by} of {spent}: {seen} in the "
            f"search; {self._fresh()}; {self._unsure()}."
        )

    def _fresh(self) -> str:
        """What the setting that is taken is worth with seeds that no choice has seen."""
        if self.retrained is None or not self.retrained.parts:
            why = "" if self.seeded else " (it is not told a seed)"
            failed = (
                f"not trained again{why}" if self.retrained is None else "no fresh seed has one"
            )
            return f"{failed}, so what it is worth is not known"
        means = []
        for part, of in self.retrained.parts.items():
            same = " each (do they depend on the seed?)" if of.n > 1 else ""
            means.append(
                f"{part} {self._shown(of.mean)}{self._interval(of.mean_interval) or same}"
            )
        count = max(of.n for of in self.retrained.parts.values())
        gives = "gives" if count == 1 else "give"
        return f"{text.counted(count, 'fresh seed')} {gives} {', '.join(means)}"

    def _unsure(self) -> str:
        """What is not known of the other settings."""
        if len(self.ranked()) < 2:
            return "there is no other with a score"
        if self.noise is None:
            return "no difference between settings can be called real: none has two scores"
        if self.posterior is None:
            return "whether it is better than the others was not tested"
        others = len(self.posterior.alike) - 1
        many = f"{others} {'other is' if others == 1 else 'others are'} not"
        known = ", which knows the noise of a score by its prior alone"
        known = "" if self.posterior.noise_known else known
        return f"{many if others else 'all others are'} told apart from it by the model{known}"

    def _tables(self, best: Evaluation) -> Iterator[Table | str]:
        """The best settings, and a row a hyperparameter of the one that is taken."""
        ranked, space = self.ranked(), self.search["space"]
        assert isinstance(space, Mapping)
        shown = ranked[:_MOST_SHOWN]
        names = [name for name in space if any(name in of.values for of in shown)]
        rows = [
            [
                f"{of.number}{after(of.stopped)}",
                str(len(of.scores)),
                self._shown(of.mean),
                *(value_of(of.values.get(name, "-")) for name in names),
            ]
            for of in shown
        ]
        label = scores.label(self.metric, self.unit)
        yield Table(["setting", "seeds", label, *names], rows, words=0)
        if len(ranked) > _MOST_SHOWN:
            yield f"the best {_MOST_SHOWN} of {len(ranked)} settings"
        head = ["hyperparameter", "value"]
        rows = [[name, value_of(of)] for name, of in best.values.items()]
        if self.posterior is not None:
            head += ["not told apart from it", "importance (model)"]
            total = {of.name: f"{of.total:.2f}" for of in self.posterior.importance}
            each = self.posterior.slices
            rows = [[of.name, value_of(of.value), _alike(of), total[of.name]] for of in each]
        yield Table(head, rows, words=3)

    def _losses(self) -> Iterator[str]:
        """What failed, and what was stopped."""
        yield from (f"{count} failed: {cause}" for count, cause in folding.alike(self.failures))
        stopped = sum(bool(e.result and e.result.stopped) for e in self.evaluations)
        if stopped:
            taken = "" if self.best and self.best.stopped else ", and cannot be taken"
            yield f"{text.counted(stopped, 'setting')} stopped early by halving{taken}"
        again = collections.Counter(self.retrained.failures if self.retrained else ())
        for count, cause in folding.alike(again):
            yield f"{text.counted(count, 'fresh seed')} failed: {cause}"

    def _notes(self) -> Iterator[Table | str]:
        """The noise of scores, the optimism of the search, and importance."""
        if self.noise is not None:
            df = text.counted(self.noise_df, "degree")
            yield f"sd of one seed's score: {self._shown(self.noise)} ({df} of freedom)"
        again = self.retrained
        if again is not None and again.optimism is not None:
            said = self._shown(again.optimism) + self._interval(again.interval)
            yield f"optimism of the search (its score less the mean of fresh ones): {said}"
        if self.posterior is not None:
            title = "Importance: Sobol indices of the model, and their spread"
            yield Table(IMPORTANCE, importance_rows(self.posterior), title)

    def _shown(self, score: float) -> str:
        return scores.shown(score, self.unit)

    def _interval(self, bounds: Interval | None) -> str:
        if bounds is None:
            return ""
        ends = ", ".join(map(self._shown, bounds[:2]))
        return f", {text.confidence(bounds)} [{ends}]"


IMPORTANCE = ("hyperparameter", "total", "over draws", "first order", "over draws")


def importance_rows(of: Insight) -> list[Sequence[str]]:
    """A row a hyperparameter, the most important first; columns are IMPORTANCE."""

    def index(mean: float, spread: Spread) -> tuple[str, str]:
        return f"{mean:.2f}", f"{spread.low:.2f} to {spread.high:.2f}"

    return [
        (row.name, *index(row.total, row.total_spread), *index(row.first, row.first_spread))
        for row in of.importance
    ]


def _alike(of: Slice) -> str:
    """Values that are not told apart from that of the best setting."""
    if isinstance(of.value, int | float) and not isinstance(of.value, bool):
        if len(of.alike) == len(of.values):
            return "the whole range"
        several = len(of.alike) > 1
        return f"{value_of(of.alike[0])} to {value_of(of.alike[-1])}" if several else "none other"
    return ", ".join(value_of(other) for other in of.alike if other != of.value) or "none other"


def result(
    search: Search,
    state: State,
    metric: str,
    unit: str,
    margin: float,
    fresh: Mapping[str, Sequence[float]] | None,
    failures: Sequence[str] = (),
    seeded: bool = True,
    config: str | None = None,
) -> Tuned:
    """The outcome of a search.

    Args:
      margin: a difference that does not matter, in the unit.
      fresh, failures: scores of the best setting with fresh seeds by part, and causes of others.
    """
    history, best, posterior, again = state.history, search.best(state.history), None, None
    if search.method == "gp" and best is not None:
        limits, seed = scores.limits(unit), search.seed
        posterior = insight.insight(search.space, history, best, margin, seed, limits)
    samples = [e.scores for e in history.evaluations]
    if best is not None and fresh is not None:
        samples.append(tuple(next(iter(fresh.values()))))
        higher = history.higher_is_better
        again = insight.retrained(best.mean, higher, fresh, failures, metric, unit)
    causes = [e.result.failure for e in history.ended if e.result and e.result.failure]
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
