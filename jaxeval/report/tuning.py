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
from jaxeval.tuning.search import Search

_MOST_SHOWN = 10  # settings of the table
_MOST_CAUSES = 5  # of failures
LEAST_DF = 4  # of the noise, below which little is said by it


@dataclasses.dataclass(frozen=True)
class Optimism:
    """How much more the search promises than the setting that is taken keeps.

    The best of many noisy scores is best by luck too: Melis et al. (2018, section 5.1) found it
    one standard deviation from the mean of the same setting with other seeds.

    Attributes:
      seen: mean score of the setting in the search.
      mean: of its scores with fresh seeds.
      value: seen - mean, mean - seen where lower is better: positive where the search was too
        hopeful.
      interval: of the value, for a search that has ended; None for one fresh score, and for equal
        ones, whose spread is not known.
    """

    seen: float
    mean: float
    value: float
    interval: Interval | None


@dataclasses.dataclass(frozen=True)
class Retrained:
    """The setting that is taken with fresh seeds.

    Attributes:
      scores: part of the data -> those of seeds that have one; the first is what was searched by.
      failures: causes, of the other seeds.
      parts: part -> its scores in numbers.
    """

    scores: Mapping[str, Sequence[float]]
    failures: Sequence[str]
    parts: Mapping[str, describe.Summary]
    optimism: Optimism | None


