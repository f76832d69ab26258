"""Paired options and the seed effect as tables for the terminal."""

from collections.abc import Sequence

from jaxeval.files import Json
from jaxeval.report import tables, text
from jaxeval.report.plain import plain, record
from jaxeval.stats import multiple
from jaxeval.stats.configurations import Option, OptionComparison, SeedEffect

Tests = dict[tuple[int, int, str], float]  # group, option (-1: all), name of the test


def adjusted(groups: Sequence[OptionComparison]) -> Tests:
    """Holm's correction over all tests of all groups: (group, option, test) -> p-value."""
    p_values: Tests = {}
    for g, group in enumerate(groups):
        if group.friedman is not None:
            p_values[g, -1, "friedman"] = group.friedman.p_value
        for k, option in enumerate(group.options):
            for name in ("sign_test", "brown_forsythe"):
                test = getattr(option, name)
                if test is not None:
                    p_values[g, k, name] = test.p_value
    corrected = multiple.adjust_p_values(list(p_values.values()), "holm")
    return dict(zip(p_values, corrected.tolist(), strict=True))


def with_adjusted(groups: Sequence[OptionComparison], p_values: Tests) -> list[dict[str, Json]]:
    """The results as plain data, with `p_adjusted` in every test."""

    def adjusted(result: OptionComparison | Option, *of: int) -> dict[str, Json]:
        of_option = {name: p for (g, k, name), p in p_values.items() if (g, k) == of}
        tests = {n: record(getattr(result, n)) | {"p_adjusted": p} for n, p in of_option.items()}
        return record(result) | tests

    return [
        adjusted(group, g, -1)
        | {
            "level": plain(group.level),
            "options": [adjusted(option, g, k) for k, option in enumerate(group.options)],
        }
        for g, group in enumerate(groups)
    ]


def show(
    option: str, groups: Sequence[OptionComparison], effect: Sequence[SeedEffect] | None, p: Tests
) -> None:
    """A row a value of the option and group, then the seed effect."""
    console = tables.console()
    rows = [_row(g, k, group, p) for g, group in enumerate(groups) for k in _numbers(group)]
    head = (
        "group",
        "n",
        option,
        "wins",
        "median",
        "to the winner",
        "p (sign)",
        "sd",
        "p (spread)",
    )
    console.print()
    tables.print_table(console, head, rows, words=(0, 2))
    for g, group in enumerate(groups):
        if len(group.level) > 1:
            said = f"{_name(group)}: {text.listed([str(value) for value in group.level])}"
            console.print(f"{said} win as often; the first is named", markup=False)
        if group.friedman is not None:
            console.print(
                f"{_name(group)}: Friedman {group.friedman.statistic:.3f}, "
                f"corrected p {text.p_value(p[g, -1, 'friedman'])}",
                markup=False,
            )
    console.print(
        "n: configurations with all values; wins: share in which the value is best; to the "
        "winner: median difference to the value that wins most often (*); sd: ddof "
        f"{groups[0].ddof}; repeats: {groups[0].repeats}; p-values corrected by Holm over "
        f"{len(p)} tests",
        style="dim",
    )
    if effect:
        console.print(
            "\nwhat the seed alone does: largest minus smallest score of a configuration"
        )
        names = ("group", "configurations", "scores", "median", "95th percentile", "max")
        tables.print_table(console, names, [_effect_row(seeds) for seeds in effect])


def _numbers(group: OptionComparison) -> range:
    return range(len(group.options))


def _name(group: OptionComparison | SeedEffect) -> str:
    return " ".join(map(str, group.group)) or "all"


def _row(g: int, k: int, group: OptionComparison, p: Tests) -> Sequence[str]:
    option = group.options[k]
    gap = option.median_difference
    return (
        _name(group),
        str(group.n),
        f"{option.value}{' *' if option.value == group.best else ''}",
        f"{option.wins:.1%}",
        f"{option.median:.4g}",
        "" if gap is None else f"{gap:+.4f}",
        text.p_cell(p.get((g, k, "sign_test"))),
        "-" if option.sd is None else f"{option.sd:.4f}",
        text.p_cell(p.get((g, k, "brown_forsythe"))),
    )


def _effect_row(seeds: SeedEffect) -> Sequence[str]:
    return (
        _name(seeds),
        str(seeds.configurations),
        str(seeds.repeats),
        *(f"{value:.4f}" for value in (seeds.median, seeds.percentile_95, seeds.max)),
    )
