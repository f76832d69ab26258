"""The outcome of `settle self`: what repeated runs of one command say about it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.document import Document, Result, Table
from jaxeval.report.scores import ScoreFormat
from jaxeval.report.settlements import settlement
from jaxeval.stats import anytime, describe, results
from jaxeval.stats.results import Interval

_ALPHA = 0.05
_SAME = (
    "the sd within a seed may be as large as that over seeds: the seed decides little, or does "
    "not reach the program"
)


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
        each = {"first": self.first, "again": self.again}
        listed = [f"{run}: {', '.join(f'{x:g}' for x in of)}" for run, of in each.items()]
        return Document(
            self._answer(scale),
            (table, *settlement.planned(self.smallest, scale)),
            self.notes,
            [*listed, f"new runs: {text.duration(self.seconds)}"],
            title="Repeats",
            signature=self.signature,
            noun="side",
            last=(f"exit code {self.exit_code}",),
        )

    def _answer(self, scale: ScoreFormat) -> list[str]:
        spread = f"sd {scale(self.sd)} over {len(self.first)} seeds"
        if self.deterministic:
            return [
                f"Deterministic: {len(self.again)} seeds have the same scores again, so that one "
                f"run of a seed is enough; {spread}."
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
    gaps = results.gaps(np.array(again), np.array(first[: len(again)]))
    found, halves = anytime.settle(gaps), gaps / np.sqrt(2)  # two runs have twice the variance
    sd, within, same = describe.sd(np.array(first)), describe.sd_interval(halves), not np.any(gaps)
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
