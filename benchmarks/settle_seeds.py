"""What do rules that compare two models cost, and how often are they wrong? Normal scores.

A candidate is better than a base by 0 to 3 standard deviations of a score. Each cell: share of
experiments in which the rule claims that the candidate is better, share in which it claims the
reverse, mean number of seeds of each model. At 0 sd both are wrong. Rules:

    settle         at most --most seeds each, for four scales g of the prior, on pairs (without
                   correlation), and by wins; the base's own 10 scores are not counted where known
    fixed n        Welch's t once; "power .8": the fewest seeds that show this effect with .8
    peeking        Welch's t after every seed from 3 to 30, p < .05
    Pocock, O'Brien-Fleming   t at 6, 12, .. 30 seeds (Jennison & Turnbull 2000, tables 2.1, 2.3)
    select         top-two Thompson sampling, delta .05, at most 30 seeds each
    improvement    keeps every candidate whose first score is the higher one
    2 x MAD        keeps a candidate whose first score is above the median of 10 known scores of
                   the base by twice their median absolute deviation

    python benchmarks/settle_seeds.py
"""

import argparse
import functools
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import common
import numpy as np
import scipy
import simulated_selections

from jaxeval import bandits
from jaxeval.bandits.rules import CONFIDENT
from jaxeval.stats import anytime, power, sequential

ALPHA, BUDGET = 0.05, 30
EFFECTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
LOOKS = np.arange(6, BUDGET + 1, 6)
POCOCK, O_BRIEN_FLEMING = 2.413, 2.040  # five looks, .05, two-sided


class Outcome(NamedTuple):
    """What a rule did in each experiment."""

    claims: np.ndarray  # [R] 1: the candidate is better, -1: the base is, 0: neither
    seeds: np.ndarray | float  # [R] of each model


Rule = Callable[[np.ndarray, np.ndarray], Outcome]  # scores [R, n] of candidate and base


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--selections", type=int, default=1_000, help="repetitions of select")
    parser.add_argument("--most", type=int, default=100)
    args = parser.parse_args()
    begin, rows = time.process_time(), {}
    for name, rule in _rules(args.selections).items():
        rows[name] = [_cell(rule, effect, args.repetitions, args.most) for effect in EFFECTS]
        print(name.ljust(28), *("{:.3f} {:.3f} {:5.1f}".format(*cell) for cell in rows[name]))
    design = power.TestDesign(sd=1.0)
    needed = [design.required_seeds(effect) for effect in EFFECTS[1:]]
    print("power .8".ljust(28), needed)
    common.report(
        benchmark="settle_seeds",
        **vars(args),
        alpha=ALPHA,
        effects=EFFECTS,
        better_worse_seeds=rows,
        fixed_n_of_power_8=needed,
        cpu_seconds=round(time.process_time() - begin, 1),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _rules(selections: int) -> Mapping[str, Rule]:
    settles = {f"settle, g {g:g}": functools.partial(settle, g=g) for g in (0.5, 1.0, 2.0, 4.0)}
    return {
        **settles,
        "settle, pairs": lambda a, b: settle(a - b),
        "settle, wins": _wins,
        "settle, 10 known": functools.partial(settle, known=10),
        "settle, at most 30": lambda a, b: settle(a[:, :BUDGET], b[:, :BUDGET]),
        **{f"fixed n, {n}": functools.partial(_looks_at, (n,), ALPHA) for n in (5, 10, 20)},
        "peeking, at most 30": functools.partial(_looks_at, range(3, BUDGET + 1), ALPHA),
        "Pocock": functools.partial(_looks_at, LOOKS, _level(POCOCK)),
        "O'Brien-Fleming": functools.partial(
            _looks_at, LOOKS, _level(O_BRIEN_FLEMING * np.sqrt(5 / np.arange(1, 6)))
        ),
        "select, at most 30": functools.partial(_select, selections),
        "improvement": lambda a, b: Outcome((a[:, 0] > b[:, 0]).astype(int), 1.0),
        "2 x MAD": _mad,
    }


def _cell(rule: Rule, effect: float, repetitions: int, most: int) -> tuple[float, float, float]:
    a, b = np.random.default_rng(2).normal(size=(2, repetitions, most))
    claims, seeds = rule(a + effect, b)
    found = np.mean(claims > 0), np.mean(claims < 0), np.mean(seeds)
    return tuple(round(float(value), 4) for value in found)  # type: ignore[return-value]


def settle(
    a: np.ndarray, b: np.ndarray | None = None, *, g: float = sequential._PRIOR_VARIANCE, known=0
) -> Outcome:
    """First claims, by differences within pairs if there is no B, and seeds until then."""
    seen = sequential.looks(a, b, known)
    better, worse = (
        sequential.e_process(seen, g=g, alternative=side) >= np.log(2 / ALPHA)
        for side in ("greater", "less")
    )
    claims = better.astype(int) - worse
    return _first(claims, seen.scores)


def _wins(a: np.ndarray, b: np.ndarray) -> Outcome:
    won, pairs = np.cumsum(a > b, axis=-1), np.arange(1, a.shape[-1] + 1)
    better, worse = (
        anytime._log_e_wins(won, pairs - won, side) >= np.log(2 / ALPHA)
        for side in ("greater", "less")
    )
    return _first(better.astype(int) - worse, pairs)


def _first(claims: np.ndarray, seeds: np.ndarray) -> Outcome:
    """The first claim of each experiment; after the last look there is none."""
    look = np.where((claims != 0).any(-1), (claims != 0).argmax(-1), claims.shape[-1] - 1)
    return Outcome(np.take_along_axis(claims, look[:, None], -1)[:, 0], seeds[look])


def _looks_at(numbers, levels, a: np.ndarray, b: np.ndarray) -> Outcome:
    """Welch's t at some numbers of seeds, at a level each."""
    claims = np.zeros((len(a), len(numbers)), int)
    for k, (n, level) in enumerate(zip(numbers, np.resize(levels, len(numbers)), strict=True)):
        test = scipy.stats.ttest_ind(a[:, :n], b[:, :n], axis=-1, equal_var=False)
        claims[:, k] = np.where(test.pvalue < level, np.sign(test.statistic), 0)
    return _first(claims, np.asarray(numbers))


def _level(z: np.ndarray | float) -> np.ndarray:
    return 2 * scipy.special.ndtr(-np.asarray(z))


def _select(repetitions: int, a: np.ndarray, b: np.ndarray) -> Outcome:
    rule, names = bandits.TopTwoThompson(delta=0.05), ["candidate", "base"]

    def evaluator(r: int) -> Callable[[str, int], float]:
        return lambda model, number: float((a if model == names[0] else b)[r, number - 1])

    seeds = range(repetitions)
    evaluators = [evaluator(r) for r in seeds]
    answers = simulated_selections.trials(rule, names, evaluators, seeds, [BUDGET] * 2)
    sides = [
        (1 if answer.best == names[0] else -1) if answer.reason == CONFIDENT else 0
        for answer in answers
    ]
    return Outcome(np.array(sides), np.array([answer.evaluations / 2 for answer in answers]))


def _mad(a: np.ndarray, b: np.ndarray) -> Outcome:
    known = b[:, :10]
    median = np.median(known, axis=-1)
    noise = np.median(np.abs(known - median[:, None]), axis=-1)
    return Outcome((a[:, 0] > median + 2 * noise).astype(int), 1.0)


if __name__ == "__main__":
    main()
