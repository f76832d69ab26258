"""A study as tables and sentences for the terminal, and as LaTeX or Markdown to paste."""

from collections.abc import Iterator, Sequence
from typing import Any

from jaxeval.report import overall, terminal, verdict
from jaxeval.stats.comparison import Pair
from jaxeval.stats.study import Study

Row = Sequence[str]
_HEAD = ("n", "min", "q1", "median", "q3", "max", "mean", "95 % t interval", "sd")
_MOST_PAIRS = 6  # shown with all their tests; more only in a table
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


def model_rows(study: Study, scale: verdict.Scale) -> list[Row]:
    """Data set (where there is one), model and the five numbers, mean and sd of each."""
    return [
        (
            *((one.dataset,) if one.dataset else ()),
            one.model,
            str(one.summary.n),
            *(scale(getattr(one.summary, key)) for key in ("min", "q1", "median", "q3", "max")),
            scale(one.summary.mean),
            scale.interval(one.summary.mean_interval),
            scale(one.summary.sd),
        )
        for one in study.described
    ]


def _model_head(study: Study, scale: verdict.Scale) -> Row:
    named = any(one.dataset for one in study.described)
    unit = "scores, %" if scale.percent else "scores"
    return (*(("data set",) if named else ()), unit, *_HEAD)


def pair_rows(study: Study, scale: verdict.Scale) -> list[Row]:
    """One row a pair: difference, probability of improvement and corrected p-values."""
    return [_pair_row(pair, scale) for pair in study.comparison.pairs]


_PAIR_HEAD = (
    "A",
    "B",
    "data set",
    "A - B",
    "95 % interval",
    "P(A better)",
    "p location",
    "p spread",
)


def _pair_row(pair: Pair, scale: verdict.Scale) -> Row:
    gap, won = pair.effects["difference"], pair.effects["probability_of_improvement"]
    p = [pair.adjusted.get(name) for name in pair.scores.verdict_tests]
    return (
        pair.scores.a,
        pair.scores.b,
        pair.scores.dataset or "-",
        scale(gap.estimate),
        scale.interval(gap.interval),
        f"{won.estimate:.2f} [{won.interval.low:.2f}, {won.interval.high:.2f}]",
        *("-" if value is None else verdict.p_value(value).removeprefix("= ") for value in p),
    )


