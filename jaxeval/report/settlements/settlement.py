"""The outcome of `settle`: a claim that holds whenever one stops."""

import bisect
import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval import stats
from jaxeval.bandits import Settle, Verdict
from jaxeval.bandits.rules import State
from jaxeval.report import Document, Result, Table, scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import Effect, Interval, anytime, describe, sequential
from jaxeval.stats.anytime import Settled, Statistic
from jaxeval.stats.sequential import FIRST_LOOK

_OUTSIDE = (
    "This difference of all scores lies outside the interval that earlier seeds gave: did a late "
    "run fail, or did code, data or machine change?"
)
_EXIT_CODES = {"better": 0, "undecided": 1, "failed": 1, "worse": 3, "equal": 4, "constant": 5}
_PLANNED = (5, 10, 20, 30)  # seeds for which the smallest difference is shown
_MOST_NEEDED = 10_000
METHODS: Mapping[Statistic, str] = {
    "t": "confidence sequence of the t statistic (Wang & Ramdas 2024)",
    "wins": "confidence sequence of the sign test (Robbins 1970)",
    "betting": "betting confidence sequence (Waudby-Smith & Ramdas 2024)",
}


@dataclasses.dataclass(frozen=True, repr=False)
class Settlement(Result):
    """What may be said of a candidate and a base, however often one has looked."""

    verdict: Verdict  # of the candidate
    base: str
    candidate: str
    difference: float | None  # candidate - base at the last look (wins: median); None: no look
    interval: Interval | None  # confidence sequence of the difference
    p_value: float | None  # anytime-valid, of equal means
    log_e: float | None  # of the last look, against "the candidate is no better"
    decided: int | None  # scores of the candidate at the look that decided
    looks: int  # scores of the candidate that the last look saw
    scores: Mapping[str, Sequence[float]]  # side -> those that the last look saw
    first_seed: int | None
    sds: Mapping[str, Interval]  # side -> interval of its standard deviation over seeds
    smallest: Mapping[int, float]  # seeds of each side -> smallest difference that they settle
    needed: int | None  # seeds of each side that settle the observed difference
    margin: float
    level: float  # probability of any wrong claim in this comparison
    statistic: Statistic
    paired: bool  # differences within pairs count, not two samples
    wins: tuple[int, int] | None  # pairs that the candidate has won and lost, if these count
    correlation: Effect | None  # of scores with one seed; None: unknown, or no seeds are shared
    known: int  # scores of the base that were there before
    failures: Mapping[str, str]  # side -> why a seed has no score, or how many have none
    higher_is_better: bool
    signature: str
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)  # side -> spent
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)  # side -> what ran
    metric: str | None = None
    unit: str = ""
    direction_assumed: bool = False
    comparison: int | None = None  # its number in the ledger
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """0 better, 1 undecided or failed, 3 worse, 4 equal, 5 one score at all seeds."""
        return _EXIT_CODES[self.verdict]

    def document(self) -> Document:
        """Returns the verdict, a row for each side, and what more seeds would settle."""
        scale = scores.format_of(self.unit, self.scores.values())
        mean, sd = scale.label("mean"), scale.label("sd")
        rows = [
            (
                side,
                *scale.described(known),
                scale.interval(self.sds.get(side)) or "-",
            )
            for side, known in self.scores.items()
        ]
        head = ("side", "scores" if self.paired else "seeds", mean, sd, f"95 % CI of {sd}")
        correlated = [self._correlated(self.correlation)] if self.correlation else []
        return Document(
            (self._answer(scale),),
            (Table(head, rows), *planned(self.smallest, scale), *correlated),
            (text.direction(self.higher_is_better, self.direction_assumed), *self.notes),
            details=lambda: [
                *(f"{side}: {what}" for side, what in self.versions.items()),
                *scores.listed(self.scores),
                *(f"{side}: {text.duration(took)}" for side, took in self.seconds.items()),
            ],
            title="Settlement",
            signature=self.signature,
            noun="side",
            last=(f"exit code {self.exit_code} ({self.verdict})",),
        )

    def _correlated(self, effect: Effect) -> str:
        low, high = effect.interval[:2]
        advice = {
            (True, False): "; pairs would take fewer seeds, if chosen before the first score",
            (False, True): ": wrong claims are more frequent than alpha; pairs are valid",
        }.get((low > 0, high < 0), "")
        form = "differences within pairs" if self.paired else f"two samples{advice}"
        what = "in a pair" if self.paired else "of one seed"
        interval = f"[{low:.2f}, {high:.2f}]"
        said = f"Scores {what} correlate by {effect.estimate:.2f}, 95 % CI {interval}"
        return f"{said}; compared as {form}."

    def _answer(self, scale: ScoreFormat) -> str:
        if self.verdict == "failed":
            said = "; ".join(f"{side}: {why}" for side, why in self.failures.items())
            return f"No claim about {self._sides()}, since a seed failed ({said})."
        if self.verdict == "constant":
            both = " and ".join(f"{side} has {scale(of[0])}" for side, of in self.scores.items())
            return (
                f"No claim over seeds: {both} at each of {self.looks} seeds, which counts as one "
                "score; does the seed reach the programs?"
            )
        within = f"the margin of {scores.difference(self.margin, self.unit)}"
        more = f" by more than {within}" if self.margin else ""
        claim = {
            "better": f"{self.candidate} is better than {self.base}{more}",
            "worse": f"{self.candidate} is worse than {self.base}{more}",
            "equal": f"{self.candidate} and {self.base} are equal within {within}",
        }.get(self.verdict, f"{self._sides()} is undecided")
        each = {side: text.counted(len(of), "seed") for side, of in self.scores.items()}
        same = len({*each.values()}) == 1
        spent = f"{each[self.base]} each" if same else ", ".join(map(" ".join, each.items()))
        spent = text.counted(self.looks, "pair") if self.paired else spent
        if self.difference is None or self.interval is None:
            return f"{claim}: {spent}, too few to say anything."
        shown = f"difference {scale.difference(self.difference)}"
        if self.wins is not None:  # the median may lie among failures
            median = f", median {shown}" * math.isfinite(self.difference)
            shown = f"{self.wins[0]} pairs won, {self.wins[1]} lost"
            if self.verdict in ("better", "worse") and self.difference == 0:  # most pairs are ties
                return f"{claim}: {shown} ({spent})."
            shown += median
        interval = scale.ci(self.interval) + " at any time" * (not self.interval.absent)
        line = f"{claim}: {shown}, {interval} ({spent})."
        low, high = self.interval[:2]
        if self.difference < low <= high or low <= high < self.difference:
            return f"{line} {_OUTSIDE}"
        if self.verdict == "undecided" and self.needed:
            line += f" Such a difference would take about {self.needed} seeds of each side."
        return line

    def _sides(self) -> str:
        return f"{self.candidate} against {self.base}"


