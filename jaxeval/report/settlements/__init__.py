"""The report of a ledger of `settle`: candidates in their order, and the bases they became."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from jaxeval.report import Block, Document, Figure, Heading, Result, Table, plots, scores, text
from jaxeval.report.plots import literal
from jaxeval.report.scores import ScoreFormat
from jaxeval.report.settlements import settlement
from jaxeval.stats import Effect, Interval

Outcome = Literal["kept", "discarded", "undecided", "failed", "unfinished"]
_GUARANTEES = {
    "e-lond": (
        "Correction e-lond: an expected share of at most {alpha:g} of the kept candidates is "
        "wrongly kept."
    ),
    "spending": (
        "Correction spending: with probability {sure:g} no candidate of the whole ledger is "
        "wrongly kept."
    ),
    "none": (
        "No correction: each comparison by itself is right with probability {sure:g}. Of m "
        "candidates that equal their base, up to {alpha:g} m are called better or worse."
    ),
}
_MARKS: dict[Outcome, dict[str, Any]] = {
    "kept": {"marker": "D", "color": plots.COLOURS[2]},
    "discarded": {"marker": "X", "color": plots.COLOURS[1]},
    "undecided": {"marker": "o", "color": plots.COLOURS[0], "mfc": "white"},
    "failed": {"marker": "s", "color": plots.COLOURS[6], "mfc": "white"},
    "unfinished": {"marker": "^", "color": plots.COLOURS[6], "mfc": "white"},
}
_BLUE = plots.COLOURS[0]
_MIXED = "The comparisons differ in alpha or correction: nothing bounds their errors together."


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A candidate, as its comparison left it; scores as they are stored."""

    number: int  # of the comparison
    name: str  # the note, or what was run
    commit: str
    base: str  # name of the base
    outcome: Outcome
    verdict: str  # of the comparison; "" if it has not ended
    difference: float | None  # candidate - base
    interval: Interval | None  # of the difference, with probability 1 - level at any time
    level: float  # probability of a wrong claim in this comparison
    mean: float | None
    seeds: int  # of the candidate, up to the last look
    runs: int  # new evaluations of both sides
    seconds: float  # of these


@dataclasses.dataclass(frozen=True)
class Base:
    """A version that candidates were, or will be, compared with."""

    name: str
    commit: str
    kept: int | None  # the comparison that it won; None: the first base
    comparisons: Sequence[int]  # in which it was the base
    scores: Sequence[float]  # none with which it won
    mean: Interval | None  # 95 % interval of the mean; None below two different scores
    won: float | None  # the difference with which it won
    fresh: Effect | None  # the same by its fresh seeds, against all scores of the base before


@dataclasses.dataclass(frozen=True, repr=False)
class Settlements(Result):
    """What a ledger holds."""

    candidates: Sequence[Candidate]
    bases: Sequence[Base]  # the last one is that of the next candidate
    sd: float | None  # over seeds, of the last base with two different scores
    sd_interval: Interval | None
    smallest: Mapping[int, float]  # seeds of each side -> smallest difference that they settle
    next_level: float
    p_value: float  # anytime-valid, of "no candidate is better than its base"
    rules: Sequence[tuple[str, float]]  # (correction, alpha) that comparisons have
    runs: int  # all evaluations of the ledger
    seconds: float
    higher_is_better: bool
    signature: str
    metric: str | None = None
    unit: str = ""
    notes: Sequence[str] = ()

    def counts(self) -> dict[Outcome, int]:
        """Returns the number of candidates by outcome, without zeros."""
        every = [candidate.outcome for candidate in self.candidates]
        return {outcome: every.count(outcome) for outcome in _MARKS if outcome in every}

    def scale(self) -> ScoreFormat:
        """Returns the format of all scores."""
        return scores.format_of(self.unit, [base.scores for base in self.bases])

    def document(self) -> Document:
        """Returns what was kept, all candidates, the noise floor and the winner's curse."""
        listed = scores.listed({of.name: of.scores for of in self.bases})
        return Document(
            [*self._answer()],
            [*self._candidates(), *self._bases(), *self._noise()],
            (text.direction(self.higher_is_better, False), *self.notes),
            details=lambda: [Heading("Scores of the bases"), *listed],
            figures=lambda: [*_progress(self)],
            title="Settled comparisons",
            signature=self.signature,
            noun="comparison",
        )

    def _answer(self) -> Iterator[str]:
        said = text.listed([f"{n} {outcome}" for outcome, n in self.counts().items()])
        spent = text.counted(self.runs, "run")
        spent += f", {text.duration(self.seconds)}" if self.seconds else ""
        line = f"{text.counted(len(self.candidates), 'candidate')}: {said} ({spent})."
        last = self.bases[-1]
        yield f"{line} The next base is {last.name if last.kept else 'still the first one'}."
        ((correction, alpha), *others) = self.rules
        guarantee = _GUARANTEES[correction].format(alpha=alpha, sure=round(1 - alpha, 10))
        yield _MIXED if others else guarantee
        if len(self.candidates) > 1:
            p = text.p_value(self.p_value)
            none = '"none is better than its base"'
            yield f"All candidates together: anytime p {p} against {none}."

    def _candidates(self) -> Iterator[Block]:
        scale = self.scale()
        head = ["candidate", "outcome", scale.label("difference"), "interval", "level"]
        rows = [
            [
                f"{of.number} {of.name}" + f" ({of.commit})" * bool(of.commit),
                f"{of.outcome}: {of.verdict}" if of.outcome == "discarded" else of.outcome,
                scale.signed(of.difference),
                scale.interval(of.interval) or "-",
                f"{of.level:.2g}",
                str(of.seeds),
                str(of.runs),
                f"{of.seconds:.0f}",
            ]
            for of in self.candidates
        ]
        yield Table([*head, "seeds", "runs", "seconds"], rows, words=2)
        yield (
            "difference: candidate - base; its interval holds at any time, with probability "
            "1 - level; runs: new ones of both sides"
        )

    def _bases(self) -> Iterator[Block]:
        scale = self.scale()
        yield Heading("Base after base")
        head = ["base", "won comparison", "seeds", scale.label("mean"), "95 % CI"]
        rows = [
            [
                of.name,
                "-" if of.kept is None else str(of.kept),
                *scale.described(of.scores)[:2],
                scale.interval(of.mean) or "-",
                scale.signed(of.won),
                scale.signed(of.fresh.estimate if of.fresh else None),
                scale.interval(of.fresh.interval) if of.fresh else "-",
            ]
            for of in self.bases
        ]
        won = any(of.won is not None for of in self.bases)
        head += ["won by", "by fresh seeds", "95 % CI"] * won
        yield Table(head, [row[: len(head)] for row in rows])
        if won:
            yield (
                "A candidate is kept when its scores are high, so the difference by which it won "
                "is too large on average. As a base it has fresh seeds; its winning scores are "
                "not used again. The difference by fresh seeds is their mean minus that of all "
                "seeds of the base before. These include the seeds with which that base lost, so "
                "part of the excess may remain."
            )

    def _noise(self) -> Iterator[Block]:
        yield Heading("Noise floor")
        if not self.sd or self.sd_interval is None:
            yield "No base has two different scores: the noise is unknown."
            return
        scale = self.scale()
        of = next(of for of in reversed(self.bases) if of.mean)
        seeds = text.counted(len(of.scores), "seed")
        spread = f"{scale.difference(self.sd)}, {scale.ci(self.sd_interval)}"
        yield f"sd of {of.name} over {seeds}: {spread}"
        if self.smallest:
            yield from settlement.planned(self.smallest, scale)
            yield f"at level {self.next_level:.2g}, that of the next comparison"


