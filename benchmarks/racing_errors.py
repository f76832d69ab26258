"""What does racing over items save, and how often does it end with the wrong model?

Right and wrong answers: an item is as hard for all models, the best model is right `gap` more
often than the next, and all others are further behind. "Wrong" is a winner that is not the best in
truth, in all races; beside it the winner of all answers to all items, which errs too. Prints a
table and one JSON line.

    python benchmarks/racing_errors.py
    python benchmarks/racing_errors.py --models 2 --repetitions 1000
"""

import argparse
import time

import common
import numpy as np
import simulated_selections
from scipy import special

from jaxeval import bandits
from jaxeval.bandits.rules import CONFIDENT

SPREAD = 1.0  # sd of the items' hardness, in that of an answer
RULES = {"top-two": bandits.TopTwoThompson, "non-adaptive": bandits.NonAdaptive}


def main() -> None:
    """Simulates and prints."""
    args = _parser().parse_args()
    begin, rows = time.process_time(), []
    print("gap | all answers: wrong | rule: confident, wrong, confident and wrong, answers asked")
    for gap in args.gaps:
        tables = [_answers(args, gap, repetition) for repetition in range(args.repetitions)]
        full = float(np.mean([np.argmax(table.mean(1)) != 0 for table in tables]))
        row: dict[str, object] = {"gap": gap, "all_wrong": full}
        for name, make in RULES.items():
            row[name] = _raced(make(delta=args.delta), tables, args)
        rows.append(row)
        cells = (f"{name}: {row[name]}" for name in RULES)
        print(f"{gap:g} | {full:.3f} | {' | '.join(cells)}", flush=True)
    cpu = round(time.process_time() - begin, 1)
    tree = {"benchmark": "racing_errors", **vars(args), "rows": rows, "cpu_seconds": cpu}
    common.report(**tree, numpy=np.__version__)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--items", type=int, default=1200)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--gaps", type=float, nargs="+", default=[0.01, 0.02, 0.05, 0.1])
    parser.add_argument("--repetitions", type=int, default=300)
    return parser


def _answers(args: argparse.Namespace, gap: float, repetition: int) -> np.ndarray:
    """[models, items]; the first is right in .75 of all items, the k-th k gaps less often."""
    generator = np.random.default_rng([repetition, 1])
    means = np.maximum(0.05, 0.75 - gap * np.arange(args.models))
    skills = special.ndtri(means) * np.sqrt(1 + SPREAD**2)
    hard = SPREAD * generator.normal(size=args.items)
    own = generator.normal(size=(args.models, args.items))
    return np.asarray(own + hard < skills[:, np.newaxis], float)


def _raced(rule: bandits.Rule, tables: list[np.ndarray], args: argparse.Namespace) -> list[float]:
    """Shares: confident, wrong, confident and wrong, answers asked for."""
    names = [f"model {k}" for k in range(args.models)]
    index = {name: k for k, name in enumerate(names)}

    def evaluator(repetition: int) -> object:
        order = np.random.default_rng(repetition).permutation(args.items)
        order = order[: args.items // args.block * args.block].reshape(-1, args.block)
        scores = tables[repetition][:, order].mean(2)  # [models, blocks]
        return lambda model, number: float(scores[index[model], number - 1])

    seeds = range(len(tables))
    most = [args.items // args.block] * args.models
    answers = simulated_selections.trials(rule, names, [*map(evaluator, seeds)], seeds, most)
    sure = np.array([answer.reason == CONFIDENT for answer in answers])
    wrong = np.array([answer.best != names[0] for answer in answers])
    spent = np.mean([answer.evaluations for answer in answers]) * args.block
    shares = sure.mean(), wrong.mean(), (sure & wrong).mean(), spent / tables[0].size
    return [round(float(share), 3) for share in shares]


if __name__ == "__main__":
    main()
