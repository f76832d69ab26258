"""The primary tests of `compare`, design by design: tables of results/tests_and_intervals.md.

How often a family of comparisons has a false verdict at level .05, by the test and correction
that `power.by_ranks` and `pairs.correction` choose, for normal, skewed, lognormal scores,
sds 3:1 and partial nulls; and how many pairs 3 sd apart are found, beside the ranks in one family
with tests of spread that came before, and beside autorank (Herbold 2020), where it is installed
and --autorank says how many experiments it gets. One JSON line follows; a minute on one idle core,
seven more with --autorank 200.

    python benchmarks/primary_tests.py --experiments 20000 --autorank 200
"""

import argparse
import contextlib
import io
import itertools
import json
import math
import platform
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy
import verdict_levels
from scipy import stats as reference

from jaxeval.stats import multiple, power, ranks
from jaxeval.stats.pairs import RunScores

NORMAL, SKEWED, LOGNORMAL = "normal", "skewed (exponential)", "lognormal"
POPULATIONS: dict[str, Callable] = {
    **verdict_levels.POPULATIONS,
    LOGNORMAL: lambda g, s: (g.lognormal(size=s) - math.exp(0.5)) / 2.1612,  # mean 0, sd 1
}


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=20000)
    parser.add_argument("--autorank", type=int, default=0, metavar="EXPERIMENTS")
    asked = parser.parse_args()
    count = asked.experiments
    table = verdict_levels.table
    tables = {
        "families": table("Family-wise errors at level .05", _families(count)),
        "power": table("Pairs 3 sd apart that are found", _found(count, asked.autorank)),
    }
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    record = {"benchmark": "primary_tests", **vars(asked), "seed": 7, **tables, **versions}
    print(json.dumps(record | {"python": platform.python_version()}))


class Design(NamedTuple):
    """Scores drawn: `models` x `n` on `sets` data sets; splits move all models where `pairs`."""

    models: int
    n: int
    sets: int
    pairs: bool = False

    @property
    def test(self) -> str:
        """The primary test that `compare` takes."""
        x = np.zeros(self.n)
        one = RunScores("A", "B", "", x, x, (x, x) if self.pairs else None, self.pairs)
        if power.by_ranks([one] * (self.sets * math.comb(self.models, 2)), 0.05):
            return "Wilcoxon" if self.pairs else "Brunner-Munzel"
        return "t on pairs" if self.pairs else "Welch"

    def __str__(self) -> str:
        sets = f" x {self.sets}" if self.sets > 1 else ""
        return f"{self.models} x {self.n}{sets}{' pairs' if self.pairs else ''}"


DESIGNS = (
    *(Design(2, n, 1) for n in (3, 5, 7, 10, 20)),
    *(Design(models, n, 1) for models in (3, 5) for n in (3, 5, 10, 20)),
    *(Design(models, n, 2) for models in (2, 3) for n in (3, 5, 10, 20)),
    *(Design(models, n, 1, True) for models in (2, 3, 5) for n in (5, 10)),
)


