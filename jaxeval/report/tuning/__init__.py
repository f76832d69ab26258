"""A search for the best setting: its numbers, what is said of them, its progress."""

import collections
import dataclasses
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy import special

from jaxeval.errors import RunError
from jaxeval.files import Json
from jaxeval.report import folding, scores, text
from jaxeval.report.document import Document, Figure, Table
from jaxeval.report.result import Result
from jaxeval.runs import metrics
from jaxeval.space.distributions import Value
from jaxeval.stats import describe
from jaxeval.stats.results import Interval, within
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import Evaluation, History, Setting, Stopped
from jaxeval.tuning.insight import Insight, Slice
from jaxeval.tuning.search import End, Search, State

_MOST_SHOWN = 10  # settings of the table
_MOST_CAUSES = 5  # of failures
LEAST_DF = 4  # of the noise, below which little is said by it


@dataclasses.dataclass(frozen=True)
class Retrained:
    """The setting that is taken with fresh seeds.

    The best of many noisy scores is best by luck too: Melis et al. (2018, section 5.1) found it
    one standard deviation from the mean of the same setting with other seeds.

    Attributes:
      scores: part of the data -> those of seeds that have one; the first is what was searched by.
      failures: causes, of the other seeds.
      parts: part -> its scores in numbers.
      optimism: by how much its score in the search is better than the mean of fresh ones; None
        where no seed has a score.
      interval: of the optimism, by Student's t; None where fresh scores do not differ.
    """

    scores: Mapping[str, Sequence[float]]
    failures: Sequence[str]
    parts: Mapping[str, describe.Summary]
    optimism: float | None
    interval: Interval | None


