"""What sweeps say of sensitivity, in sentences and tables; and what they do not show."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence

from scipy import special

from jaxeval.report import plots, scores, sweeps, text
from jaxeval.report.document import Block, Document, Figure, Table
from jaxeval.report.result import Result
from jaxeval.sensitivity.analysis import Analysis, Contrast, Estimate, Group, Mean
from jaxeval.sensitivity.metrics import MARGIN
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import multiple

_Metrics = Mapping[str, Estimate] | Mapping[str, Mean]
_Row = tuple[str, int | str, _Metrics]  # name, runs or datasets, metrics by path
_SHARE = "best_equivalent"  # what sentences are of: the share of runs near the best
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
    """What sweeps say of their hyperparameters; docs/sensitivity_and_noise.md has the numbers.

    Attributes:
      difference: of two sweeps, path of a metric -> the first minus the second.
      over: the label that groups are averaged over.
      trials: the sweeps as they were read.
    """

    sweeps: Sequence[Analysis]
    difference: Mapping[str, Estimate]
    over: str
    groups: Sequence[Group]
    contrasts: Sequence[Contrast]
    trials: Sequence[Sweep] = dataclasses.field(repr=False)

    def document(self) -> Document:
        """The answer, a table of the scores and one of the correlations; more as details."""
        of, rows = "sweep", [*self._rows()]
        every = rows = [*rows, *([("A - B", "", self.difference)] if self.difference else [])]
        if self.groups:
            of = f"mean (sd) over {self.over}"
            rows = [(g.name, len(g.sweeps), g.means) for g in self.groups]
            every = [
                *rows,
                *((f"{c.a} - {c.b}", len(c.datasets), c.means) for c in self.contrasts),
            ]
        margin = scores.difference(MARGIN, "fraction")
        notes = [f"{sweep.name}: {note}" for sweep in self.trials for note in sweep.notes]
        if len(self.groups or self.trials) > plots.MOST:
            notes.append(f"no figures: they tell at most {plots.MOST} sweeps or groups apart")
        return Document(
            answer=[f"{self._answer(margin)}."],
            blocks=[_table(of, every, _METRICS), *_profiles(rows, ["rho"])],
            notes=notes,
            details=[*self._details(of, every, rows)],
            figures=self._figures,
            title=f"Sensitivity: {', '.join(name for name, *_ in rows)}",
            signature=f"margin {margin} | CIs not corrected for several looks | {text.versions()}",
            noun="sweep",
        )

    def _rows(self) -> Iterator[_Row]:
        return ((of.name, of.n, of.metrics) for of in self.sweeps)

    def _figures(self) -> list[Figure]:
        if len(self.groups or self.trials) > plots.MOST:
            return []
        trials, varied = self.trials, any(sweep.axes for sweep in self.trials)
        if self.groups:
            groups = {group.name: group.sweeps for group in self.groups}
            named = {name: group for group, of in groups.items() for name in of.values()}
            ranks = sweeps.ranks(trials, [named[sweep.name] for sweep in trials])
            return [ranks, *([sweeps.best_systems(trials, groups, self.over)] if varied else [])]
        more = sweeps.marginals, functools.partial(sweeps.near_best, margin=MARGIN)
        return [sweeps.ranks(trials), *(draw(trials) for draw in more if varied)]

    def _details(self, of: str, every: Sequence[_Row], rows: Sequence[_Row]) -> Iterator[Block]:
        paths = dict.fromkeys(path for *_, metrics in every for path in metrics)
        for series, said in _SERIES.items():
            columns = {p: f"{said}, {p[len(series) + 1 :]}" for p in paths if p.startswith(series)}
            if columns:
                yield _table(of, every, columns)
        yield from _profiles(rows, ["maxima", "mean_change"])
        if self.groups:
            yield _table("sweep", [*self._rows()], _METRICS)
            yield from (f"{group.name}: {', '.join(group.sweeps)}" for group in self.groups)

    def _answer(self, margin: str) -> str:
        """How many runs come near the best; of which sweep or group more do, where it is shown."""
        unfit = self._unfit()
        shares = [of.metrics[_SHARE].value for of in self.sweeps]
        if self.groups:
            said = self._of_groups(margin, unfit)
        elif len(self.sweeps) == 2:
            said = self._of_two(shares, margin, unfit)
        elif len(self.sweeps) == 1:
            (of,) = self.sweeps
            near = f"{_percent(of.metrics[_SHARE])} of the runs of {of.name} come within {margin}"
            said = f"{near} of the best, {of.metrics['max'].value:.2f}"
        else:
            ends = (shares.index(min(shares)), shares.index(max(shares)))
            between = " and ".join(f"{shares[k]:.2f} % ({self.sweeps[k].name})" for k in ends)
            said = (
                f"Between {between} of a sweep's runs come within {margin} of its best; no two of "
                f"the {len(shares)} sweeps were compared"
            )
        return said + (f" ({unfit})" if unfit else "")

    def _unfit(self) -> str:
        """Why nothing is shown, whatever the numbers; "": it may be."""
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

    def _of_two(self, shares: Sequence[float], margin: str, unfit: str) -> str:
        """Which sweep has more runs near its best, where the difference's interval excludes 0."""
        first, second = (each.name for each in self.sweeps)
        said = " and ".join(f"{share:.2f} %" for share in shares)
        gap = self.difference.get(_SHARE)
        if unfit or gap is None or gap.interval is None:
            shown, size = False, "" if unfit else "; there is no interval of their difference"
        else:
            shown = not gap.interval.low <= 0 <= gap.interval.high
            size = f", difference {gap.value:.2f}, 95 % CI {text.bounds(gap.interval)}"
        if gap is None or not shown:
            return (
                f"That one of {first} and {second} has more runs within {margin} of its best was "
                f"not shown: {said}{size}"
            )
        more, fewer = (first, second) if gap.value > 0 else (second, first)
        return (
            f"More runs of {more} than of {fewer} come within {margin} of their best: {said} "
            f"({first}, {second}){size}"
        )

    def _of_groups(self, margin: str, unfit: str) -> str:
        """Which differences of groups were shown, by paired t tests corrected by Holm."""
        if not self.contrasts:
            of = [f"{_percent(g.means[_SHARE])} of {g.name}" for g in self.groups]
            none = "; no two groups were compared" if len(of) > 1 else ""
            return f"Runs within {margin} of their sweep's best, averaged: {'; '.join(of)}{none}"
        ps = corrected(self.contrasts)
        tested = zip(self.contrasts, ps, strict=True)
        shown = [(c, p) for c, p in tested if p < _ALPHA and not unfit]
        every = text.counted(len(ps), "difference")
        count = f"{len(shown)} of {every}" if shown else "No difference"
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
    """A row a sweep or group; columns: path -> head."""
    cells = [[name, str(n), *(_cell(m.get(path)) for path in columns)] for name, n, m in rows]
    return Table([of, "n", *columns.values()], cells)