def print_study(study: Study, details: bool = False) -> None:
    """Everything, in the order in which it is read.

    Args:
      details: all models and pairs on all data sets, however many they are.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    scale = verdict.Scale(study)
    console.print(f"\n{study.table.source}; {verdict.unit(study)}", markup=False)
    for line in verdict.counted(study):
        console.print(line, markup=False)
    for line in study.warnings:
        console.print(f"warning: {line}", markup=False, style="yellow")
    _print_together(console, study, scale)
    pairs = study.comparison.pairs
    if details or not _is_large(study):
        _print_tables(console, study, scale)
        for pair in pairs if details else pairs[:_MOST_PAIRS]:
            _print_pair(console, pair, study, scale)
    if (len(pairs) > _MOST_PAIRS or _is_large(study)) and not details:
        console.print(f"\n{_behind(study)}", markup=False)
    console.print(f"\n{verdict.signature(study)}", markup=False, style="dim")


def _is_large(study: Study) -> bool:
    """Whether the data sets together are what is read, and each of them a detail."""
    if study.across is None:
        return False
    one_each = study.samples.unit == "dataset" and study.across.ranking is not None
    return one_each or len(study.comparison.pairs) > _MOST_PAIRS


def _behind(study: Study) -> str:
    many = f"{len(study.comparison.pairs)} pairs"
    if study.across is not None and study.samples.unit != "dataset":
        many += " of models on single data sets"
    return f"{many}: --details prints their tests, --json holds them"


def _print_together(console: Any, study: Study, scale: verdict.Scale) -> None:
    """What the data sets together say."""
    for line in overall.headline(study, scale):
        console.print(f"\n{line}", markup=False, style="bold")
    if study.across is None:
        return
    console.print()
    terminal.print_table(console, *overall.model_table(study, scale))
    head, rows = overall.improvement_table(study)
    if rows:
        console.print()
        terminal.print_table(console, head, rows)
    for line in _ranked(study):
        console.print(line, markup=False)


def _ranked(study: Study) -> Iterator[str]:
    """The tests behind the ranks."""
    ranking = None if study.across is None else study.across.ranking
    if ranking is None:
        return
    plain, f = ranking.without_ties
    nemenyi = f"; Nemenyi's critical difference {ranking.critical_difference:.3f} at "
    nemenyi += f"{ranking.alpha:g}"
    chi_squared, davenport = ranking.friedman, ranking.iman_davenport
    tied = abs(plain - chi_squared.statistic) > 1e-9
    yield (
        f"\nFriedman chi-squared {chi_squared.statistic:.3f}, p "
        f"{verdict.p_value(chi_squared.p_value)}; Iman-Davenport F {davenport.statistic:.3f}, p "
        f"{verdict.p_value(davenport.p_value)} by permutation"
        + (f" (not corrected for ties: {plain:.3f} and {f:.3f})" if tied else "")
        + ("" if study.across and study.across.against else nemenyi)
    )


def _print_tables(console: Any, study: Study, scale: verdict.Scale) -> None:
    head = _model_head(study, scale)
    words = (0, 1) if head[0] == "data set" else (0,)
    console.print()
    terminal.print_table(console, head, model_rows(study, scale), words)
    if len(study.comparison.pairs) > 1:
        console.print()
        terminal.print_table(console, _PAIR_HEAD, pair_rows(study, scale), (0, 1, 2))


def _print_pair(console: Any, pair: Pair, study: Study, scale: verdict.Scale) -> None:
    where = f" on {pair.scores.dataset}" if pair.scores.dataset else ""
    console.print(f"\n{pair.scores.a} against {pair.scores.b}{where}", markup=False, style="bold")
    for line in verdict.of_pair(pair, study.comparison.rules, scale):
        console.print(f"  {line}", markup=False)
    console.print()
    rows = [
        (
            f"  {verdict.TESTS[name]}",
            f"{test.statistic:.6g}",
            f"{test.p_value:.3g}",
            f"{pair.adjusted[name]:.3g}",
            "verdict" if name in pair.scores.verdict_tests else "",
        )
        for name, test in pair.tests.items()
    ]
    terminal.print_table(console, ("  test", "statistic", "p", "corrected p", ""), rows)


def _blocks(study: Study, scale: verdict.Scale) -> list[tuple[Row, list[Row]]]:
    """Tables to paste, as head and rows; of many data sets only what they say together."""
    together = [overall.model_table(study, scale)] if study.across is not None else []
    if _is_large(study):
        return together
    models = (_model_head(study, scale), model_rows(study, scale))
    return [*together, models, (_PAIR_HEAD, pair_rows(study, scale))]


def _sentences(study: Study, scale: verdict.Scale) -> list[str]:
    together = overall.headline(study, scale)
    return together if _is_large(study) else [*together, *verdict.of_study(study, scale)]


def latex(study: Study) -> str:
    """Two tables to paste (booktabs), the sentences and the signature as comments."""
    scale = verdict.Scale(study)
    blocks = [
        *(_latex_table(head, rows) for head, rows in _blocks(study, scale)),
        "\n".join(f"% {line}" for line in _sentences(study, scale)),
        f"% {verdict.signature(study)}",
    ]
    return "\n\n".join(blocks) + "\n"


def _latex_table(head: Row, rows: Sequence[Row]) -> str:
    def line(cells: Row) -> str:
        return " & ".join(cell.translate(_LATEX).replace("<", "$<$") for cell in cells) + r" \\"

    columns = "l" + "r" * (len(head) - 1)
    body = "\n".join(map(line, rows))
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{line(head)}\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}"
    )


def markdown(study: Study) -> str:
    """The same for Markdown."""
    scale = verdict.Scale(study)
    blocks = [
        *(_markdown_table(head, rows) for head, rows in _blocks(study, scale)),
        "\n".join(f"* {_cell(line)}" for line in _sentences(study, scale)),
        f"`{verdict.signature(study)}`",
    ]
    return "\n\n".join(blocks) + "\n"


def _cell(text: str) -> str:
    for mark in "\\|*_`<":
        text = text.replace(mark, "\\" + mark)
    return text


def _markdown_table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