@dataclasses.dataclass(frozen=True, repr=False)
class Tuned(Result):
    """The outcome of a search; scores as they are stored.

    Attributes:
      best: the setting that is taken; None: none has a score.
      reason: why nothing more was proposed.
      trials: evaluations that ended.
      failures: cause -> how many of them.
      seeded: whether what is evaluated is told its seed; if not, it cannot be trained again.
      noise, noise_df: standard deviation of one seed's score about its setting, and its degrees of
        freedom; None: no setting has two different scores.
      retrained: None: not asked for.
      posterior: of method gp.
      search: how the space was searched.
      config: file with the config of the best setting, of a search over one.
    """

    best: Setting | None
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

    def ranked(self) -> list[Setting]:
        """Settings that can be taken, the best mean first."""
        return histories.ranked(History(tuple(self.evaluations), self.higher_is_better))

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
        seen = _score(self.best.scores, self.metric, self.unit) + after(self.best.stopped)
        spent = text.counted(self.trials, "evaluation" if self.search["adaptive"] else "setting")
        return (
            f"Take setting {self.best.numbers[0]}, the best {by} of {spent}: {seen} in the "
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

    def _tables(self, best: Setting) -> Iterator[Table | str]:
        """The best settings, and a row a hyperparameter of the one that is taken."""
        ranked, space = self.ranked(), self.search["space"]
        assert isinstance(space, Mapping)
        shown = ranked[:_MOST_SHOWN]
        names = [name for name in space if any(name in of.values for of in shown)]
        rows = [
            [
                f"{of.numbers[0]}{after(of.stopped)}",
                str(len(of.scores)),
                self._shown(of.mean),
                *(_value(of.values.get(name, "-")) for name in names),
            ]
            for of in shown
        ]
        label = scores.label(self.metric, self.unit)
        yield Table(["setting", "seeds", label, *names], rows, words=0)
        if len(ranked) > _MOST_SHOWN:
            yield f"the best {_MOST_SHOWN} of {len(ranked)} settings"
        head, rows = ["hyperparameter", "value"], [[n, _value(v)] for n, v in best.values.items()]
        if self.posterior is not None:
            head += ["not told apart from it", "importance (model)"]
            total = {of.name: f"{of.total:.2f}" for of in self.posterior.importance}
            each = self.posterior.slices
            rows = [[of.name, _value(of.value), _alike(of), total[of.name]] for of in each]
        yield Table(head, rows, words=3)

    def _losses(self) -> Iterator[str]:
        """What failed, and what was stopped."""
        groups = folding.alike(self.failures)
        for count, cause in groups[:_MOST_CAUSES]:
            yield f"{count} failed: {cause}"
        if len(groups) > _MOST_CAUSES:
            count = sum(group[0] for group in groups[_MOST_CAUSES:])
            yield f"{count} failed: {len(groups) - _MOST_CAUSES} other causes; --json has all"
        stopped = sum(bool(e.result and e.result.stopped) for e in self.evaluations)
        if stopped:
            taken = "" if self.best and self.best.stopped else ", and cannot be taken"
            yield f"{text.counted(stopped, 'setting')} stopped early by halving{taken}"
        for count, cause in folding.alike(
            collections.Counter(self.retrained.failures if self.retrained else ())
        ):
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
    spread = "{:.2f} to {:.2f}".format
    return [
        (row.name, f"{row.total:.2f}", spread(*row.total_spread), f"{row.first:.2f}",
         spread(*row.first_spread))
        for row in of.importance
    ]  # fmt: skip


def _alike(of: Slice) -> str:
    """Values that are not told apart from that of the best setting."""
    if isinstance(of.value, int | float) and not isinstance(of.value, bool):
        if len(of.alike) == len(of.values):
            return "the whole range"
        several = len(of.alike) > 1
        return f"{_value(of.alike[0])} to {_value(of.alike[-1])}" if several else "none other"
    return ", ".join(_value(other) for other in of.alike if other != of.value) or "none other"


def result(
    search: Search,
    state: State,
    end: End,
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
      fresh: scores of the best setting with fresh seeds by part; None: not asked for.
      failures: of other fresh seeds.
    """
    history, posterior, again = state.history, None, None
    best = search.best(history)
    if search.method == "gp" and best is not None:
        from jaxeval.tuning import insight
        from jaxeval.tuning.search import one_thread

        with one_thread():
            limits, seed = scores.limits(unit), search.seed
            posterior = insight.insight(search.space, history, best, margin, seed, limits)
    samples = [setting.scores for setting in histories.settings(history)]
    if best is not None and fresh is not None:
        samples.append(tuple(next(iter(fresh.values()))))
        higher = history.higher_is_better
        again = retrained(best.mean, higher, fresh, failures, metric, unit)
    causes = [e.result.failure for e in history.ended if e.result and e.result.failure]
    return Tuned(
        best,
        end.reason(state),
        len(history.ended),
        dict(collections.Counter(causes).most_common()),
        state.seconds,
        metric,
        unit,
        history.higher_is_better,
        seeded,
        *_noise(samples),
        again,
        posterior,
        history.evaluations,
        search.to_dict(),
        text.versions(),
        config,
    )


def _summary(sample: Sequence[float], metric: str, unit: str) -> describe.Summary:
    summary = describe.summarize(sample)
    bounds = metrics.bounds(metric, np.array(sample), unit)
    if bounds is None or summary.mean_interval is None:
        return summary
    return dataclasses.replace(summary, mean_interval=within(summary.mean_interval, *bounds))


def retrained(
    seen: float,
    higher_is_better: bool,
    fresh: Mapping[str, Sequence[float]],
    failures: Sequence[str],
    metric: str,
    unit: str,
) -> Retrained:
    """What fresh seeds say of a score that was seen in the search; arguments as of `result`."""
    parts = {part: _summary(of, metric, unit) for part, of in fresh.items() if of}
    searched, interval = next(iter(fresh.values())), None
    if not searched:
        return Retrained(fresh, failures, parts, None, None)
    sign = 1.0 if higher_is_better else -1.0
    if len(set(searched)) > 1:
        of_mean = describe.t_interval(np.asarray(searched, np.float64), 0.95)
        low, high = sorted(sign * (seen - end) + 0.0 for end in of_mean[:2])
        interval = of_mean._replace(low=low, high=high)
    optimism = sign * (seen - statistics.fmean(searched)) + 0.0  # never -0
    return Retrained(fresh, failures, parts, optimism, interval)


def _noise(samples: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    """Standard deviation of one seed's score, pooled over settings, and its degrees of freedom."""
    several = [np.asarray(sample, np.float64) for sample in samples if len(sample) > 1]
    if not any(np.ptp(sample) for sample in several):
        return None, 0
    freedom = sum(len(sample) - 1 for sample in several)
    squares = sum(float(np.sum((s - s.mean()) ** 2)) for s in several)
    return math.sqrt(squares / freedom), freedom


def two_sided(df: int) -> float:
    """Student's t quantile that 95 % of |t| are below."""
    return float(special.stdtrit(df, 0.975))


def after(stopped: Stopped | None) -> str:
    """How short a training was that halving stopped; "" of a whole one."""
    return "" if stopped is None else f" after {stopped.epochs} of {stopped.of} steps"


def _value(of: Json) -> str:
    """Of a hyperparameter, floats to four digits."""
    return f"{of:.4g}" if isinstance(of, float) else of if isinstance(of, str) else json.dumps(of)


def _score(sample: Sequence[float], metric: str, unit: str) -> str:
    mean = scores.shown(statistics.fmean(sample), unit)
    several = f" (mean of {len(sample)} seeds)" if len(sample) > 1 else ""
    return f"{scores.label(metric, unit)} {mean}{several}"


def ended(evaluation: Evaluation, metric: str, unit: str) -> str:
    """What came of an evaluation that has ended, in a line."""
    result = evaluation.result
    assert result is not None
    said = result.failure or _score(result.scores, metric, unit) + after(result.stopped)
    shown = ", ".join(f"{name} {_value(of)}" for name, of in evaluation.values.items())
    return f"setting {evaluation.number}: {said}; {shown}"


def progress(state: State, trials: int, metric: str, unit: str) -> str:
    """How far a search is, the time that is left, and its best score so far, in a line."""
    count, ranked = len(state.history.ended), histories.ranked(state.history)
    left = f", about {text.duration(state.pace * (trials - count))} left" if count < trials else ""
    if not ranked:
        return f"{count} of {trials}{left}; no score yet"
    best = _score(ranked[0].scores, metric, unit)
    return f"{count} of {trials}{left}; best {best} (setting {ranked[0].numbers[0]})"
