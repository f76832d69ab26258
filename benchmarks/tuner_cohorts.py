"""What does it cost, and save, that proposals prefer programs that run already?

Tables of trained networks and BBOB functions, of which the first hyperparameters count as compiled
in: a setting with other values of them needs another program. 64 settings, eight at once, all told
before the next eight are asked for. For each price (`gp.PRICE`, the share of the expected
improvement that a setting of a running program may lack; 0: no preference), one JSON line a
problem: median number of programs in a batch after the first, median true regret after 64 settings
in units of that of random search after 100, and the regrets of all repetitions.

    python benchmarks/tuner_cohorts.py --repetitions 10 --prices 0,0.1,0.3
"""

import argparse
import json
import time

import numpy as np
import tuner_problems
from tuner_problems import Problem
from tuner_quality import random_regret

from jaxeval.tuning import gp, threads
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result

TRIALS, AT_ONCE = 64, 8
COMPILED = {  # categories or sizes of tables; of functions, the first number
    **dict.fromkeys(("protein_structure", "parkinsons_telemonitoring"), 2),
    **dict.fromkeys(("phoneme", "vehicle", "cifar10", "bbob15", "bbob21"), 1),
}


def main() -> None:
    """Runs all, prints a line each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--prices", default="0,0.1,0.3")
    parser.add_argument("--problems", default=",".join(COMPILED))
    args = parser.parse_args()
    for name in args.problems.split(","):
        problem = tuner_problems.load(name)
        scale = random_regret(problem)
        for price in map(float, args.prices.split(",")):
            begin = time.process_time()
            runs = [run(problem, price, COMPILED[name], k) for k in range(args.repetitions)]
            programs, regrets = zip(*runs, strict=True)
            line = {
                **{"benchmark": "tuner_cohorts", "problem": name, "price": price},
                "programs": float(np.median(programs)),
                "regret": round(float(np.median(regrets)) / scale, 4),
                "regrets": [round(regret / scale, 4) for regret in regrets],
                "cpu_seconds": round(time.process_time() - begin, 1),
            }
            print(json.dumps(line), flush=True)


def run(problem: Problem, price: float, compiled: int, seed: int) -> tuple[float, float]:
    """Median programs of a batch, and the regret of the best setting."""
    random, history = np.random.default_rng([seed, 5]), History((), higher_is_better=False)
    names = [parameter.name for parameter in problem.space.parameters[:compiled]]
    programs, regrets = [], []
    while len(history.evaluations) < TRIALS:
        with threads.one():
            batch = gp.propose(problem.space, history, AT_ONCE, seed, compiled=names, price=price)
        programs.append(len({tuple(values[name] for name in names) for values in batch}))
        for values in batch:
            history = histories.propose(history, values, (0,))
            score = problem.observe(values, random)
            result = Result((score,)) if score is not None else Result(failure="diverged")
            history = histories.tell(history, len(history.evaluations) - 1, result)
            regrets.append(problem.regret(values))
    return float(np.median(programs[1:])), min(regrets)


if __name__ == "__main__":
    main()
