"""How many evaluations does each rule need to find the best model? Tables 2 and 3 and Figure 4 of
Moss et al. (2019), recomputed from the released scores (12 models, 500 splits each).

Prints both tables beside the paper's figures and beside an independent recomputation with the
released rule (means with standard errors), then one JSON line. The ratio is that of the
evaluations of top-two Thompson sampling to those of the non-adaptive rule at delta .05.

    python benchmarks/fiesta_tables.py --scores test_f1.json --plot trade_off.png
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import scipy
import simulated_selections
from simulated_selections import Simulation

from jaxeval import bandits
from jaxeval.bandits import NonAdaptive, Rule, SequentialHalving, TopTwoThompson

DELTAS = (0.05, 0.1, 0.2)
BUDGETS = (48, 96, 144, 192, 228)


class Known(NamedTuple):
    """Mean evaluations at the three deltas."""

    paper: tuple[int, ...]
    recomputed: tuple[int, ...]  # independent, released rule with exact probabilities
    standard_errors: tuple[int, ...]


class Contender(NamedTuple):
    """A fixed-confidence rule with what is known of it; None for rules that are ours."""

    name: str
    rule: Any
    known: Known | None


CONTENDERS = (
    Contender("non-adaptive", NonAdaptive, Known((281, 206, 128), (290, 210, 137), (10, 8, 5))),
    Contender("TTTS", TopTwoThompson, Known((130, 96, 65), (150, 117, 83), (3, 3, 2))),
    Contender(
        "BTS-4",
        lambda **k: bandits.BatchThompson(batch_size=4, **k),
        Known((282, 144, 76), (309, 170, 103), (7, 4, 3)),
    ),
    Contender(
        "BTS-8",
        lambda **k: bandits.BatchThompson(batch_size=8, **k),
        Known((315, 178, 106), (318, 172, 106), (10, 4, 3)),
    ),
    Contender("top-two, batch 4", lambda **k: TopTwoThompson(batch_size=4, **k), None),
    Contender("top-two, batch 8", lambda **k: TopTwoThompson(batch_size=8, **k), None),
)
RECOMPUTED_CORRECT = {
    "non-adaptive": (0.548, 0.691, 0.773, 0.852, 0.870),
    "sequential halving": (0.703, 0.868, 0.935, 0.962, 0.976),
}


def main() -> None:
    """Simulates, prints, draws."""
    args = _parser().parse_args()
    scores: Mapping[str, Sequence[float]] = json.loads(args.scores.read_text())
    begin = time.perf_counter()
    budget = _fixed_budget(scores, args)
    confidence = _fixed_confidence(scores, args)
    ratio = (
        confidence["TTTS", 0.05].mean_evaluations[0]
        / (confidence["non-adaptive", 0.05].mean_evaluations[0])
    )
    if args.plot:
        _draw(confidence, args.plot)
    common.report(
        benchmark="fiesta_tables",
        ttts_over_non_adaptive=round(ratio, 3),
        evaluations={
            f"{name} {delta}": [round(v, 1) for v in simulation.mean_evaluations]
            for (name, delta), simulation in confidence.items()
        },
        correct={
            f"{name} {delta}": round(simulation.share_correct[0], 4)
            for (name, delta), simulation in confidence.items()
        },
        correct_at_budget=budget,
        repetitions=args.repetitions,
        replay="without replacement, each model for itself, seed 0",
        seconds=round(time.perf_counter() - begin, 1),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", type=Path, required=True, help="the released test_f1.json")
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--plot", type=Path, help="write the trade-off (Figure 4) as PNG or SVG")
    return parser


def _simulate(rule: Rule, scores: Mapping, repetitions: int) -> Simulation:
    return simulated_selections.simulate(rule, scores, repetitions=repetitions)


def _fixed_budget(scores: Mapping, args: argparse.Namespace) -> dict[str, list[float]]:
    """Table 2: share of selections that find the best of all 12 models."""
    print("Table 2. Best of 12 models found, by budget: here (s.e.) / recomputed elsewhere")
    shares_by_rule: dict[str, list[float]] = {}
    rules = {
        "non-adaptive": lambda b: NonAdaptive(delta=None, budget=b),
        "sequential halving": lambda b: SequentialHalving(budget=b),
    }
    for name, make in rules.items():
        shares = [_simulate(make(b), scores, args.repetitions).share_correct for b in BUDGETS]
        cells = [
            f"{b}: {s.value:.3f} ({s.standard_error:.3f}) / {k:.3f}"
            for b, s, k in zip(BUDGETS, shares, RECOMPUTED_CORRECT[name], strict=True)
        ]
        print(f"  {name:20s}", "   ".join(cells))
        shares_by_rule[name] = [round(s.value, 4) for s in shares]
    return shares_by_rule


def _fixed_confidence(
    scores: Mapping, args: argparse.Namespace
) -> dict[tuple[str, float], Simulation]:
    """Table 3: evaluations until one of 8 models is the best with probability 1 - delta."""
    eight = {name: values for name, values in scores.items() if not name.endswith("_200")}
    print(
        "\nTable 3. Evaluations of 8 models: min, mean (s.e.), max, correct / recomputed / paper"
    )
    simulations = {}
    for contender in CONTENDERS:
        for k, delta in enumerate(DELTAS):
            begin = time.perf_counter()
            simulation = _simulate(contender.rule(delta=delta), eight, args.repetitions)
            simulations[contender.name, delta] = simulation
            spent, right = simulation.mean_evaluations, simulation.share_correct
            known = contender.known
            beside = (
                f"{known.recomputed[k]} ({known.standard_errors[k]}) / {known.paper[k]}"
                if known
                else "ours"
            )
            print(
                f"  {contender.name:17s} delta {delta:<4g} {simulation.evaluations.min():4d} "
                f"{spent.value:6.1f} ({spent.standard_error:4.1f}) "
                f"{simulation.evaluations.max():5d} "
                f"{right.value:7.1%} / {beside:20s} {time.perf_counter() - begin:5.1f} s",
                flush=True,
            )
    return simulations


def _draw(simulations: Mapping[tuple[str, float], Simulation], path: Path) -> None:
    """Figure 4: evaluations against correctness, a line a rule, a mark a delta."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = drawing.add_subplot()
    for row, contender in enumerate(CONTENDERS):
        runs = [simulations[contender.name, delta] for delta in DELTAS]
        axes.errorbar(
            [run.mean_evaluations.value for run in runs],
            [100 * run.share_correct.value for run in runs],
            xerr=[run.mean_evaluations.standard_error for run in runs],
            yerr=[100 * run.share_correct.standard_error for run in runs],
            marker="os^vDP"[row],
            linestyle="--" if contender.known else "-",
            label=contender.name,
        )
    axes.set(xlabel="evaluations (mean, s.e.)", ylabel="best model found (%, s.e.)")
    axes.legend(frameon=False, fontsize=8)
    drawing.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
