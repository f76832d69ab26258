"""What one hyperparameter does, and what the seed alone does: tables and lines."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.document import Block, Table
from jaxeval.stats.configurations import OptionComparison, SeedEffect


def answer(option: str, groups: Sequence[OptionComparison]) -> Iterator[str]:
    """The value that wins most often, of each group."""
    for group in groups:
        best = next(of for of in group.options if of.value == group.best)
        p = [of.adjusted.get("sign_test", 1.0) for of in group.options if of is not best]
        shown = "is" if all(each <= 0.05 for each in p) else "is not shown to be"
        head = f"{_name(group)}: " if group.group else ""
        wins = f"wins in {best.wins:.1%} of {group.n} configurations"
        said = f"and {shown} better than all others (sign test, corrected)"
        yield f"{head}{option} {best.value} {wins}, {said}."


def blocks(
    option: str, groups: Sequence[OptionComparison], effect: Sequence[SeedEffect]
) -> Iterator[Block]:
    """A row a value of the option and group, then the seed effect."""
    rows, tests = [], 0
    for group in groups:
        tests += sum(len(of.adjusted) for of in group.options) + (group.friedman is not None)
        for of in group.options:
            gap = of.median_difference
            value = f"{of.value}{' *' if of.value == group.best else ''}"
            numbers = (f"{of.wins:.1%}", f"{of.median:.4g}", "" if gap is None else f"{gap:+.4f}")
            p, sd = of.adjusted, "-" if of.sd is None else f"{of.sd:.4f}"
            spread = (text.p_cell(p.get("sign_test")), sd, text.p_cell(p.get("brown_forsythe")))
            rows.append((_name(group), str(group.n), value, *numbers, *spread))
    head = ("group", "n", option, "wins", "median", "to the winner", "p (sign)", "sd")
    yield Table((*head, "p (spread)"), rows, words=1)
    for group in groups:
        if len(group.as_often) > 1:
            named = text.listed([str(value) for value in group.as_often])
            yield f"{_name(group)}: {named} win as often; the first is named"
        if group.friedman is not None and group.friedman_adjusted is not None:
            p_value = f"corrected p {text.p_value(group.friedman_adjusted)}"
            yield f"{_name(group)}: Friedman {group.friedman.statistic:.3f}, {p_value}"
    yield (
        "n: configurations with all values; wins: share in which the value is best; to the "
        "winner: median difference to the value that wins most often (*); repeats: "
        f"{groups[0].repeats}; p-values corrected by Holm over {tests} tests"
    )
    if effect:
        yield "What the seed alone does: largest minus smallest score of a configuration."
        names = ("group", "configurations", "scores", "median", "95th percentile", "max")
        seeds = []
        for seed in effect:
            ends = (f"{value:.4f}" for value in (seed.median, seed.percentile_95, seed.max))
            seeds.append((_name(seed), str(seed.configurations), str(seed.repeats), *ends))
        yield Table(names, seeds)


def _name(group: OptionComparison | SeedEffect) -> str:
    return " ".join(map(str, group.group)) or "all"
