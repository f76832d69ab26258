"""A study as tables and sentences for the terminal, and as LaTeX or Markdown to paste."""

from collections.abc import Iterator, Sequence
from typing import Any

from jaxeval.report import terminal, verdict
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


def print_study(study: Study) -> None:
    """Everything, in the order in which it is read."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    scale = verdict.Scale(study)
    console.print(f"\n{study.table.source}; {verdict.unit(study)}", markup=False)
    for line in verdict.counted(study):
        console.print(line, markup=False)
    for line in study.warnings:
        console.print(f"warning: {line}", markup=False, style="yellow")
    console.print()
    head = _model_head(study, scale)
    words = (0, 1) if head[0] == "data set" else (0,)
    terminal.print_table(console, head, model_rows(study, scale), words)
    pairs = study.comparison.pairs
    if len(pairs) > 1:
        console.print()
        terminal.print_table(console, _PAIR_HEAD, pair_rows(study, scale), (0, 1, 2))
    for pair in pairs[:_MOST_PAIRS]:
        _print_pair(console, pair, study, scale)
    if len(pairs) > _MOST_PAIRS:
        rest = len(pairs) - _MOST_PAIRS
        console.print(f"\n{rest} more pairs: --json holds all tests of all pairs", markup=False)
    for line in across_lines(study, scale):
        console.print(line, markup=False)
    console.print(f"\n{verdict.signature(study)}", markup=False, style="dim")


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


def across_lines(study: Study, scale: verdict.Scale) -> Iterator[str]:
    """What the data sets together say."""
    found = study.across
    if found is None:
        return
    yield f"\nacross {len(found.datasets)} data sets ({', '.join(found.datasets)})"
    for model, effect in found.interquartile_mean.items():
        mean = f"{scale(effect.estimate)} {scale.interval(effect.interval)}"
        yield f"  interquartile mean of {model}: {mean}"
    for (a, b), effect in found.improvement.items():
        low, high = effect.interval.low, effect.interval.high
        yield (
            f"  average probability that {a} is better than {b}: "
            f"{effect.estimate:.2f} [{low:.2f}, {high:.2f}]"
        )
    if found.ranking is not None:
        test, ranking = found.ranking.friedman, found.ranking
        ranks = ", ".join(
            f"{m} {r:.2f}" for m, r in zip(ranking.models, ranking.average_ranks, strict=True)
        )
        yield f"  average ranks: {ranks}"
        yield (
            f"  Friedman {test.statistic:.3f}, p {verdict.p_value(test.p_value)} (one test of all "
            "models, corrected for ties, not for other looks); Nemenyi's critical difference "
            f"{ranking.critical_difference:.2f} at {ranking.alpha:g}"
        )


def latex(study: Study) -> str:
    """Two tables to paste (booktabs), the sentences and the signature as comments."""
    scale = verdict.Scale(study)
    blocks = [
        _latex_table(_model_head(study, scale), model_rows(study, scale)),
        _latex_table(_PAIR_HEAD, pair_rows(study, scale)),
        "\n".join(f"% {line}" for line in verdict.of_study(study, scale)),
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
    sentences = "\n".join(f"* {_cell(line)}" for line in verdict.of_study(study, scale))
    blocks = [
        _markdown_table(_model_head(study, scale), model_rows(study, scale)),
        _markdown_table(_PAIR_HEAD, pair_rows(study, scale)),
        sentences,
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
