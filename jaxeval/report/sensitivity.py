"""The sensitivity of sweeps to their hyperparameters, in sentences and tables."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

from scipy import special

from jaxeval.report import plots, scores, sweeps, text
from jaxeval.report.document import Block, Document, Figure, Result, Table
from jaxeval.sensitivity.analysis import Analysis, Contrast, Estimate, Group, Mean
from jaxeval.sensitivity.metrics import MARGIN
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import multiple

_Row = tuple[str, int | str, Mapping[str, Estimate] | Mapping[str, Mean]]  # name, n, metrics
_SHARE = "best_equivalent"  # the share of runs near the best, which sentences are about
_ALPHA = 0.05
_MOST_NAMED = 3  # differences of groups
_MOST_SIDE = 4  # sweeps or groups whose correlations stand side by side
_METRICS = {
    "max": "best score, %",
    "mean": "mean score, %",
    "share_zero": "runs that scored 0, %",
    _SHARE: "equivalent to the best, %",
    "expected_equivalent": "expected equivalent runs, %",
}
_SERIES = {"rel_at_k": "k-th best", "mean_at_k": "mean of the k best"}
_PROFILE = {"rho": "rho, distance and loss", "maxima": "maxima", "mean_change": "mean change"}


@dataclasses.dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """The sensitivity metrics of sweeps; docs/sensitivity_and_noise.md defines them."""

    sweeps: Sequence[Analysis]
    difference: Mapping[str, Estimate]  # of two sweeps, by the path of a metric
    over: str  # the label that groups are averaged over
    groups: Sequence[Group]
    contrasts: Sequence[Contrast]
    trials: Sequence[Sweep] = dataclasses.field(repr=False)

    def document(self) -> Document:
        """Returns the answer, scores and correlations; more tables as details."""
        of, rows = "sweep", [(each.name, each.n, each.metrics) for each in self.sweeps]
        singles: list[_Row] = [*rows]
        every = [*singles, *([("A - B", "", self.difference)] if self.difference else [])]
        shown = every
        if self.groups:
            of = f"mean (sd) over {self.over}"
            shown = [(g.name, len(g.sweeps), g.means) for g in self.groups]
            every = [
                *shown,
                *((f"{c.a} - {c.b}", len(c.datasets), c.means) for c in self.contrasts),
            ]
        margin = scores.difference(MARGIN, "fraction")
        notes = [f"{sweep.name}: {note}" for sweep in self.trials for note in sweep.notes]
        if len(self.groups or self.trials) > plots.MOST:
            notes.append(f"no figures: they tell at most {plots.MOST} sweeps or groups apart")
        unfit = self._unfit()
        details = [*_series(of, every), *_profiles(shown, ["maxima", "mean_change"])]
        if self.groups:
            details.append(_table("sweep", singles, _METRICS))
            details += [f"{group.name}: {', '.join(group.sweeps)}" for group in self.groups]
        return Document(
            answer=[f"{self._answer(margin, unfit)}{f' ({unfit})' if unfit else ''}."],
            blocks=[_table(of, every, _METRICS), *_profiles(shown, ["rho"])],
            notes=notes,
            details=details,
            figures=self._figures,
            title=f"Sensitivity: {', '.join(name for name, *_ in shown)}",
            signature=f"margin {margin} | CIs not corrected for several looks | {text.versions()}",
            noun="sweep",
        )

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
            return f"runs have not ended ({listed}); those that have are no fair sample"
        seeds = [of.seed for of in self.trials if of.seed is not None]
        if len(self.trials) == len(seeds) == 2 and seeds[0] == seeds[1]:
            return (
                f"both were drawn with seed {seeds[0]}: runs of one number share values, and the "
                "intervals of A - B, which take the sweeps for independent, do not hold"
            )
        return ""

    def _answer(self, margin: str, unfit: str) -> str:
        """States how many runs come near the best, and which sweep or group has more of them."""
        shares = [of.metrics[_SHARE].value for of in self.sweeps]
        if self.groups:
            return self._of_groups(margin, unfit)
        if len(self.sweeps) == 2:
            return self._of_two(shares, margin, unfit)
        if len(self.sweeps) == 1:
            (of,) = self.sweeps
            near = f"{_cell(of.metrics[_SHARE], True)} of the runs of {of.name} come within"
            return f"{near} {margin} of the best, {of.metrics['max'].value:.2f}"
        ends = (shares.index(min(shares)), shares.index(max(shares)))
        between = " and ".join(f"{shares[k]:.2f} % ({self.sweeps[k].name})" for k in ends)
        return (
            f"Between {between} of a sweep's runs come within {margin} of its best; no two of "
            f"the {len(shares)} sweeps were compared"
        )

    def _of_two(self, shares: Sequence[float], margin: str, unfit: str) -> str:
        """States which sweep has more runs near its best, if the interval excludes 0."""
        (first, second), gap = (each.name for each in self.sweeps), self.difference.get(_SHARE)
        percents = " and ".join(f"{share:.2f} %" for share in shares)
        shown, size = False, "" if unfit else "; there is no interval of their difference"
        if not unfit and gap is not None and gap.interval is not None:
            shown = not gap.interval.low <= 0 <= gap.interval.high
            size = f", difference {gap.value:.2f}, 95 % CI {text.bounds(gap.interval)}"
        if gap is None or not shown:
            return (
                f"That one of {first} and {second} has more runs within {margin} of its best was "
                f"not shown: {percents}{size}"
            )
        more, fewer = (first, second) if gap.value > 0 else (second, first)
        return (
            f"More runs of {more} than of {fewer} come within {margin} of their best: {percents} "
            f"({first}, {second}){size}"
        )

    def _of_groups(self, margin: str, unfit: str) -> str:
        """States which differences of groups were shown, by paired t tests corrected by Holm."""
        if not self.contrasts:
            of = [f"{_cell(g.means[_SHARE], True)} of {g.name}" for g in self.groups]
            none = "; no two groups were compared" if len(of) > 1 else ""
            return f"Runs within {margin} of their sweep's best, averaged: {'; '.join(of)}{none}"
        ps = _corrected(self.contrasts)
        tested = zip(self.contrasts, ps, strict=True)
        shown = [(c, p) for c, p in tested if p < _ALPHA and not unfit]
        count = f"{len(shown)} of {text.counted(len(ps), 'difference')}"
        count = count if shown else "No difference"
        were = "were" if len(shown) > 1 else "was"
        head = f"{count} in the share of runs within {margin} of the best {were} shown"
        if not shown:
            least = min((p for p in ps if not math.isnan(p)), default=math.nan)
            return head + ("" if unfit else f": least corrected p {text.p_value(least)}")
        named = []
        for c, p in shown[:_MOST_NAMED]:
            gap = c.means[_SHARE]
            more, fewer = (c.a, c.b) if gap.mean > 0 else (c.b, c.a)
            size = f"{abs(gap.mean):.2f} points over {gap.n} datasets"
            named.append(f"{more} has more than {fewer} ({size}, corrected p {text.p_value(p)})")
        named += [f"{len(shown) - len(named)} more"] if len(shown) > len(named) else []
        return f"{head}: {'; '.join(named)}"


def _table(of: str, rows: Sequence[_Row], columns: Mapping[str, str]) -> Table:
    """Returns a row for each sweep or group; `columns` maps the path of a metric to a head."""
    cells = [[name, str(n), *(_cell(m.get(path)) for path in columns)] for name, n, m in rows]
    return Table([of, "n", *columns.values()], cells)


def _series(of: str, rows: Sequence[_Row]) -> Iterator[Block]:
    paths = dict.fromkeys(path for *_, metrics in rows for path in metrics)
    for series, head in _SERIES.items():
        columns = {p: f"{head}, {p[len(series) + 1 :]}" for p in paths if p.startswith(series)}
        if columns:
            yield _table(of, rows, columns)


def _profiles(rows: Sequence[_Row], keys: Sequence[str]) -> Iterator[Block]:
    """Yields hyperparameters by sweeps or groups, unless there are many of these."""
    every = [path.rpartition(".") for *_, metrics in rows for path in metrics]
    paths = dict.fromkeys(path for path, _, key in every if key in _PROFILE)
    of = [metrics for *_, metrics in rows]
    for key in keys if len(rows) <= _MOST_SIDE and paths else ():
        head = [f"hyperparameter: {_PROFILE[key]}", *(name for name, *_ in rows)]
        cells = [
            (
                path.partition(".")[2] or "all together",
                *(_cell(m.get(f"{path}.{key}")) for m in of),
            )
            for path in paths
        ]
        yield Table(head, cells)


def _cell(of: Estimate | Mean | None, percent: bool = False) -> str:
    """Formats a value with its interval; a mean with its sd, or with % in a sentence."""
    if of is None:
        return "-"
    value = of.mean if isinstance(of, Mean) else of.value
    sd = f" ({of.sd:.2f})" if isinstance(of, Mean) and of.sd is not None and not percent else ""
    return f"{value:.2f}{' %' if percent else sd} {text.bounds(of.interval)}".rstrip()


def _corrected(contrasts: Sequence[Contrast]) -> list[float]:
    """Returns Holm's p-values of paired t tests of the share of runs near the best.

    NaN if the differences do not vary or there is only one.
    """
    raw = []
    for gap in (contrast.means.get(_SHARE) for contrast in contrasts):
        t = abs(gap.mean) / (gap.sd / math.sqrt(gap.n)) if gap and gap.sd else math.nan
        raw.append(float(2 * special.stdtr(gap.n - 1, -t)) if gap else math.nan)
    return [float(p) for p in multiple.adjust_p_values(raw)]