@dataclasses.dataclass(frozen=True, repr=False)
class Tuned(Result):
    """The outcome of a search; scores as they are stored.

    Attributes:
      best: the setting that is taken; None: none has a score.
      reason: why nothing more was proposed.
      trials: evaluations that ended.
      failures: cause -> how many of them.
      seeded: whether what is evaluated is told its seed; if not, it cannot be trained again.
      noise: standard deviation of one seed's score about its setting; None: no setting has two
        different scores.
      noise_df: its degrees of freedom.
      retrained: None: not asked for.
      posterior: of method gp.
      config: file with the config of the best setting, of a search over one.
      search: how the space was searched.
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
        """The best setting.

        Raises:
          RunError: no setting has a score.
        """
        if self.best is None:
            raise RunError(f"no setting has a score ({self.reason})")
        return dict(self.best.values)

    @property
    def history(self) -> History:
        """All evaluations."""
        return History(tuple(self.evaluations), self.higher_is_better)

    def document(self) -> Document:
        """The answer, the best settings, a line a hyperparameter of the one taken, what failed."""
        last = () if self.config is None else (f"its config: {self.config}",)
        if self.best is None:
            return Document((self._answer(),), tuple(self._losses()), title="Search")
        ranked = histories.ranked(self.history)
        more = f"the best {_MOST_SHOWN} of {len(ranked)} settings"
        return Document(
            (self._answer(),),
            (
                self._settings(ranked[:_MOST_SHOWN]),
                *((more,) if len(ranked) > _MOST_SHOWN else ()),
                self._taken(self.best),
                *self._losses(),
            ),
            details=(*self._notes(len(ranked)), *self._importance()),
            figures=self._figures,
            title="Search",
            signature=f"{self.search['method']}, seed {self.search['seed']}, "
            f"{text.duration(self.seconds)}, {self.reason} | {self.signature}",
            last=last,
        )

    def _figures(self) -> Sequence[Figure]:
        from jaxeval.report import tuning_figures

        return tuning_figures.draw(self)

    def _answer(self) -> str:
        """The setting to take, what it is worth, and what is not shown, in a sentence."""
        if self.best is None:
            return f"No setting has a score ({self.reason})."
        by = "posterior mean" if self.search["method"] == "gp" else "mean"
        seen, short = score(self.best.scores, self.metric, self.unit), ""
        if self.best.stopped is not None:
            steps, whole = self.best.stopped
            short = f" after {steps} of {whole} steps, as halving stopped every setting"
        return (
            f"Take setting {self.best.numbers[0]}, the best {by} of "
            f"{text.counted(self.trials, self._unit())}: {seen} in the search{short}; "
            f"{self._fresh()}; {self._unsure()}."
        )

    def _unit(self) -> str:
        """What trials are: with adaptive seeds a setting may be evaluated several times."""
        return "evaluation" if self.search["adaptive"] else "setting"

    def _fresh(self) -> str:
        """What the setting that is taken is worth with seeds that no choice has seen."""
        again = self.retrained
        if again is None or not again.parts:
            why = "" if self.seeded else " (it is not told a seed)"
            failed = "no fresh seed has a score" if again else f"not trained again{why}"
            return f"{failed}, so what it is worth is not known"
        means = [
            f"{part} {self._shown(of.mean)}"
            + (
                self._interval(of.mean_interval)
                or (" each (do they depend on the seed?)" if of.n > 1 else "")
            )
            for part, of in again.parts.items()
        ]
        count = max(of.n for of in again.parts.values())
        gives = "gives" if count == 1 else "give"
        return f"{text.counted(count, 'fresh seed')} {gives} {', '.join(means)}"

    def _unsure(self) -> str:
        """What is not known of the other settings."""
        if len(histories.ranked(self.history)) < 2:
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

    def _settings(self, shown: Sequence[Setting]) -> Table:
        """A row for each of the best settings; their steps where they were stopped."""
        space = self.search["space"]
        assert isinstance(space, Mapping)
        names = [name for name in space if any(name in of.values for of in shown)]
        steps = any(of.stopped for of in shown)
        head = ["setting", "seeds", scores.label(self.metric, self.unit), *names]
        rows = [
            [
                str(of.numbers[0]) + (after(of.stopped) if steps else ""),
                str(len(of.scores)),
                self._shown(of.mean),
                *(value(of.values.get(name, "-")) for name in names),
            ]
            for of in shown
        ]
        return Table(head, rows, words=0)

    def _taken(self, best: Setting) -> Table:
        """A row a hyperparameter of the setting that is taken."""
        if self.posterior is None:
            rows = [[name, value(number)] for name, number in best.values.items()]
            return Table(("hyperparameter", "value"), rows, words=2)
        total = {of.name: f"{of.total:.2f}" for of in self.posterior.importance}
        each = self.posterior.slices
        rows = [[s.name, value(s.value), _alike(s), total[s.name]] for s in each]
        head = ("hyperparameter", "value", "not told apart from it", "importance (model)")
        return Table(head, rows, words=3)

    def _losses(self) -> Iterator[str]:
        """What failed, and what was stopped."""
        for count, cause in _causes(self.failures):
            yield f"{text.counted(count, self._unit())} failed: {cause}"
        steps = [at.epochs for e in self.evaluations if e.result and (at := e.result.stopped)]
        if steps:
            which = " to ".join(map(str, sorted({min(steps), max(steps)})))
            taken = "" if self.best is None or self.best.stopped else ", and cannot be taken"
            stopped = text.counted(len(steps), "setting")
            yield f"{stopped} stopped early by halving (step {which}){taken}"
        failed = collections.Counter(self.retrained.failures if self.retrained else ())
        for count, cause in _causes(failed):
            yield f"retrained: {text.counted(count, 'fresh seed')} failed: {cause}"

    def _notes(self, settings: int) -> Iterator[str]:
        """The noise of scores, and the optimism of the search."""
        seeds = self.search["seeds"]
        assert isinstance(seeds, int)
        if self.noise is not None:
            sd, df = self._shown(self.noise), text.counted(self.noise_df, "degree")
            said = f"sd of one seed's score: {sd} ({df} of freedom)"
            if self.noise_df >= LEAST_DF and not self.search["adaptive"] and settings > 1:
                # of a difference of two means of `seeds` scores each
                least = two_sided(self.noise_df) * (2 / seeds) ** 0.5 * self.noise
                said += (
                    "; two settings chosen beforehand differ by more than that noise if they are "
                    f"{self._shown(least)} apart; two that are picked from the table may be so by "
                    "chance"
                )
            yield said
        optimism = self.retrained and self.retrained.optimism
        if optimism:
            yield (
                f"optimism of the search: {self._shown(optimism.value)}"
                f"{self._interval(optimism.interval)} (the score of the setting in the search, "
                f"{self._shown(optimism.seen)}, and its mean with fresh seeds, "
                f"{self._shown(optimism.mean)})"
            )

    def _importance(self) -> Iterator[Table]:
        if self.posterior is not None:
            head = ("hyperparameter", "total", "over draws", "first order", "over draws")
            title = "Importance: Sobol indices of the model, and their spread"
            yield Table(head, importance_rows(self.posterior), title)

    def _shown(self, score: float) -> str:
        return scores.shown(score, self.unit)

    def _interval(self, bounds: Interval | None) -> str:
        if bounds is None:
            return ""
        return (
            f", {text.confidence(bounds)} [{self._shown(bounds.low)}, {self._shown(bounds.high)}]"
        )


def importance_rows(of: Insight) -> list[Sequence[str]]:
    """A row a hyperparameter, the most important first."""
    return [
        (row.name, f"{row.total:.2f}", "{:.2f} to {:.2f}".format(*row.total_spread),
         f"{row.first:.2f}", "{:.2f} to {:.2f}".format(*row.first_spread))
        for row in of.importance
    ]  # fmt: skip


def _alike(of: Slice) -> str:
    """Values that are not told apart from that of the best setting."""
    if isinstance(of.value, int | float) and not isinstance(of.value, bool):
        if len(of.alike) == len(of.values):
            return "the whole range"
        ends = f"{value(of.alike[0])} to {value(of.alike[-1])}" if of.alike else ""
        return ends if len(of.alike) > 1 else "none other"
    others = [value(other) for other in of.alike if other != of.value]
    return ", ".join(others) or "none other"


def _causes(failures: Mapping[str, int]) -> list[tuple[int, str]]:
    """The most frequent causes, those that differ in numbers alone as one; last all others."""
    groups = folding.alike(failures)
    shown, others = groups[:_MOST_CAUSES], groups[_MOST_CAUSES:]
    if others:
        count = sum(group[0] for group in others)
        shown.append((count, f"{text.counted(len(others), 'other cause')}; --json has all"))
    return shown


def result(
    search: Search,
    history: History,
    best: Setting | None,
    reason: str,
    seconds: float,
    *,
    metric: str = "score",
    unit: str = "number",
    margin: float = 0.0,
    fresh: Mapping[str, Sequence[float]] | None = None,
    failures: Sequence[str] = (),
    seeded: bool = True,
    config: str | None = None,
) -> Tuned:
    """The outcome of a search.

    Args:
      reason: why nothing more was proposed.
      margin: a difference that does not matter, in the unit.
      fresh: scores of the best setting with fresh seeds by part; None: not asked for.
      failures: of other fresh seeds.
      config: as of `Tuned`.
    """
    posterior = None
    if search.method == "gp" and best is not None:
        from jaxeval.tuning import insight
        from jaxeval.tuning.search import one_thread

        with one_thread():
            limits, seed = scores.limits(unit), search.seed
            posterior = insight.insight(search.space, history, best, margin, seed, limits)
    retrained = None
    if best is not None and fresh is not None:
        parts = {part: _summary(of, metric, unit) for part, of in fresh.items() if of}
        searched = next(iter(fresh.values()))
        worth = optimism(best.mean, searched, history.higher_is_better) if searched else None
        retrained = Retrained(fresh, failures, parts, worth)
    each = [setting.scores for setting in histories.settings(history)]
    each += [tuple(next(iter(fresh.values())))] if fresh else []
    causes = [e.result.failure for e in history.ended if e.result and e.result.failure]
    return Tuned(
        best,
        reason,
        len(history.ended),
        dict(collections.Counter(causes).most_common()),
        seconds,
        metric,
        unit,
        history.higher_is_better,
        seeded,
        *noise(each),
        retrained,
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


def optimism(seen: float, fresh: Sequence[float], higher_is_better: bool) -> Optimism:
    """How much better a score that was seen is than the mean with fresh seeds, and its t interval.

    Args:
      seen: in the search.
    """
    sign, mean, interval = 1.0 if higher_is_better else -1.0, statistics.fmean(fresh), None
    if len(set(fresh)) > 1:
        of_mean = describe.t_interval(np.asarray(fresh, np.float64), 0.95)
        low, high = sorted(sign * (seen - end) + 0.0 for end in (of_mean.low, of_mean.high))
        interval = Interval(low, high, of_mean.confidence, of_mean.method)
    return Optimism(seen, mean, sign * (seen - mean) + 0.0, interval)  # never -0


def noise(samples: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    """Standard deviation of one seed's score, pooled over settings, and its degrees of freedom.

    None where no setting has two different scores.
    """
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
    return "" if stopped is None else f", stopped after {stopped.epochs} of {stopped.of} steps"


def value(of: Json) -> str:
    """Of a hyperparameter, floats to four digits."""
    return f"{of:.4g}" if isinstance(of, float) else of if isinstance(of, str) else json.dumps(of)


def score(sample: Sequence[float], metric: str, unit: str) -> str:
    """A setting's mean score, and of how many seeds."""
    mean = scores.shown(statistics.fmean(sample), unit)
    several = f" (mean of {len(sample)} seeds)" if len(sample) > 1 else ""
    return f"{scores.label(metric, unit)} {mean}{several}"


def ended(evaluation: Evaluation, metric: str, unit: str) -> str:
    """What came of one evaluation, in a line."""
    result = evaluation.result
    assert result is not None
    said = result.failure or score(result.scores, metric, unit)
    shown = ", ".join(f"{name} {value(number)}" for name, number in evaluation.values.items())
    return f"setting {evaluation.number}: {said}{after(result.stopped)}; {shown}"


def progress(history: History, trials: int, seconds: float, metric: str, unit: str) -> str:
    """How far a search is, the time that is left, and its best score so far, in a line.

    Args:
      seconds: that an evaluation took.
    """
    count, best = len(history.ended), histories.ranked(history)
    left = f", about {text.duration(seconds * (trials - count))} left" if count < trials else ""
    said = "no score yet"
    if best:
        shown = score(best[0].scores, metric, unit)
        said = f"best {shown} (setting {best[0].numbers[0]}{after(best[0].stopped)})"
    return f"{count} of {trials}{left}; {said}"
