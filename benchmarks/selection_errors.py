"""How often does a selection that claims confidence name the wrong model? Normal scores, new ones
in every repetition; one model leads all others by a gap, in standard deviations of a score.

"Confident" is a statement of the posterior at the moment when the rule stops. It is no bound on
the share of wrong answers: a rule that looks after every score, and stops when it likes what it
sees, errs more often where gaps are small. Prints how often, then one JSON line.

    python benchmarks/selection_errors.py                        # two models, top-two, delta .05
    python benchmarks/selection_errors.py --models 8 --rule non-adaptive
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import common
import numpy as np
import scipy
import simulated_selections

from jaxeval import bandits
from jaxeval.bandits.rules import CONFIDENT

RULES: Mapping[str, Any] = {
    "top-two": bandits.TopTwoThompson,
    "batch": bandits.BatchThompson,
    "non-adaptive": bandits.NonAdaptive,
}


def main() -> None:
    """Simulates and prints."""
    args = _parser().parse_args()
    kind = RULES[args.rule]
    if args.min_evaluations:  # begins with more evaluations of each model than the prior needs
        kind = type(kind.__name__, (kind,), {"initial": args.min_evaluations})
    rule = kind(delta=args.delta)
    begin = time.process_time()
    print(
        f"{args.models} models, {args.rule}, delta {args.delta:g}, at least {rule.initial} "
        f"scores a model, {args.repetitions} repetitions: % confident, % confident and wrong, "
        "mean evaluations"
    )
    print("gap / sd  " + "".join(f"at most {most} each".rjust(24) for most in args.most))
    rows = {}
    for gap in args.gaps:
        cells = [_shares(rule, gap, most, args) for most in args.most]
        rows[f"{gap:g}"] = dict(zip(map(str, args.most), cells, strict=True))
        shown = (f"{100 * sure:.1f} {100 * wrong:.1f} {spent:.0f}" for sure, wrong, spent in cells)
        print(f"{gap:<10g}" + "".join(text.rjust(24) for text in shown), flush=True)
    common.report(
        benchmark="selection_errors",
        **vars(args),
        confident_wrong_evaluations=rows,
        cpu_seconds=round(time.process_time() - begin, 1),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--rule", choices=RULES, default="top-two")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--min-evaluations", type=int, help="of each model first (3)")
    parser.add_argument("--gaps", type=float, nargs="+", default=[0, 0.1, 0.5, 1])
    parser.add_argument("--most", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _shares(
    rule: Any, gap: float, most: int, args: argparse.Namespace
) -> tuple[float, float, float]:
    """Shares that are confident, and confident and wrong (gap 0: of every one), and the cost."""
    names = [f"model {k}" for k in range(args.models)]
    seeds = range(args.seed, args.seed + args.repetitions)
    evaluators = [_evaluator(names, gap, most, seed) for seed in seeds]
    answers = simulated_selections.trials(rule, names, evaluators, seeds, [most] * len(names))
    sure = [answer for answer in answers if answer.reason == CONFIDENT]
    wrong = [answer for answer in sure if gap == 0 or answer.best != names[0]]
    spent = float(np.mean([answer.evaluations for answer in answers]))
    return len(sure) / len(answers), len(wrong) / len(answers), spent


def _evaluator(names: list[str], gap: float, most: int, seed: int) -> Callable[[str, int], float]:
    scores = np.random.default_rng([seed, 1]).normal(size=(len(names), most))
    scores[0] += gap
    index = {name: k for k, name in enumerate(names)}
    return lambda model, number: float(scores[index[model], number - 1])


if __name__ == "__main__":
    main()
