"""Paired options and the seed effect as tables for the terminal."""

from collections.abc import Sequence
from typing import Any

from jaxeval.report import terminal, verdict
from jaxeval.stats import multiple
from jaxeval.stats.configurations import OptionComparison, SeedEffect

Tests = dict[tuple[int, int, str], float]  # group, option (-1: all), name of the test


def adjusted(found: Sequence[OptionComparison]) -> Tests:
    """Holm's correction over all tests of all groups: (group, option, test) -> p-value."""
    p_values: Tests = {}
    for g, group in enumerate(found):
        if group.friedman is not None:
            p_values[g, -1, "friedman"] = group.friedman.p_value
        for k, option in enumerate(group.options):
            for name in ("sign_test", "brown_forsythe"):
                test = getattr(option, name)
                if test is not None:
                    p_values[g, k, name] = test.p_value
    corrected = multiple.adjust_p_values(list(p_values.values()), "holm")
    return dict(zip(p_values, corrected.tolist(), strict=True))


def with_adjusted(tree: list[dict[str, Any]], p_values: Tests) -> list[dict[str, Any]]:
    """Adds `p_adjusted` to every test of the plain results."""
    for (g, k, name), p in p_values.items():
        place = tree[g] if k < 0 else tree[g]["options"][k]
        place[name]["p_adjusted"] = p
    return tree


def show(
    option: str, found: Sequence[OptionComparison], effect: Sequence[SeedEffect] | None, p: Tests
) -> None:
    """A row a value of the option and group, then the seed effect."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    rows = [_row(g, k, one, p) for g, one in enumerate(found) for k in range(len(one.options))]
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
    terminal.print_table(console, head, rows, words=(0, 2))
    for g, group in enumerate(found):
        if group.friedman is not None:
            name = " ".join(map(str, group.group)) or "all"
            console.print(
                f"{name}: Friedman {group.friedman.statistic:.3f}, "
                f"corrected p {verdict.p_value(p[g, -1, 'friedman'])}",
                markup=False,
            )
    console.print(
        "n: configurations with all values; wins: share in which the value is best; to the "
        f"winner: median difference to the most frequent winner (*); sd: ddof {found[0].ddof}; "
        f"repeats: {found[0].repeats}; p-values corrected by Holm over {len(p)} tests",
        style="dim",
    )
    if effect:
        console.print(
            "\nwhat the seed alone does: largest minus smallest score of a configuration"
        )
        names = ("group", "configurations", "scores", "median", "95th percentile", "max")
        terminal.print_table(console, names, [_effect_row(one) for one in effect])


def _row(g: int, k: int, group: OptionComparison, p: Tests) -> Sequence[str]:
    one = group.options[k]
    best = one.value == group.best

    def corrected(name: str) -> str:
        return verdict.p_value(p[g, k, name]).removeprefix("= ") if (g, k, name) in p else ""

    return (
        " ".join(map(str, group.group)) or "all",
        str(group.n),
        f"{one.value}{' *' if best else ''}",
        f"{one.wins:.1%}",
        f"{one.median:.4g}",
        "" if one.median_difference is None else f"{one.median_difference:+.4f}",
        corrected("sign_test"),
        f"{one.sd:.4f}",
        corrected("brown_forsythe"),
    )


def _effect_row(one: SeedEffect) -> Sequence[str]:
    return (
        " ".join(map(str, one.group)) or "all",
        str(one.configurations),
        str(one.repeats),
        *(f"{value:.4f}" for value in (one.median, one.percentile_95, one.max)),
    )