def planned(smallest: Mapping[int, float], scale: ScoreFormat) -> Iterator[Table]:
    """Yields the table of the smallest differences that numbers of seeds settle, if any is."""
    rows = [(str(n), scale.difference(least)) for n, least in smallest.items()]
    if rows:
        yield Table(("seeds of each side", "smallest difference that they settle"), rows, words=0)


def settlement(
    rule: Settle,
    state: State,
    first_seed: int | None,
    more: Mapping[str, Any],
    seeds_shared: bool = True,
) -> Settlement:
    """Returns the outcome of a comparison.

    Args:
      more: further fields of `Settlement`.
      seeds_shared: scores of one number have one seed.
    """
    found, verdict, seen = rule.settled(state), rule.verdict(state), rule.seen(state)
    known = {m: of[np.isfinite(of)] for m, of in zip(state.models, seen, strict=True)}
    counts = {m: len(of) - len(known[m]) for m, of in zip(state.models, seen, strict=True)}
    lost = {m: f"{text.counted(n, 'seed')} failed: lost pairs" for m, n in counts.items() if n}
    stopped = rule.stopped(state)
    pairs = np.column_stack([seen[0][: len(seen[1])], seen[1]])
    pairs = pairs[np.isfinite(pairs).all(1)]  # of scores with one number
    none = verdict == "undecided" and found.looks and seeds_shared and np.array_equal(*seen)
    effect = ["both sides have the same score at every seed: the change has no effect"]
    warnings = effect if none else [] if verdict == "constant" else found.warnings
    late = {} if verdict == "failed" else stopped
    notes = [*warnings, *more.get("notes", ()), *_notes(known, lost, late)]
    return Settlement(
        verdict=verdict,
        base=state.models[0],
        candidate=state.models[1],
        **_looked(rule, found),
        decided=found.decided,
        looks=len(seen[1]),
        scores={side: of.tolist() for side, of in known.items()},
        first_seed=first_seed,
        **_noise(rule, known, found),
        margin=rule.margin,
        level=rule.alpha,
        statistic=rule.statistic,
        paired=rule.by_pairs,
        wins=found.wins,
        correlation=describe.correlation(*pairs.T) if seeds_shared else None,
        known=rule.known,
        failures={**lost, **stopped} if verdict == "failed" else lost,
        higher_is_better=rule.higher_is_better,
        signature=f"{METHODS[rule.statistic]} | {text.versions()}",
        **{**more, "notes": [*dict.fromkeys(notes)]},
    )


