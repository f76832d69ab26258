"""What sweeps say of sensitivity, in sentences and tables; and what they do not show."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy import special

from jaxeval.report import plots, scores, text
from jaxeval.report.document import Block, Document, Figure, Table
from jaxeval.report.result import Result
from jaxeval.report.sweep import figures
from jaxeval.sensitivity.analysis import Analysis, Estimate
from jaxeval.sensitivity.groups import Contrast, Group, Mean
from jaxeval.sensitivity.metrics import ALL
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import multiple

_SHARE = "best_equivalent"  # what is said of: the share of runs near the best
_LEVEL = 0.05
_MOST_NAMED = 3  # differences of groups
_MOST_SIDE = 4  # sweeps or groups whose correlations stand side by side
_METRICS = {
    "max": "best score",
    "mean": "mean score",
    "share_zero": "runs that scored 0",
    _SHARE: "equivalent to the best",
    "expected_equivalent": "expected equivalent runs",
}
_SERIES = {"rel_at_k": "k-th best", "mean_at_k": "mean of the k best"}
_PROFILE = {"rho": "rho, distance and loss", "maxima": "maxima", "mean_change": "mean change"}


class _Row(NamedTuple):
    """A sweep, a group, or the difference of two; n: runs, or datasets."""

    name: str
    n: str
    metrics: Mapping[str, Estimate | Mean]


@dataclasses.dataclass(frozen=True, repr=False)
class Sensitivity(Result):
    """What sweeps say of their hyperparameters; docs/sensitivity.md describes the numbers.

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
        rows = [_Row(of.name, str(of.n), of.metrics) for of in self.sweeps]
        if self.difference:
            rows.append(_Row("A - B", "", self.difference))
        of, every = "sweep", rows
        if self.groups:
            of = f"mean (sd) over {self.over}"
            rows = [_Row(g.name, str(len(g.sweeps)), g.means) for g in self.groups]
            gaps = [_Row(c.name, str(len(c.datasets)), c.means) for c in self.contrasts]
            every = [*rows, *gaps]
        margin = scores.difference(self.sweeps[0].rope, "fraction")
        how = f"95 % {text.methods(_intervals(self))}; not corrected for several looks"
        return Document(
            answer=[_sentence(self, margin)],
            blocks=[_table(of, every, _METRICS, "%"), *_profiles(rows, ["rho"])],
            notes=_notes(self),
            details=_details(of, every, rows, self),
            figures=lambda: _figures(self),
            title=f"Sensitivity: {', '.join(row.name for row in rows)}",
            signature=f"ROPE {margin} | {how} | {text.versions()}",
            noun="sweep",
        )


def _figures(result: Sensitivity) -> list[Figure]:
    if not result.groups:
        within = len(result.trials) <= plots.MOST
        return figures.draw(result.trials, result.sweeps[0].rope) if within else []
    groups = {group.name: group.sweeps for group in result.groups}
    within = len(groups) <= plots.MOST
    return figures.draw_groups(result.trials, groups, result.over) if within else []


def _notes(result: Sensitivity) -> list[str]:
    notes = [f"{sweep.name}: {note}" for sweep in result.trials for note in sweep.notes]
    if len(result.groups or result.trials) > plots.MOST:
        notes.append(
            f"figures tell at most {plots.MOST} sweeps or groups apart: there are none; average "
            "over data sets, or choose"
        )
    return notes


def _table(of: str, rows: Sequence[_Row], columns: Mapping[str, str], unit: str = "") -> Table:
    """A row a sweep or group; columns: path -> head."""
    cells = [
        [row.name, row.n, *(_cell(row.metrics.get(path)) for path in columns)] for row in rows
    ]
    return Table(
        [of, "n", *(f"{head}, {unit}" if unit else head for head in columns.values())], cells
    )


def _profiles(rows: Sequence[_Row], keys: Sequence[str]) -> list[Block]:
    """A row a hyperparameter, a column a sweep or group; none where there are many."""
    every = [path.rpartition(".") for row in rows for path in row.metrics]
    paths = dict.fromkeys(path for path, _, key in every if key in _PROFILE)
    tables: list[Block] = []
    for key in keys if len(rows) <= _MOST_SIDE and paths else ():
        head = [f"hyperparameter: {_PROFILE[key]}", *(row.name for row in rows)]
        cells = [
            [
                "all together" if path == ALL else path.partition(".")[2],
                *(_cell(row.metrics.get(f"{path}.{key}")) for row in rows),
            ]
            for path in paths
        ]
        tables.append(Table(head, cells))
    return tables


def _details(
    of: str, every: Sequence[_Row], rows: Sequence[_Row], result: Sensitivity
) -> list[Block]:
    blocks: list[Block] = []
    paths = dict.fromkeys(path for row in every for path in row.metrics)
    for series, said in _SERIES.items():
        columns = {
            p: f"{said}, {p.partition('.')[2]}" for p in paths if p.startswith(f"{series}.")
        }
        blocks += [_table(of, every, columns)] if columns else []
    blocks += _profiles(rows, ["maxima", "mean_change"])
    if result.groups:
        sweeps = [_Row(each.name, str(each.n), each.metrics) for each in result.sweeps]
        blocks.append(_table("sweep", sweeps, _METRICS, "%"))
        blocks += [f"{group.name}: {', '.join(group.sweeps)}" for group in result.groups]
    return blocks


def _cell(of: Estimate | Mean | None) -> str:
    """A value with its interval; a mean with its sd."""
    if of is None:
        return "-"
    if isinstance(of, Mean):
        said = f"{of.mean:.2f}" + ("" if of.sd is None else f" ({of.sd:.2f})")
    else:
        said = f"{of.value:d}" if isinstance(of.value, int) else f"{of.value:.2f}"
    return f"{said} {text.bounds(of.interval)}".rstrip()


