"""Which setting should the next seed go to, while a score is noisy? Three answers, simulated.

Objectives as of tuner_calibration.py (draws of a Gaussian process over three numbers, standard
deviation 1) with normal noise of each seed's score. A search spends 64 seeds, four at once:

* fixed:1, fixed:4: every setting has so many;
* gradient: `--seeds adaptive`, a new setting or one more seed of an old one by the knowledge
  gradient (`tuning.replicates`);
* top_two: every second evaluation is one more seed of the one with fewer of the two settings that
  are the best with the highest posterior probability, while none is so with .9.

One JSON line a noise: for each of them the median and mean over searches of the true regret of the
setting that is taken, and the mean by which gradient has less, with the 95 % t interval of the
paired differences; and the number of settings that a search tried.

    python benchmarks/tuner_replicates.py --searches 20 --noise 0.3
    python benchmarks/tuner_replicates.py --searches 20 --noise 1
"""

import argparse
from collections.abc import Callable

import common
import numpy as np
from scipy import stats
from tuner_calibration import SPACE, Objective, objective

from jaxeval.space.distributions import Value
from jaxeval.tuning import gp, posterior, replicates, threads
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result

SEEDS, AT_ONCE, SURE = 64, 4, 0.9
Propose = Callable[[History, int], dict[str, Value]]


def main() -> None:
    """Runs the searches, prints the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.3)
    args = parser.parse_args()
    regrets: dict[str, list[float]] = {rule: [] for rule in RULES}
    tried: dict[str, list[int]] = {rule: [] for rule in RULES}
    for number in range(args.searches):
        function = objective(np.random.default_rng([number, 17]))
        for rule, (propose, seeds) in RULES.items():
            random = np.random.default_rng([number, 18])
            history = search(function, propose, seeds, number, args.noise, random)
            regrets[rule].append(regret(function, history, number))
            tried[rule].append(len(histories.settings(history)))
    line = {**vars(args), "benchmark": "tuner_replicates"}
    common.report(**line, rules={rule: summary(rule, regrets, tried) for rule in RULES})


def search(
    function: Objective,
    propose: Propose,
    seeds: int,
    number: int,
    noise: float,
    random: np.random.Generator,
) -> History:
    """All evaluations of one search, of which four are told at once."""
    history = History()
    while len(history.evaluations) < SEEDS // seeds:
        with threads.one():
            for _ in range(AT_ONCE):
                history = histories.propose(history, propose(history, number), range(seeds))
        for evaluation in histories.pending(history):
            mean = float(function(np.array([[evaluation.values[name] for name in "abc"]]))[0])
            scores = tuple(float(score) for score in mean + noise * random.normal(size=seeds))
            history = histories.tell(history, evaluation.number, Result(scores))
    return history


def new(history: History, number: int) -> dict[str, Value]:
    """A setting that was not tried."""
    return gp.propose(SPACE, history, 1, number)[0]


def gradient(history: History, number: int) -> dict[str, Value]:
    """A new setting, or one that is to have one more seed, by the knowledge gradient."""
    return replicates.propose(SPACE, history, 1, number)[0]


def top_two(history: History, number: int) -> dict[str, Value]:
    """The same by the probability of being best, in turn with new settings."""
    if len(history.evaluations) % 2 and not gp.initial(history, 1):
        fitted = gp.fit(SPACE, history)
        drawn = posterior.processes(fitted, number)
        best = posterior.probability_of_best(fitted, drawn, number)
        if best.max() < SURE:
            two = [fitted.settings[k] for k in np.argsort(-best, kind="stable")[:2]]
            awaited = [histories.identity(e.values) for e in histories.pending(history)]
            seeds = [len(s.scores) + awaited.count(histories.identity(s.values)) for s in two]
            return dict(two[int(np.argmin(seeds))].values)
    return new(history, number)


RULES: dict[str, tuple[Propose, int]] = {
    "gradient": (gradient, 1),
    "top_two": (top_two, 1),
    "fixed:1": (new, 1),
    "fixed:4": (new, 4),
}


def regret(function: Objective, history: History, number: int) -> float:
    """True distance of the setting that is taken from the best of all that are known."""
    everywhere = stats.qmc.Sobol(3, rng=number).random_base2(14)
    taken = gp.best_setting(SPACE, history)
    assert taken is not None
    points = [[values[name] for name in "abc"] for values in (taken, *_tried(history))]
    values = function(np.array(points, float))
    return float(max(function(everywhere).max(), values.max()) - values[0])


def _tried(history: History) -> list[dict[str, Value]]:
    return [dict(setting.values) for setting in histories.settings(history)]


def summary(
    rule: str, regrets: dict[str, list[float]], tried: dict[str, list[int]]
) -> dict[str, object]:
    """Of one rule."""
    own, less = np.array(regrets[rule]), np.array(regrets[rule]) - regrets["gradient"]
    half = stats.t.ppf(0.975, len(less) - 1) * less.std(ddof=1) / len(less) ** 0.5
    return {
        "median": round(float(np.median(own)), 4),
        "mean": round(float(own.mean()), 4),
        "settings": float(np.median(tried[rule])),
        "more_than_gradient": [round(float(v), 4) for v in less.mean() + half * np.arange(-1, 2)],
    }


if __name__ == "__main__":
    main()