def _profiles(rows: Sequence[_Row], keys: Sequence[str]) -> Iterator[Block]:
    """A row a hyperparameter, a column a sweep or group; none where there are many."""
    every = [path.rpartition(".") for *_, metrics in rows for path in metrics]
    paths = dict.fromkeys(path for path, _, key in every if key in _PROFILE)
    for key in keys if len(rows) <= _MOST_SIDE and paths else ():
        head = [f"hyperparameter: {_PROFILE[key]}", *(name for name, *_ in rows)]
        cells = [
            [
                path.partition(".")[2] or "all together",
                *(_cell(metrics.get(f"{path}.{key}")) for *_, metrics in rows),
            ]
            for path in paths
        ]
        yield Table(head, cells)


def _cell(of: Estimate | Mean | None) -> str:
    """A value with its interval; a mean with its sd."""
    if of is None:
        return "-"
    value = of.mean if isinstance(of, Mean) else of.value
    said = f"{value:.2f}"
    if isinstance(of, Mean) and of.sd is not None:
        said += f" ({of.sd:.2f})"
    return f"{said} {text.bounds(of.interval)}".rstrip()


def _percent(of: Estimate | Mean) -> str:
    value = of.mean if isinstance(of, Mean) else of.value
    return f"{value:.2f} % {text.bounds(of.interval)}".rstrip()


def corrected(contrasts: Sequence[Contrast]) -> list[float]:
    """Of each contrast's share of runs near the best: p of the paired t test, by Holm.

    NaN where the differences do not vary, or there is one: nothing is tested.
    """
    raw = []
    for gap in (contrast.means.get(_SHARE) for contrast in contrasts):
        t = abs(gap.mean) / (gap.sd / math.sqrt(gap.n)) if gap and gap.sd else math.nan
        raw.append(float(2 * special.stdtr(gap.n - 1, -t)) if gap else math.nan)
    return [float(p) for p in multiple.adjust_p_values(raw)]