def _intervals(result: Sensitivity) -> dict[str, list]:
    """Kind -> those that are shown; of the first sweep, as others differ in their seed alone."""
    means = [of.means for of in result.groups] + [of.means for of in result.contrasts]
    return {
        "sweeps": [of.interval for of in result.sweeps[0].metrics.values()],
        "differences": [gap.interval for gap in result.difference.values()],
        "averages": [mean.interval for each in means for mean in each.values()],
    }


def _sentence(result: Sensitivity, margin: str) -> str:
    """How many runs come near the best, of which sweep or group more do, or that it is not shown.

    Args:
      margin: the ROPE in words.
    """
    unfit = _unfit(result)
    if result.groups:
        said = _of_groups(result, margin, unfit)
    elif len(result.sweeps) == 2:
        said = _of_two(result.sweeps, result.difference.get(_SHARE), margin, unfit)
    elif len(result.sweeps) == 1:
        (of,) = result.sweeps
        share = _percent(of.metrics[_SHARE])
        best = f"{of.metrics['max'].value:.2f}"
        said = f"{share} of the runs of {of.name} come within {margin} of the best, {best}"
    else:
        by_share = sorted(result.sweeps, key=lambda each: each.metrics[_SHARE].value)
        ends = [
            f"{of.metrics[_SHARE].value:.2f} % ({of.name})" for of in (by_share[0], by_share[-1])
        ]
        said = (
            f"Between {' and '.join(ends)} of a sweep's runs come within {margin} of its best; no "
            f"two of the {len(by_share)} sweeps were compared"
        )
    return said + (f" ({unfit})" if unfit else "") + "."


def _unfit(result: Sensitivity) -> str:
    """Why nothing is shown, whatever the numbers; "": it may be."""
    running = [f"{of.unended} of {of.name}" for of in result.trials if of.unended]
    if running:
        return f"runs have not ended ({', '.join(running)}); those that have are no fair sample"
    seeds = [of.seed for of in result.trials if of.seed is not None]
    if len(result.trials) == len(seeds) == 2 and seeds[0] == seeds[1]:
        return (
            f"both were drawn with seed {seeds[0]}: runs of one number share values, and the "
            "intervals of A - B, which take the sweeps for independent, do not hold"
        )
    return ""


def _percent(of: Estimate | Mean) -> str:
    value = of.mean if isinstance(of, Mean) else of.value
    return f"{value:.2f} % {text.bounds(of.interval)}".rstrip()


def _of_two(of: Sequence[Analysis], gap: Estimate | None, margin: str, unfit: str) -> str:
    """Which sweep has more runs near its best, where the difference's interval leaves out 0."""
    first, second = (each.name for each in of)
    shares = " and ".join(f"{each.metrics[_SHARE].value:.2f} %" for each in of)
    difference = "" if unfit else "; there is no interval of their difference"
    if gap is not None and gap.interval is not None and not unfit:
        difference = f", difference {gap.value:.2f}, 95 % CI {text.bounds(gap.interval)}"
    if gap is None or gap.interval is None or unfit or gap.interval.low <= 0 <= gap.interval.high:
        return (
            f"That one of {first} and {second} has more runs within {margin} of its best was not "
            f"shown: {shares}{difference}"
        )
    more, fewer = (first, second) if gap.value > 0 else (second, first)
    return (
        f"More runs of {more} than of {fewer} come within {margin} of their best: {shares} "
        f"({first}, {second}){difference}"
    )


def _of_groups(result: Sensitivity, margin: str, unfit: str) -> str:
    """Which differences of groups were shown, by paired t tests corrected by Holm."""
    tested = [*zip(result.contrasts, corrected(result.contrasts), strict=True)]
    shown = [(contrast, p) for contrast, p in tested if p < _LEVEL and not unfit]
    if not tested:
        of = [f"{_percent(g.means[_SHARE])} of {g.name}" for g in result.groups]
        none = "; no two groups were compared" if len(of) > 1 else ""
        return f"Runs within {margin} of their sweep's best, averaged: {'; '.join(of)}{none}"
    every = text.counted(len(tested), "difference")
    count = f"{len(shown)} of {every}" if shown else "No difference"
    were = "were" if len(shown) > 1 else "was"
    head = f"{count} in the share of runs within {margin} of the best {were} shown"
    if not shown:
        least = min((p for _, p in tested if not math.isnan(p)), default=math.nan)
        return head + (f": least corrected p {text.p_value(least)}" if not unfit else "")
    named = []
    for contrast, p in shown[:_MOST_NAMED]:
        gap = contrast.means[_SHARE]
        more, fewer = (contrast.a, contrast.b) if gap.mean > 0 else (contrast.b, contrast.a)
        size = f"{abs(gap.mean):.2f} points over {gap.n} datasets"
        named.append(f"{more} has more than {fewer} ({size}, corrected p {text.p_value(p)})")
    named += [f"{len(shown) - len(named)} more"] if len(shown) > len(named) else []
    return f"{head}: {'; '.join(named)}"


def corrected(contrasts: Sequence[Contrast]) -> list[float]:
    """Of each contrast's share of runs near the best: p of the paired t test, by Holm.

    NaN where the differences do not vary, or there is one: nothing is tested.
    """
    raw = []
    for gap in (contrast.means.get(_SHARE) for contrast in contrasts):
        t = abs(gap.mean) / (gap.sd / math.sqrt(gap.n)) if gap and gap.sd else math.nan
        raw.append(float(2 * special.stdtr(gap.n - 1, -t)) if gap else math.nan)
    return [float(p) for p in multiple.adjust_p_values(raw)]