def _notes(
    known: Mapping[str, np.ndarray], lost: Mapping[str, str], late: Mapping[str, str]
) -> Iterator[str]:
    """Yields what went wrong on a side: pairs lost, a failure after the verdict, one score."""
    yield from (f"{side}: {why}" for side, why in lost.items())
    for side, why in late.items():
        yield f"{side}: {why}; the claim rests on earlier seeds"
    still = [m for m, of in known.items() if len(of) >= FIRST_LOOK and not stats.varies(of)]
    if len(still) == 1:
        yield f"{still[0]} has the same score at all seeds: does the seed reach the program?"


def signed(rule: Settle, found: Settled) -> tuple[float, float, float]:
    """Returns candidate - base and the ends of its interval, as stored."""
    low, high = found.interval
    if rule.higher_is_better:
        return found.difference, low, high
    return -found.difference, -high, -low


def _looked(rule: Settle, found: Settled) -> dict[str, Any]:
    """Returns what the last look shows; None before the first."""
    difference, low, high = signed(rule, found)
    interval = interval_of(low, high, 1 - rule.alpha, rule.statistic)
    shown = {"difference": difference, "interval": interval}
    shown |= {"p_value": found.p_value, "log_e": found.log_e}
    return shown if found.looks else dict.fromkeys(shown)


def _noise(rule: Settle, known: Mapping[str, np.ndarray], found: Settled) -> dict[str, Any]:
    """Returns the spread of each side, and what more seeds would settle."""
    varied = {side: of for side, of in known.items() if len({*of.tolist()}) > 1}
    spread = float(np.sqrt(np.mean([of.var(ddof=1) for of in varied.values()]))) if varied else 0.0
    plans = bool(spread) and not rule.by_pairs and not anytime.contradict(*found.interval)
    needed = None
    if found.looks and plans:
        beyond = abs(found.difference) - rule.margin
        sizes = range(min(map(len, known.values())) + 1, _MOST_NEEDED)
        least = functools.partial(sequential.smallest_difference, sd=spread, alpha=rule.alpha)
        place = bisect.bisect_left(sizes, -beyond, key=lambda n: -least(n))
        needed = sizes[place] if beyond > 0 and place < len(sizes) else None
    return {
        "sds": {side: describe.sd_interval(of) for side, of in varied.items()},
        "smallest": smallest(spread, rule.margin, rule.alpha) if plans else {},
        "needed": needed,
    }


def interval_of(
    low: float, high: float, confidence: float, statistic: Statistic = "t"
) -> Interval:
    """Returns a confidence sequence at one look, without bounds where it bounds nothing."""
    if anytime.contradict(low, high):
        return Interval.none(confidence, "early and late scores disagree")
    if math.isinf(low) and math.isinf(high):
        return Interval.none(confidence, "nothing bounds it yet")
    return Interval(low, high, confidence, METHODS[statistic])


def smallest(sd: float, margin: float, level: float) -> dict[int, float]:
    """Returns the finite smallest differences that numbers of seeds settle; sd: of one score."""
    found = {n: margin + sequential.smallest_difference(n, sd, alpha=level) for n in _PLANNED}
    return {n: least for n, least in found.items() if math.isfinite(least)}
