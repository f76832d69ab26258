"""What one hyperparameter does, and what the seed alone does: tables and lines."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.document import Block, Table
from jaxeval.stats.configurations import Option, OptionComparison, SeedEffect


def blocks(
    option: str, groups: Sequence[OptionComparison], effect: Sequence[SeedEffect]
) -> Iterator[Block]:
    """A row a value of the option and group, then the seed effect."""
    head = ("group", "n", option, "wins", "median", "to the winner", "p (sign)", "sd")
    rows = [_row(group, of) for group in groups for of in group.options]
    yield Table((*head, "p (spread)"), rows, words=1)
    for group in groups:
        if len(group.as_often) > 1:
            named = text.listed([str(value) for value in group.as_often])
            yield f"{_name(group)}: {named} win as often; the first is named"
        if group.friedman is not None and group.friedman_adjusted is not None:
            yield (
                f"{_name(group)}: Friedman {group.friedman.statistic:.3f}, corrected p "
                f"{text.p_value(group.friedman_adjusted)}"
            )
    tests = sum(len(of.adjusted) for group in groups for of in group.options)
    tests += sum(group.friedman is not None for group in groups)
    yield (
        "n: configurations with all values; wins: share in which the value is best; to the "
        "winner: median difference to the value that wins most often (*); repeats: "
        f"{groups[0].repeats}; p-values corrected by Holm over {tests} tests"
    )
    if effect:
        yield "What the seed alone does: largest minus smallest score of a configuration."
        names = ("group", "configurations", "scores", "median", "95th percentile", "max")
        yield Table(names, [_of_seeds(seeds) for seeds in effect])


def answer(option: str, groups: Sequence[OptionComparison]) -> Iterator[str]:
    """The value that wins most often, of each group."""
    for group in groups:
        best = next(of for of in group.options if of.value == group.best)
        told = [of.adjusted.get("sign_test", 1.0) for of in group.options if of is not best]
        shown = all(p <= 0.05 for p in told)
        head = f"{_name(group)}: " if group.group else ""
        said = (
            "is better than all others" if shown else "is not shown to be better than all others"
        )
        wins = f"wins in {best.wins:.1%} of {group.n} configurations"
        yield f"{head}{option} {best.value} {wins}, and {said} (sign test, corrected)."


def _name(group: OptionComparison | SeedEffect) -> str:
    return " ".join(map(str, group.group)) or "all"


def _row(group: OptionComparison, of: Option) -> Sequence[str]:
    gap = of.median_difference
    return (
        *(_name(group), str(group.n), f"{of.value}{' *' if of.value == group.best else ''}"),
        *(f"{of.wins:.1%}", f"{of.median:.4g}", "" if gap is None else f"{gap:+.4f}"),
        text.p_cell(of.adjusted.get("sign_test")),
        "-" if of.sd is None else f"{of.sd:.4f}",
        text.p_cell(of.adjusted.get("brown_forsythe")),
    )


def _of_seeds(seeds: SeedEffect) -> Sequence[str]:
    numbers = (seeds.median, seeds.percentile_95, seeds.max)
    counts = (str(seeds.configurations), str(seeds.repeats))
    return (_name(seeds), *counts, *(f"{value:.4f}" for value in numbers))