def _families(count: int) -> Iterator[dict]:
    """False verdicts at level .05: any in the family; of the worst of three sets of sds 3:1."""
    for design in DESIGNS:
        models = np.arange(design.models)
        same = np.zeros(design.models)
        some = 6.0 * np.maximum(0, models - (design.models + 1) // 2 + 1)  # a half is equal
        equal = np.ones((1, design.models))
        wide = np.where([models == 0, models > 0, models % 2 == 0], 3, 1)
        row: dict = {"design": str(design), "test": design.test}
        unlike = _errors(design, NORMAL, same, same + 1, count, True) if design.pairs else "-"
        for name, population, means, ratios in (
            ("normal", NORMAL, same, equal),
            ("skewed", SKEWED, same, equal),
            ("lognormal", LOGNORMAL, same, equal),
            ("sd 3:1", NORMAL, same, wide),
            ("partial", NORMAL, some, equal),
            ("partial, 3:1", NORMAL, some, wide),
            ("skewed, 3:1", SKEWED, same, wide),
        ):
            none = design.models == 2 and name.startswith("partial")  # no hypothesis is true
            errors = [_errors(design, population, means, sds, count) for sds in ratios]
            row[name] = "-" if none else max(errors)
        yield row | {"unlike units": unlike}


def _errors(
    design: Design,
    population: str,
    means: np.ndarray,
    sds: np.ndarray,
    count: int,
    unlike: bool = False,
) -> float:
    p_values, gaps = _adjusted(design, population, means, sds, count, unlike=unlike)
    return float(np.mean((p_values[gaps == 0] <= 0.05).any(axis=0)))


def _found(count: int, of_autorank: int) -> Iterator[dict]:
    """Share of the pairs that are 3 sd apart: one model above all others; all in between."""
    for sizes in ((2, 5, 1), (3, 5, 1), (3, 5, 2), (5, 3, 1), (5, 5, 1), (5, 10, 1)):
        design = Design(*sizes)
        models = np.arange(design.models)
        between = np.where(models == 0, 3.0, np.where(models == design.models - 1, 0.0, 1.5))
        row: dict = {"design": str(design), "test": design.test}
        for name, means in (("one above", np.where(models == 0, 3.0, 0.0)), ("between", between)):
            drawn = design, NORMAL, means, np.ones(design.models), count
            for how, test in ((name, None), (f"{name}, ranks", "Brunner-Munzel")):
                p_values, gaps = _adjusted(*drawn, former=test)
                row[how] = float(np.mean(p_values[np.abs(gaps) == 3] <= 0.05))
            if of_autorank:
                takes = design.n >= 5  # rows, at least
                found = _by_autorank(design, means, of_autorank) if takes else "-"
                row[f"{name}, autorank"] = found
        yield row


def _adjusted(
    design: Design,
    population: str,
    means: np.ndarray,
    sds: np.ndarray,
    count: int,
    former: str | None = None,
    unlike: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Corrected p-values [P, R] and true differences [P].

    Args:
      former: another test, Holm over twice as many tests: those of spread were in the same
        family, and are taken to show nothing.
      unlike: sds differ between units, as between data sets, by lognormal factors.
    """
    generator = np.random.default_rng(7)
    test = former or design.test
    p_values, gaps = [], []
    for _ in range(design.sets):
        split = generator.normal(0, 3, (count, design.n)) if design.pairs else 0.0
        draw = POPULATIONS[population]
        each = zip(means, sds, strict=True)
        noise = np.exp(generator.normal(size=(count, design.n))) if unlike else 1.0
        scores = [m + sd * noise * draw(generator, (count, design.n)) + split for m, sd in each]
        for a, b in itertools.combinations(range(design.models), 2):
            p_values.append(_p_of(test, scores[a], scores[b]))
            gaps.append(means[a] - means[b])
    found = np.array(p_values)
    if test in ("Welch", "t on pairs"):
        return _closed(found, design), np.array(gaps)
    every = np.concatenate([found, np.ones_like(found)]) if former else found
    adjusted = np.apply_along_axis(multiple.adjust_p_values, 0, every)[: len(found)]
    return adjusted, np.array(gaps)


def _p_of(test: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if test == "Brunner-Munzel":
        return verdict_levels.brunner_munzel(first, second)
    if test == "Wilcoxon":
        return ranks.signed_ranks(first - second)[2]
    if test == "t on pairs":
        return np.asarray(reference.ttest_rel(first, second, axis=1).pvalue)
    return np.asarray(reference.ttest_ind(first, second, axis=1, equal_var=False).pvalue)


def _closed(p_values: np.ndarray, design: Design) -> np.ndarray:
    """`multiple.adjust_equalities` of columns, by all sets of pairs that can be equal."""
    both = list(itertools.combinations(range(design.models), 2))
    labels = itertools.product(range(design.models), repeat=design.models)
    one = {tuple(of[a] == of[b] for a, b in both) for of in labels}
    adjusted = np.zeros_like(p_values)
    for chosen in itertools.product(one, repeat=design.sets):
        equal = np.concatenate(chosen)
        if equal.any():
            value = equal.sum() * p_values[equal].min(axis=0)
            adjusted[equal] = np.maximum(adjusted[equal], value)
    return adjusted


def _by_autorank(design: Design, means: np.ndarray, count: int) -> float:
    """The same of autorank on each data set, at .05 by the number of data sets.

    It takes rows for paired, so that run k of all models is one. Pairs differ as its report says:
    simultaneous intervals (Tukey) that do not overlap, mean ranks by more than Nemenyi's critical
    difference, the test itself of two models; none where its omnibus test rejects nothing.
    """
    import pandas
    from autorank import autorank

    generator, names = np.random.default_rng(7), list(map(str, range(design.models)))
    pairs = [
        (a, b)
        for a, b in itertools.combinations(names, 2)
        if abs(means[int(a)] - means[int(b)]) == 3
    ]
    level, found = 0.05 / design.sets, []
    for _ in range(count):
        scores = generator.normal(means, size=(design.n, design.models))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = autorank(pandas.DataFrame(scores, columns=names), alpha=level)
        of = result.rankdf
        for a, b in pairs:
            apart = result.pvalue <= level
            if result.cd is not None:
                apart &= abs(of.meanrank[a] - of.meanrank[b]) > result.cd
            elif result.posthoc is not None:
                apart &= max(of.ci_lower[a], of.ci_lower[b]) > min(of.ci_upper[a], of.ci_upper[b])
            found.append(bool(apart))
    return float(np.mean(found))


if __name__ == "__main__":
    main()
