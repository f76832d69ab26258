"""How often does each rule find the best of models that are trained here? Figure 4 of Moss et al.
(2019) at small size.

The four small models (moss2019/*_small) are trained on random splits of the generated corpus, one
population each; then every rule selects from these scores many times, drawn without replacement as
if models were trained anew: sequential halving and the non-adaptive rule at several budgets, and
the fixed-confidence rules at three deltas. "Best" is the model of the highest mean score. Prints
tables, then one JSON line; finished trainings are found in --out again.

    python benchmarks/fiesta_live.py training.epochs=12 --out live --plot figure4.png
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import common
import numpy as np
import simulated_selections

from jaxeval import bandits, runs
from jaxeval.bandits import Rule

MODELS = ("lstm_small", "tdlstm_small", "atae_small", "ian_small")
FIXED_BUDGET = {
    "sequential halving": lambda budget: bandits.SequentialHalving(budget=budget),
    "non-adaptive": lambda budget: bandits.NonAdaptive(delta=None, budget=budget),
}
FIXED_CONFIDENCE = {
    "top-two": lambda delta: bandits.TopTwoThompson(delta=delta),
    "non-adaptive": lambda delta: bandits.NonAdaptive(delta=delta),
}
DELTAS = (0.2, 0.1, 0.05)
Scores = Mapping[str, Sequence[float]]
Point = Mapping[str, float]


def main() -> None:
    """Trains, replays, prints, draws."""
    args = _parser().parse_args()
    scores = _trained(args)
    curves = {
        "fixed budget": _points(FIXED_BUDGET, args.budgets, scores, args.repetitions),
        "fixed confidence": _points(FIXED_CONFIDENCE, DELTAS, scores, args.repetitions),
    }
    if args.plot:
        _draw(curves, args.plot)
    common.report(
        benchmark="fiesta_live",
        splits=args.splits,
        changes=args.changes,
        repetitions=args.repetitions,
        mean={model: round(float(np.mean(values)), 4) for model, values in scores.items()},
        sd={model: round(float(np.std(values, ddof=1)), 4) for model, values in scores.items()},
        points=curves,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="of all four configs")
    parser.add_argument("--out", type=Path, required=True, help="runs folder")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="(all four)")
    parser.add_argument("--splits", type=int, default=40, help="trainings of each model (40)")
    parser.add_argument("--budgets", type=int, nargs="+", default=[8, 16, 24, 32, 48, 64])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--plot", type=Path, help="write the figure as PNG or SVG")
    return parser


def _trained(args: argparse.Namespace) -> Scores:
    """Test accuracy of each model on every split; --out may hold other experiments beside."""
    scores = {}
    for model in args.models:
        words = [f"moss2019/{model}", *args.changes, "--splits", str(args.splits), "--seeds", "1"]
        command = [sys.executable, "-m", "jaxeval", "train", *words, "--out", str(args.out)]
        trained = subprocess.run([*command, "--json", "-"], check=True, stdout=subprocess.PIPE)
        experiment = json.loads(trained.stdout)["experiment"]
        scores[model] = [
            row.test
            for row in runs.load(args.out)
            if row.experiment == experiment and row.split <= args.splits
        ]
    return scores


def _points(
    rules: Mapping, values: Sequence[float], scores: Scores, repetitions: int
) -> dict[str, list[Point]]:
    """Evaluations and share of correct choices of each rule at each budget or delta."""
    points: dict[str, list[Point]] = {}
    for name, make in rules.items():
        points[name] = [_point(make(value), value, scores, repetitions) for value in values]
        for point in points[name]:
            line = "  ".join(f"{key} {number:g}" for key, number in point.items())
            print(f"{name:20s} {line}", flush=True)
    return points


def _point(rule: Rule, value: float, scores: Scores, repetitions: int) -> Point:
    simulation = simulated_selections.simulate(rule, scores, repetitions=repetitions)
    spent, right = simulation.mean_evaluations, simulation.share_correct
    return {
        "at": value,
        "evaluations": round(spent.value, 2),
        "evaluations_se": round(spent.standard_error, 2),
        "correct": round(right.value, 4),
        "correct_se": round(right.standard_error, 4),
    }


def _draw(curves: Mapping[str, Mapping[str, Sequence[Point]]], path: Path) -> None:
    """Evaluations against correct choices: a line a rule, a mark a budget or delta."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = drawing.add_subplot()
    for kind, rules in curves.items():
        for name, points in rules.items():
            axes.errorbar(
                [point["evaluations"] for point in points],
                [100 * point["correct"] for point in points],
                xerr=[point["evaluations_se"] for point in points],
                yerr=[100 * point["correct_se"] for point in points],
                marker="o" if kind == "fixed budget" else "s",
                linestyle="-" if kind == "fixed budget" else "--",
                label=f"{name}, {kind}",
            )
    axes.set(xlabel="evaluations (mean, s.e.)", ylabel="best model found (%, s.e.)")
    axes.legend(frameon=False, fontsize=8)
    drawing.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
