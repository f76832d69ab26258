"""The sensitivity of architectures in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval.report import folding, scores, tables, text
from jaxeval.report.sweep import answers, groups
from jaxeval.report.sweep.words import METRICS, PROFILE, SERIES
from jaxeval.sensitivity import Analysis, Difference
from jaxeval.sensitivity.groups import Averaged
from jaxeval.stats.results import Interval

if TYPE_CHECKING:
    from rich.console import Console


def show(
    names: Sequence[str],
    analyses: Sequence[Analysis],
    gaps: Mapping[str, Difference],
    averaged: Averaged | None,
    notes: Sequence[tuple[str, str]],
    unfit: str = "",
    details: bool = False,
) -> None:
    """The answer; the sweeps, one or two side by side, more in a row each, or their averages.

    Args:
      notes: of which sweep, and what is to be said of it.
      unfit: why the sweeps, or their difference, show nothing; "": they do.
      details: all metrics, every note, and how intervals were made.
    """
    console = tables.console()
    said = answers.sentence(names, analyses, gaps, averaged, unfit)
    console.print(f"\n{said}", markup=False, style="bold")
    if averaged is not None:
        groups.show(console, averaged, details)
    elif len(analyses) <= 2:
        _side_by_side(console, names, analyses, gaps, details)
    if len(analyses) > 2 if averaged is None else details:
        _a_row_each(console, names, analyses)
    skipped = [
        (name, f"has too few runs for k = {', '.join(map(str, analysis.skipped))}")
        for name, analysis in zip(names, analyses, strict=True)
        if analysis.skipped and details
    ]
    console.print()
    every = [f"{of}: {said}" if of else said for of, said in (*notes, *skipped)]
    for note in every if details else folding.folded(notes, "sweep"):
        console.print(note, markup=False, style="yellow")
    console.print(_signature(analyses, gaps, averaged, details), markup=False, style="dim")


def _signature(
    analyses: Sequence[Analysis],
    gaps: Mapping[str, Difference],
    averaged: Averaged | None,
    details: bool,
) -> str:
    """How the metrics were computed."""
    how = "intervals of 95 %, each by itself | --details: all metrics, every note, methods"
    if details:
        methods = text.methods(_intervals(analyses, gaps, averaged))
        how = f"95 % {methods}; not corrected for several looks | {text.versions()}"
    margin = scores.difference(analyses[0].rope, "fraction")
    return f"ROPE {margin} | convention {analyses[0].convention} | {how}"


def _intervals(
    analyses: Sequence[Analysis], gaps: Mapping[str, Difference], averaged: Averaged | None
) -> dict[str, list[Interval | None]]:
    """Kind -> those that are shown; of the first sweep, as others differ in their seed alone."""
    named: dict[str, list[Interval | None]] = {}
    for path, interval in analyses[0].intervals.items():
        named.setdefault(_kind(path), []).append(interval)
    named["differences"] = [gap.interval for gap in gaps.values()]
    if averaged is not None:
        means = [group.means for group in averaged.groups]
        means += [contrast.means for contrast in averaged.contrasts]
        named["averages"] = [mean.interval for each in means for mean in each.values()]
    return named


def _kind(path: str) -> str:
    if path == "share_zero":
        return METRICS[path]
    if path.endswith((".maxima", ".mean_change")):
        return "profiles"
    of_scores = path in METRICS or path.startswith(tuple(SERIES))
    return "scores" if of_scores else "correlations"


def _side_by_side(
    console: "Console",
    names: Sequence[str],
    analyses: Sequence[Analysis],
    gaps: Mapping[str, Difference],
    details: bool,
) -> None:
    """A column a sweep; the last one is the difference of two. A line a hyperparameter."""
    head = ["%", *names, *(["A - B"] if gaps else [])]
    rows = [["runs", *(str(analysis.n) for analysis in analyses), *([""] if gaps else [])]]
    rows += [_row(METRICS[name], name, analyses, gaps) for name in METRICS]
    for name, said in SERIES.items() if details else ():
        for k in dict.fromkeys(k for analysis in analyses for k in getattr(analysis, name)):
            rows.append(_row(f"{said} {k}", f"{name}.{k}", analyses, gaps))
    console.print()
    tables.print_table(console, head, rows)
    profiles = _profile_rows(analyses, gaps, details)
    if profiles:
        console.print()
        first = ["hyperparameter", ""] if details else [f"hyperparameter: {PROFILE['rho']}"]
        tables.print_table(console, [*first, *head[1:]], profiles, range(len(first)))


def _a_row_each(console: "Console", names: Sequence[str], analyses: Sequence[Analysis]) -> None:
    """The metrics of the scores; those of hyperparameters are in the JSON."""
    ks = dict.fromkeys(k for analysis in analyses for k in analysis.rel_at_k)
    paths = [*METRICS, *(f"rel_at_k.{k}" for k in ks)]
    head = [
        "sweep",
        "runs",
        *(METRICS[name] for name in METRICS),
        *(f"k-th best, {k}" for k in ks),
    ]
    rows = [
        [name, str(analysis.n), *(cell(value_at(analysis, path), None) for path in paths)]
        for name, analysis in zip(names, analyses, strict=True)
    ]
    console.print()
    tables.print_table(console, head, rows)


def _profile_rows(
    analyses: Sequence[Analysis], gaps: Mapping[str, Difference], details: bool
) -> list[Sequence[str]]:
    """A row a hyperparameter, its rho; with details one for each of its metrics."""
    names = dict.fromkeys(name for analysis in analyses for name in analysis.by_hyperparameter)
    paths = {f"by_hyperparameter.{name}": name for name in names}
    if not paths:
        return []
    named = {"all_hyperparameters": "all together", **paths}
    if not details:
        return [_row(name, f"{path}.rho", analyses, gaps) for path, name in named.items()]
    return [
        [name if key == "rho" else "", *_row(said, f"{path}.{key}", analyses, gaps)]
        for path, name in named.items()
        for key, said in PROFILE.items()
    ]


def _row(
    title: str, path: str, analyses: Sequence[Analysis], gaps: Mapping[str, Difference]
) -> list[str]:
    cells = [cell(value_at(analysis, path), analysis.intervals.get(path)) for analysis in analyses]
    gap = gaps.get(path)
    last = [] if not gaps else [cell(gap.estimate, gap.interval) if gap else "-"]
    return [title, *cells, *last]


def value_at(analysis: Analysis, path: str) -> float | None:
    """The value of a metric by its path in the JSON; None where it has none."""
    head, _, rest = path.partition(".")
    if head in ("rel_at_k", "mean_at_k"):
        return getattr(analysis, head).get(int(rest))
    if head == "all_hyperparameters":
        return getattr(analysis.all_hyperparameters, rest)
    if head == "by_hyperparameter":
        name, _, key = rest.rpartition(".")
        return getattr(analysis.by_hyperparameter.get(name), key, None)
    return getattr(analysis, head)


def cell(value: float | None, interval: Interval | None) -> str:
    """A value with its interval."""
    if value is None:
        return "-"
    shown = f"{value:d}" if isinstance(value, int) else f"{value:.2f}"
    return f"{shown} {text.bounds(interval)}".rstrip()
