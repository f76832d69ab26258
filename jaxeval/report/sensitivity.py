"""The sensitivity of sweeps to their hyperparameters, in sentences and tables."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

from scipy import special

from jaxeval.report import Block, Document, Figure, Result, Table, plots, scores, sweeps, text
from jaxeval.sensitivity.analysis import Analysis, Contrast, Estimate, Group, Mean
from jaxeval.sensitivity.metrics import MARGIN
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import multiple
from jaxeval.tuning.insight import Importance

_Row = tuple[str, int | str, Mapping[str, Estimate] | Mapping[str, Mean]]  # name, n, metrics
_SHARE = "best_equivalent"  # the share of runs near the best, which sentences are about
_ALPHA = 0.05
_MOST_SIDE = 4  # sweeps or groups that are named, and whose correlations stand side by side
_METRICS = {
    "max": "best score, %",
    "mean": "mean score, %",
    "share_zero": "runs that scored 0, %",
    _SHARE: "equivalent to the best, %",
    "expected_equivalent": "expected equivalent runs, %",
}
_IN_DRAWS = "{:.2f} ({:.2f} to {:.2f})"
_TESTS = "equivalent to the best, paired t tests, p corrected by Holm"
_SERIES = {"rel_at_k": "k-th best", "mean_at_k": "mean of the k best"}
_IMPORTANCE = (
    "importance: share of the variance of scores, interactions included (total Sobol index of a "
    "Gaussian process, and its spread)"
)
_PROFILE = {
    "rho": "Spearman's rho of the distance from the best run with the loss in score",
    "maxima": "maxima: scores higher than both neighbours along the hyperparameter",
    "mean_change": "mean absolute change of the score from one neighbour to the next",
}


@dataclasses.dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """The sensitivity metrics of sweeps; docs/sensitivity_and_noise.md defines them."""

    sweeps: Sequence[Analysis]
    difference: Mapping[str, Estimate]  # of two sweeps, by the path of a metric
    over: str  # the label that groups are averaged over
    groups: Sequence[Group]
    contrasts: Sequence[Contrast]
    trials: Sequence[Sweep] = dataclasses.field(repr=False)
    importance: Mapping[str, Sequence[Importance]] = dataclasses.field(  # by recorded sweep
        default_factory=dict
    )

    def document(self) -> Document:
        """Returns the answer, scores and correlations; more tables as details."""
        of = "sweep"
        singles = [(each.name, each.n, each.metrics) for each in self.sweeps]
        shown: list[_Row] = [*singles]
        gaps: list[_Row] = [("A - B", "", self.difference)] if self.difference else []
        if self.groups:
            of = f"mean (sd) over {self.over}"
            shown = [(g.name, len(g.sweeps), g.means) for g in self.groups]
            gaps = [(f"{c.a} - {c.b}", len(c.datasets), c.means) for c in self.contrasts]
        every = [*shown, *gaps]
        margin = scores.difference(MARGIN, "fraction")
        notes = [f"{sweep.name}: {note}" for sweep in self.trials for note in sweep.notes]
        if len(self.groups or self.trials) > plots.MOST:
            notes.append(f"no figures: they show at most {plots.MOST} sweeps or groups")
        beside = shown if self.groups else every
        most = [*self._importance(), *_profiles(beside, ["rho"])]
        both = zip(self.contrasts, _corrected(self.contrasts), strict=True)
        ps = [f"{c.a} - {c.b} {text.p_cell(p)}" for c, p in both]
        tests = [f"{_TESTS}: {text.few(ps, 10, '; ')}"] if ps else []
        details = [*_series(of, every), *_profiles(beside, ["maxima", "mean_change"])]
        if self.groups:
            details.append(_table("sweep", [*singles], _METRICS))
            details += [f"{group.name}: {', '.join(group.sweeps)}" for group in self.groups]
        return Document(
            answer=[*self._answer(shown, margin)],
            blocks=[_table(of, every, _METRICS), *tests, *most],
            notes=notes,
            details=(lambda: details) if details else None,
            figures=self._figures,
            title=f"Sensitivity: {', '.join(name for name, *_ in shown)}",
            signature=f"margin {margin} | CIs not corrected for several looks | {text.versions()}",
            noun="sweep",
        )

    def _importance(self) -> Iterator[Table]:
        """Yields hyperparameters by sweeps, the most important of the first sweep first."""
        each = {
            sweep: {of.name: _IN_DRAWS.format(of.total, *of.total_spread) for of in rows}
            for sweep, rows in self.importance.items()
            if rows
        }
        if each:
            names = dict.fromkeys(name for shown in each.values() for name in shown)
            cells = [[name, *(shown.get(name, "-") for shown in each.values())] for name in names]
            yield Table(["hyperparameter", *each], cells, _IMPORTANCE)

    def _figures(self) -> list[Figure]:
        if len(self.groups or self.trials) > plots.MOST:
            return []
        if self.groups:
            named = {name: group.name for group in self.groups for name in group.sweeps.values()}
            return [sweeps.ranks(self.trials, [named[sweep.name] for sweep in self.trials])]
        varied = any(sweep.axes for sweep in self.trials)
        ranks = [sweeps.ranks(self.trials)]
        alone = [*map(sweeps.parallel, self.trials)] if len(self.trials) == 1 and varied else []
        return [*ranks, *([sweeps.marginals(self.trials)] if varied else []), *alone]

    def _unfit(self) -> str:
        """Returns why no difference can be shown, or "" if one can."""
        running = [f"{of.unended} of {of.name}" for of in self.trials if of.unended]
        if running:
            listed = ", ".join(running)
            return f"runs have not ended ({listed}), so those that have are a biased sample"
        seeds = [of.seed for of in self.trials if of.seed is not None]
        if len(self.trials) == len(seeds) == 2 and seeds[0] == seeds[1]:
            return (
                f"both were drawn with seed {seeds[0]}: runs of the same number share values, but "
                "the intervals of A - B assume independent sweeps"
            )
        return ""

    def _answer(self, shown: Sequence[_Row], margin: str) -> Iterator[str]:
        """Yields how many runs come near the best, and which sweep or group has more of them."""
        shares = {name: metrics[_SHARE] for name, _, metrics in shown}
        ordered = sorted(shares, key=lambda name: -_value(shares[name]))
        named = ordered if len(shown) <= _MOST_SIDE else [ordered[0], ordered[-1]]
        each = f"{'; ' if named == ordered else ' to '}".join(
            f"{_cell(shares[name], ' %')} of {name}" for name in named
        )
        of = {sweep.metric for sweep in self.trials}
        alone = len(shown) == 1
        best = f" {of.pop()}" if len(of) == 1 else ""
        best += f", {_value(shown[0][2]['max']):.2f}" if alone else ""
        gap = self.difference.get(_SHARE)
        apart = "" if gap is None else f"; {' - '.join(shares)} {_cell(gap)}"
        level = (
            f" (95 % CI{'' if alone else 's'})"
            if any(of.interval for of in shares.values())
            else ""
        )
        yield f"Runs within {margin} of the best{best}: {each}{apart}{level}."
        unfit = self._unfit()
        signs = [*self._signs()]
        if unfit:
            yield f"No conclusion, since {unfit}."
        elif signs:
            yield f"{text.sentence(ordered, text.signs(signs))}, by this share."
        elif len(shown) > 1:
            yield "No conclusion, since no two were compared with intervals."

    def _signs(self) -> Iterator[tuple[str, str, str, int]]:
        """Yields which of each pair has more runs near the best, by interval or paired t test."""
        gap = self.difference.get(_SHARE)
        names = [of.name for of in self.sweeps]
        if gap is not None and gap.interval is not None:
            shown = not gap.interval.low <= 0 <= gap.interval.high
            yield names[0], names[1], "", int(math.copysign(shown, gap.value))
            return
        for c, p in zip(self.contrasts, _corrected(self.contrasts), strict=True):
            more = math.copysign(p < _ALPHA, c.means[_SHARE].mean) if _SHARE in c.means else 0
            yield c.a, c.b, "", int(more)


def _table(noun: str, rows: Sequence[_Row], columns: Mapping[str, str]) -> Table:
    """Returns a row for each sweep or group; `columns` maps the path of a metric to a head."""
    cells = [[name, str(n), *(_cell(m.get(path)) for path in columns)] for name, n, m in rows]
    return Table([noun, "n", *columns.values()], cells)


def _series(noun: str, rows: Sequence[_Row]) -> Iterator[Block]:
    paths = dict.fromkeys(path for *_, metrics in rows for path in metrics)
    for series, head in _SERIES.items():
        columns = {p: f"{head}, {p[len(series) + 1 :]}" for p in paths if p.startswith(series)}
        if columns:
            yield _table(noun, rows, columns)


def _profiles(rows: Sequence[_Row], keys: Sequence[str]) -> Iterator[Block]:
    """Yields hyperparameters by sweeps or groups, unless there are many of these."""
    every = [path.rpartition(".") for *_, metrics in rows for path in metrics]
    paths = dict.fromkeys(path for path, _, key in every if key in _PROFILE)
    of = [metrics for *_, metrics in rows]
    for key in keys if len(rows) <= _MOST_SIDE and paths else ():
        head = ["hyperparameter", *(name for name, *_ in rows)]
        cells = [
            (
                path.partition(".")[2] or "all together",
                *(_cell(m.get(f"{path}.{key}")) for m in of),
            )
            for path in paths
        ]
        yield Table(head, cells, _PROFILE[key])


def _value(estimate: Estimate | Mean) -> float:
    return estimate.mean if isinstance(estimate, Mean) else estimate.value


def _cell(estimate: Estimate | Mean | None, unit: str = "") -> str:
    """Formats a value with its interval; a mean with its sd, or in a sentence with the unit."""
    if estimate is None:
        return "-"
    sd = (
        f" ({estimate.sd:.2f})"
        if isinstance(estimate, Mean) and estimate.sd is not None and not unit
        else ""
    )
    return f"{_value(estimate):z.2f}{unit or sd} {text.bounds(estimate.interval)}".rstrip()


def _corrected(contrasts: Sequence[Contrast]) -> list[float]:
    """Returns Holm's p-values of paired t tests of the share of runs near the best.

    NaN if the differences do not vary or there is only one.
    """
    raw = []
    for gap in (contrast.means.get(_SHARE) for contrast in contrasts):
        t = abs(gap.mean) / (gap.sd / math.sqrt(gap.n)) if gap and gap.sd else math.nan
        raw.append(float(2 * special.stdtr(gap.n - 1, -t)) if gap else math.nan)
    return [float(p) for p in multiple.adjust_p_values(raw)]