def _progress(found: Settlements) -> Iterator[Figure]:
    """Draws the base and each candidate; nothing before a candidate has a difference."""
    drawn = [of for of in found.candidates if of.difference is not None and of.mean is not None]
    if not drawn:
        return
    scale = found.scale()
    drawing, axes = plots.canvas(7.0, 3.8)
    for base in found.bases:
        if base.scores and base.comparisons:
            ends = [base.comparisons[0] - 0.5, base.comparisons[-1] + 0.5]
            mean = scale.factor * float(np.mean(base.scores))
            axes.plot(ends, [mean, mean], color=_BLUE, linewidth=2, label="base")
            if base.mean is not None:
                low, high = scale.factor * base.mean.low, scale.factor * base.mean.high
                axes.fill_between(ends, low, high, color=_BLUE, alpha=0.18, linewidth=0)
    for one in sorted(drawn, key=lambda of: [*_MARKS].index(of.outcome)):  # as in the legend
        height = [scale.factor * (one.mean or 0.0)]
        axes.plot([one.number], height, linestyle="", label=one.outcome, **_MARKS[one.outcome])
    _draw_intervals(axes, drawn, scale.factor)
    axes.set(xlabel="comparison", ylabel=literal(scale.label(found.metric or "score")))
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    plots.legend(drawing)
    chosen = "high" if found.higher_is_better else "low"
    caption = (
        "Blue: mean of the base by seeds with which it did not win, and its 95 % interval. Marks: "
        "the mean of each candidate in its comparison; lines: the base it met plus the interval "
        "of their difference, which holds at any time with probability 1 - level. A line that "
        f"ends at the frame continues beyond it. A kept candidate is too {chosen} on average, "
        f"since it was kept for being {chosen}; the base that follows is not."
    )
    head = ("comparison", "candidate", "outcome", scale.label("difference"), "interval")
    rows = [
        (
            of.number,
            of.name,
            of.outcome,
            scale.signed(of.difference),
            scale.interval(of.interval),
        )
        for of in drawn
    ]
    yield Figure("progress", "Base after base", caption, drawing, head, rows)


def _draw_intervals(axes: Any, drawn: Sequence[Candidate], factor: float) -> None:
    bottom, top = axes.get_ylim()
    every = [bottom, top]
    for one in drawn:
        if one.interval is not None and not one.interval.absent:
            base = (one.mean or 0.0) - (one.difference or 0.0)
            ends = [factor * (base + end) for end in one.interval[:2]]
            every += ends
            colour = _MARKS[one.outcome]["color"]
            axes.plot([one.number] * 2, ends, color=colour, linewidth=1, zorder=1)
    # a wide interval would flatten the rest
    axes.set_ylim(max(min(every), 2 * bottom - top), min(max(every), 2 * top - bottom))
