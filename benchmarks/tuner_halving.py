"""How many epochs does successive halving save? Simulated learning curves, nothing is trained.

The loss of a whole training of 27 epochs is Hartmann's function of six variables. A training
begins at a loss of 3.5 and comes down by a power of its epochs, whose exponent is log-linear in
the hyperparameters (another direction each repetition, .2 to 2 at two standard deviations): curves
cross, and what is best early is not what is best at the end. Each epoch's dev score has normal
noise of sd .03. Nine lanes, refilled after the same epoch, as `jaxeval tune --halving` does it.

One JSON line for each method and way of stopping: median regret (the loss of the setting that the
search would take, less the least) after 9, 18 .. settings' worth of epochs, and the median number
of settings by then; without halving, the same lanes train everything to the end.

    python benchmarks/tuner_halving.py --repetitions 10 --methods gp,random
"""

import argparse
import json
import math
import time

import numpy as np
from tuner_problems import hartmann

from jaxeval import space as spaces
from jaxeval.tuning import Search
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import Halving, History, Stopped

EPOCHS, LANES, START, NOISE = 27, 9, 3.5, 0.03
SPACE = spaces.from_dict({f"x{k}": {"uniform": [0.0, 1.0]} for k in range(6)})


def main() -> None:
    """Runs all, prints a line each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--methods", default="gp,random")
    parser.add_argument("--factors", default="0,3", help="eta; 0: no halving")
    parser.add_argument("--worth", default="9,18,27,36,48", help="budgets, in whole trainings")
    args = parser.parse_args()
    worth = [*map(int, args.worth.split(","))]
    for method in args.methods.split(","):
        for factor in map(int, args.factors.split(",")):
            begin = time.process_time()
            runs = [search(method, factor, number, worth) for number in range(args.repetitions)]
            regret, settings = (np.array(of) for of in zip(*runs, strict=True))
            quartiles = np.quantile(regret, [0.25, 0.5, 0.75], axis=0)
            line = {
                **{"benchmark": "tuner_halving", "method": method, "factor": factor},
                **{"repetitions": args.repetitions, "trainings_worth": worth},
                "regret": np.round(quartiles[1], 4).tolist(),
                "quartiles": np.round(quartiles[[0, 2]], 4).tolist(),
                "settings": np.median(settings, axis=0).tolist(),
                "regrets_at_end": np.round(regret[:, -1], 4).tolist(),
                "cpu_seconds": round(time.process_time() - begin, 1),
            }
            print(json.dumps(line), flush=True)


class Curve:
    """A training's dev scores, epoch by epoch."""

    def __init__(self, place: np.ndarray, direction: np.ndarray, random: np.random.Generator):
        self.last = hartmann(place)
        self.power = math.exp(math.log(0.63) + 0.58 * float(direction @ (place - 0.5)))
        self.random, self.epoch, self.best = random, 0, math.inf

    def train(self) -> None:
        """One epoch more."""
        self.epoch += 1
        end = (EPOCHS + 1) ** -self.power
        left = ((self.epoch + 1) ** -self.power - end) / (1 - end)
        score = self.last + (START - self.last) * left + NOISE * self.random.normal()
        self.best = min(self.best, score)


def search(
    method: str, factor: int, number: int, worth: list[int]
) -> tuple[list[float], list[int]]:
    """Regrets, and settings proposed, at each budget."""
    random = np.random.default_rng([number, 11])
    direction = random.normal(size=6)
    direction *= math.sqrt(12) / float(np.linalg.norm(direction))  # x has a variance of 1 / 12
    halving = Halving(factor) if factor else None
    how = Search(SPACE, method, number, halving=halving)  # type: ignore[arg-type]
    history, curves, spent = History((), False), dict[int, Curve](), 0
    regrets: list[float] = []
    settings: list[int] = []
    while len(regrets) < len(worth):
        free = LANES - len(history.pending)
        history, proposed = how.ask(history, free)
        for evaluation in proposed:
            place = encoder(SPACE).places([evaluation.values])[0]
            curves[evaluation.number] = Curve(place, direction, random)
        running = [evaluation.number for evaluation in history.pending]
        for n in running:
            curves[n].train()
        history = judged(halving, history, {n: curves[n] for n in running})
        spent += len(running)
        if spent >= worth[len(regrets)] * EPOCHS:
            best = how.best(history)
            place = encoder(SPACE).places([best.values])[0] if best else np.full(6, 0.5)
            regrets.append(hartmann(place))
            settings.append(len(history.evaluations))
    return regrets, settings


def judged(halving: Halving | None, history: History, curves: dict[int, Curve]) -> History:
    """The history after an epoch: some are stopped, some have ended."""
    ended = [n for n, curve in curves.items() if curve.epoch == EPOCHS]
    if halving is not None:
        reached = {
            n: (curve.best, Stopped(curve.epoch, EPOCHS))
            for n, curve in curves.items()
            if curve.epoch in halving.rungs(EPOCHS)[len(history.evaluations[n].rungs) :][:1]
        }
        history = halving.judge(history, reached, ended)
    for n in ended:
        history = history.tell(n, (curves[n].best,))
    return history


if __name__ == "__main__":
    main()
