"""Is what the tuner says of its settings true? Claimed against realised, simulated.

Objectives are draws of a Gaussian process over three numbers (Matern 5/2, length-scales
log-uniform from .15 to 1.5, standard deviation 1) with normal noise of each seed's score. A search
proposes eight settings at once; after 16, 32 and 48 of them it says

* with which probability some setting is better than the one that it would take, by more than a
  margin. The truth is the best of 2^14 Sobol points and of the points that the search tried.
  Claims are sorted into five bins; well calibrated is a bin whose mean claim is the fraction of
  its claims that were true;
* with which probability the one that it would take is the best of those it tried, and within
  which 95 % interval (posterior mean and sd) its objective is.

    python benchmarks/tuner_calibration.py --searches 20 --noise 0.3 --seeds 1
    python benchmarks/tuner_calibration.py --searches 20 --noise 0.3 --seeds 3

One JSON line: by bin, the number of claims, their mean, the fraction that was true; the Brier
score, and that of always claiming the fraction over all; by number of settings, the mean claim of
being the best, the fraction that was, and the fraction of intervals that held the objective.
"""

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import common
import numpy as np
from scipy import stats

from jaxeval.space import space as spaces
from jaxeval.tuning import encoding, gp, kernels, posterior
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.kernels import Kernel

SPACE = spaces.from_dict({name: {"uniform": [0.0, 1.0]} for name in "abc"})
AT_ONCE, AFTER, MARGINS, WAVES = 8, (16, 32, 48), (0.1, 0.5), 2000
BINS = (0.0, 0.05, 0.25, 0.75, 0.95, 1.0)
Objective = Callable[[np.ndarray], np.ndarray]


class Said(NamedTuple):
    """What was said after so many settings, and what was true.

    Attributes:
      better: by margin, the claim that some setting is better by more, and whether one was.
      best: the claim that the setting to take is the best of those tried, and whether it was.
      held: whether its interval held its objective.
    """

    settings: int
    better: tuple[tuple[float, bool], ...]
    best: tuple[float, bool]
    held: bool


def main() -> None:
    """Runs the searches, prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    numbers = range(args.first, args.first + args.searches)
    said = [one for number in numbers for one in search(number, args.noise, args.seeds)]
    common.report(**vars(args), benchmark="tuner_calibration", **summary(said))


def objective(random: np.random.Generator) -> Objective:
    """A draw of the process, by random Fourier features."""
    columns = encoding.layout(SPACE)
    lengths = random.uniform(math.log(0.15), math.log(1.5), 3)
    kernel = Kernel(0.0, lengths, np.array([]), np.array([]))
    spread = np.sqrt(random.chisquare(5, (WAVES, 1)) / 5)
    frequencies = random.normal(size=(WAVES, 3)) / spread
    phases, weights = random.uniform(0, 2 * math.pi, WAVES), random.normal(size=WAVES)

    def function(points: np.ndarray) -> np.ndarray:
        scaled = kernels.scaled(kernel, columns, points)
        values: np.ndarray = np.cos(scaled @ frequencies.T + phases) @ weights
        return values * math.sqrt(2 / WAVES)

    return function


def search(number: int, noise: float, seeds: int) -> list[Said]:
    """What is said in one search."""
    random = np.random.default_rng([number, seeds])
    function = objective(random)
    everywhere = function(stats.qmc.Sobol(3, rng=number).random_base2(14)).max()
    history, said = History(), []
    while len(history.evaluations) < AFTER[-1]:
        for values in gp.propose(SPACE, history, AT_ONCE, number):
            mean = float(function(np.array([[values[name] for name in "abc"]]))[0])
            history = histories.propose(history, values, range(seeds))
            scores = tuple(float(score) for score in mean + noise * random.normal(size=seeds))
            history = histories.tell(history, len(history.evaluations) - 1, Result(scores))
        if len(history.evaluations) in AFTER:
            said.append(_said(history, function, everywhere, number))
    return said


def _said(history: History, function: Objective, everywhere: float, number: int) -> Said:
    row = posterior.describe(SPACE, history, number)[0]
    tried = np.array([[e.values[name] for name in "abc"] for e in history.evaluations])
    own = float(function(np.array([[row.setting.values[name] for name in "abc"]]))[0])
    best = float(function(tried).max())
    better = []
    for margin in MARGINS:
        claim = posterior.probability_of_better(SPACE, history, margin, number)
        better.append((claim, max(everywhere, best) - own > margin))
    held = abs(own - row.mean) <= stats.norm.ppf(0.975) * row.sd
    return Said(len(tried), tuple(better), (row.best, best - own < 1e-9), bool(held))


def summary(said: list[Said]) -> dict[str, object]:
    """Bins, Brier scores, and by number of settings what is said of the one to take."""
    claimed, true = np.array([claim for one in said for claim in one.better]).T
    bins = np.clip(np.digitize(claimed, BINS) - 1, 0, len(BINS) - 2)
    rows = [
        {
            "from": BINS[k],
            "to": BINS[k + 1],
            "claims": int(np.sum(bins == k)),
            "claimed": round(float(claimed[bins == k].mean()), 3),
            "true": round(float(true[bins == k].mean()), 3),
        }
        for k in range(len(BINS) - 1)
        if np.any(bins == k)
    ]
    return {
        "bins": rows,
        "brier": round(float(np.mean((claimed - true) ** 2)), 4),
        "brier_of_the_fraction": round(float(np.var(true)), 4),
        "of_the_setting_to_take": [_of_taken(said, settings) for settings in AFTER],
    }


def _of_taken(said: list[Said], settings: int) -> dict[str, float]:
    of = [one for one in said if one.settings == settings]
    claimed, true = np.mean([one.best for one in of], axis=0)
    held = np.mean([one.held for one in of])
    shares = {"claimed_best": claimed, "was_best": true, "interval_held": held}
    return {"settings": settings, **{k: round(float(v), 3) for k, v in shares.items()}}


if __name__ == "__main__":
    main()
