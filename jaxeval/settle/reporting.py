"""What is reported of a ledger: lines of progress; its candidates, and the bases they became.

`settle self` reports what repeated runs of one command say about it.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import stats
from jaxeval.bandits import Settle
from jaxeval.bandits.running import Evaluated
from jaxeval.errors import DataError
from jaxeval.report import Document, Result, Table, scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.report.settlements import Base, Candidate, Outcome, Settlements, settlement
from jaxeval.settle import ledger
from jaxeval.settle.ledger import Comparison, Ledger
from jaxeval.stats import Interval, anytime, describe, sequential
from jaxeval.stats.sequential import FIRST_LOOK

_OUTCOMES: Mapping[str | None, Outcome] = {
    "better": "kept",
    "worse": "discarded",
    "equal": "discarded",
    "undecided": "undecided",
    "constant": "undecided",
    "failed": "failed",
    None: "unfinished",
}
_ALPHA = 0.05
_SAME = (
    "the sd within a seed may be as large as that over seeds: the seed decides little, or does "
    "not reach the program"
)


def report(path: Path) -> Settlements:
    """Returns what a ledger holds.

    Raises:
      ConfigError: the file is no ledger.
      DataError: it holds no comparison.
    """
    with ledger.opened(path, read_only=True) as book:
        every = book.comparisons()
        if not every:
            raise DataError("no comparison has begun", str(path))
        measured = next(
            (_scores_of(each) for each in reversed(every) if each.result), ("", "", True)
        )
        shown = [each for each in every if not each.result or _scores_of(each) == measured]
        bases = [*_bases(book, shown)]
        spent = book.spent()
        asked = shown[-1].settings
        last = next((np.array(of.scores) for of in reversed(bases) if of.mean), None)
        spread = None if last is None else describe.sd(last)
        level = book.next_level(asked["alpha"], asked["correction"])
        plain = asked["statistic"] == "t" and not asked["paired"]  # two samples
        methods = dict.fromkeys(settlement.METHODS[e.settings["statistic"]] for e in shown)
        others = text.counted(len(every) - len(shown), "comparison")
        return Settlements(
            candidates=[_candidate(of, spent.get(of.number, ())) for of in shown],
            bases=bases,
            sd=spread,
            sd_interval=None if last is None else describe.sd_interval(last),
            smallest=settlement.smallest(spread, asked["margin"], level)
            if spread and plain
            else {},
            next_level=level,
            p_value=math.exp(min(0.0, -sequential.merge({e.number: _log_e(e) for e in shown}))),
            rules=[*dict.fromkeys((e.settings["correction"], e.settings["alpha"]) for e in every)],
            runs=sum(map(len, spent.values())),
            seconds=sum(map(sum, spent.values())),
            higher_is_better=measured[2],
            signature=" | ".join([*methods, text.versions()]),
            metric=measured[0] or None,
            unit=measured[1],
            notes=[f"{others} with another metric left out"] if len(shown) < len(every) else [],
        )


def _scores_of(comparison: Comparison) -> tuple[str, str, bool]:
    """Returns metric, unit and direction of a comparison that has a result."""
    result = comparison.result or {}
    return result["metric"] or "", result["unit"], comparison.settings["higher_is_better"]


def _log_e(comparison: Comparison) -> float:
    """Returns log e of "better"; -inf, no evidence, if a seed failed or none has ended."""
    log_e = None if comparison.verdict == "failed" else (comparison.result or {}).get("log_e")
    return -math.inf if log_e is None else float(log_e)


def _bases(book: Ledger, shown: Sequence[Comparison]) -> Iterator[Base]:
    """Yields each side that was a base, or won last, in the order in which they became one."""
    won = {each.candidate.id: each for each in shown if each.won}
    last = [each.candidate.id for each in shown if each.won][-1:]  # maybe a base of old
    order = [*dict.fromkeys(each.base.id for each in shown if each.base.id not in last), *last]
    sides = {side.id: side for each in shown for side in (each.base, each.candidate)}
    for id in order:
        victory, known = won.get(id), book.fresh(id)
        before = book.fresh(victory.base.id) if victory else []
        enough = min(len(known), len(before)) > 1
        yield Base(
            name=_name(victory) if victory else sides[id].name,
            commit=sides[id].commit,
            kept=victory and victory.number,
            comparisons=[each.number for each in shown if each.base.id == id],
            scores=known,
            mean=describe.summarize(known).mean_interval if known else None,
            won=(victory.result or {})["difference"] if victory else None,
            fresh=describe.difference(known, before) if enough else None,
        )


def _candidate(comparison: Comparison, new: Sequence[float]) -> Candidate:
    result = comparison.result or {}
    own = result and result["scores"][result["candidate"]]
    bounds = result.get("interval")
    if bounds is not None:
        low, high = (math.nan if bounds[end] is None else bounds[end] for end in ("low", "high"))
        bounds = Interval(low, high, bounds["confidence"], bounds["method"])
    return Candidate(
        number=comparison.number,
        name=_name(comparison),
        commit=comparison.candidate.commit,
        base=comparison.base.name,
        outcome=_OUTCOMES[comparison.verdict],
        verdict=comparison.verdict or "",
        difference=result.get("difference"),
        interval=bounds,
        level=comparison.level,
        mean=float(np.mean(own)) if own else None,
        seeds=result.get("looks", 0),
        runs=len(new),
        seconds=sum(new),
    )


def _name(comparison: Comparison) -> str:
    """Returns the note of a candidate, or else what tells it from its base."""
    different = (
        comparison.candidate.name
        if comparison.candidate.name != comparison.base.name
        else comparison.candidate.commit
    )
    return comparison.note or different or f"candidate {comparison.number}"


def progress(rule: Settle, event: Evaluated, after: int, unit: str) -> str:
    """Returns a line about an evaluation that has ended.

    Args:
      after: its seed is the evaluation's number after this one.
      unit: of the score, or "".
    """
    head = f"{event.model}, seed {after + event.number}: "
    if event.score is None:
        return head + event.note
    line = head + (scores.shown(event.score, unit) if unit else f"{event.score:g}")
    n = rule.looks(event.state)
    if n < FIRST_LOOK:
        return line
    found = rule.settled(event.state)
    gap, low, high = (scores.factor(unit) * x for x in settlement.signed(rule, found))
    if not math.isfinite(gap):  # most pairs were lost by a failure
        return line
    line += f"; {text.counted(n, 'seed')}: {'median ' if found.wins else ''}difference {gap:+.4g}"
    bounded = math.isfinite(high - low) and not anytime.contradict(*found.interval)
    return f"{line} [{low:.4g}, {high:.4g}]" if bounded else line


@dataclasses.dataclass(frozen=True, repr=False)
class Repeats(Result):
    """Scores of a command, and of the same seeds run again."""

    command: str
    deterministic: bool  # a seed that runs again has the same score
    exchangeable: bool  # first and second runs of a seed do not differ, as far as one sees
    difference: float  # second - first run of a seed
    interval: Interval  # confidence sequence of the difference
    first: Sequence[float]  # scores by seed, from 1
    again: Sequence[float]  # of the first seeds, run again
    sd: float  # over seeds
    sd_interval: Interval
    sd_within: float  # of runs of one seed
    sd_within_interval: Interval
    smallest: Mapping[int, float]  # seeds of each side -> smallest difference that they settle
    seconds: float  # of all new runs
    signature: str
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """0; 1 if the second runs differ from the first."""
        return 0 if self.exchangeable else 1

    def document(self) -> Document:
        """Returns what the runs say, the noise, and which differences it hides."""
        scale = scores.score_format("", [self.sd], max(map(abs, [*self.first, *self.again])))
        noise = [("over seeds", self.first, self.sd, self.sd_interval)]
        if not self.deterministic:
            noise.append(("within a seed", self.again, self.sd_within, self.sd_within_interval))
        rows = [(what, str(len(of)), scale(sd), scale.interval(ci)) for what, of, sd, ci in noise]
        table = Table(("noise", "seeds", "sd", "95 % CI of sd"), rows)
        listed = scores.listed({"first": self.first, "again": self.again})
        return Document(
            self._answer(scale),
            (table, *settlement.planned(self.smallest, scale)),
            self.notes,
            details=lambda: [*listed, f"new runs: {text.duration(self.seconds)}"],
            title="Repeats",
            signature=self.signature,
            noun="side",
            last=(f"exit code {self.exit_code}",),
        )

    def _answer(self, scale: ScoreFormat) -> list[str]:
        spread = f"sd {scale(self.sd)} over {len(self.first)} seeds"
        if self.deterministic:
            return [
                f"Deterministic: {len(self.again)} seeds have the same scores again, so one run "
                f"of a seed is enough; {spread}."
            ]
        said = f"Not deterministic: sd {scale(self.sd_within)} within a seed, {spread}."
        shown = f"{scale.difference(self.difference)}, {scale.ci(self.interval)} at any time"
        if self.exchangeable:
            return [said, f"Undecided, as it should be, against itself: difference {shown}."]
        what = "higher" if self.difference > 0 else "lower"
        return [
            said,
            f"The second run of a seed scores {what} than the first: difference {shown}. Runs "
            "depend on those before: do they share a file or a cache, or warm up?",
        ]


def repeats(command: str, first: Sequence[float], again: Sequence[float], **more: Any) -> Repeats:
    """Returns what scores by seed, and those of the first seeds run again, say of a command.

    Args:
      more: further fields of `Repeats`.
    """
    gaps = stats.gaps(np.array(again), np.array(first[: len(again)]))
    found = anytime.settle(gaps)
    halves = gaps / np.sqrt(2)  # two runs have twice the variance
    sd = describe.sd(np.array(first))
    within = describe.sd_interval(halves)
    same = not np.any(gaps)
    decides_little = not within.absent and within.high >= sd
    open_ = found.verdict == "undecided" and not anytime.contradict(*found.interval)
    more["notes"] = [*more.get("notes", ()), *[_SAME] * decides_little]
    return Repeats(
        command=command,
        deterministic=same,
        exchangeable=same or open_,
        difference=found.difference,
        interval=settlement.interval_of(*found.interval, 1 - _ALPHA),
        first=first,
        again=again,
        sd=sd,
        sd_interval=describe.sd_interval(first),
        sd_within=describe.sd(halves),
        sd_within_interval=within,
        smallest=settlement.smallest(sd, 0.0, _ALPHA),
        signature=f"{settlement.METHODS['t']} | {text.versions()}",
        **more,
    )
