"""How good are the settings that the tuner finds on problems that it was not developed on?

None of these problems was looked at while `gp` was made (those of tuner_quality.py were). They are
flat in two to ten dimensions (BBOB), conditional two and three levels deep, of much noise, and
tables of trained networks. Each is searched one setting at a time and eight at once (results in
random order); the first eight settings are the same Sobol points for all. Told are the true
regrets of the best setting evaluated and of the one that the method *takes* (`gp` by its posterior
mean, others by the best mean score), after 50 and 100 trials. Writes a line of CSV a run, and
prints one JSON line: for each rival, mode, number of trials and criterion the probability that a
run of `gp` is better (ties half; a mean over problems, which are resampled for its 95 % interval),
and on how many problems it is better, as often, and worse.

    python benchmarks/tuner_held_out.py --seeds 9 --csv tuner_held_out.csv

The optional packages are those of tuner_problems.py, and Optuna.
"""

import argparse
import contextlib
import csv
import functools
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import tuner_optuna
import tuner_problems
import tuner_quality
from threadpoolctl import threadpool_limits
from tuner_problems import Problem, Values

from jaxeval import space as spaces
from jaxeval.tuning import Method, Search, candidates, gp
from jaxeval.tuning.history import History

BBOB = ((3, 5), (6, 10), (12, 5), (17, 10), (22, 10), (23, 2))  # function, dimensions
TABLES = {"blood_transfusion": "HPOBench", "car": "HPOBench", "cifar100": "NASBench201"}
NAMES = [f"bbob{number}_{size}d" for number, size in BBOB]
NAMES += ["optimiser", "pipeline", "noisy_rosenbrock", "noisy_levels", *TABLES]
ENGINES: Mapping[str, Callable] = {
    "gp": gp.propose,
    "tpe": functools.partial(tuner_optuna.propose, sampler="tpe"),
    "random": candidates.random,
}
# to take by
METHODS: Mapping[str, Method] = {"gp": "gp", "tpe": "random", "random": "random"}
CONDITIONAL = ("optimiser", "pipeline")  # two and three levels deep
MODES, TRIALS, SHARED = (1, 8), (50, 100), 8
CRITERIA = ("evaluated", "taken")


@functools.cache
def load(name: str) -> Problem:
    """A problem by name."""
    if name in TABLES:
        return tuner_problems._table(TABLES[name], name)
    if name.startswith("bbob"):
        number, size = name.removeprefix("bbob").removesuffix("d").split("_")
        return _bbob(int(number), int(size))
    return {
        "optimiser": _optimiser,
        "pipeline": _pipeline,
        "noisy_rosenbrock": _noisy_rosenbrock,
        "noisy_levels": _noisy_levels,
    }[name]()


def _bbob(number: int, size: int) -> Problem:
    import cocoex

    options = f"dimensions:{size} function_indices:{number} instance_indices:2"
    function = cocoex.Suite("bbob", "", options).get_problem(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        function._best_parameter("print")
        best = function(np.loadtxt(os.listdir(folder)[0]))

    def regret(values: Values) -> float:
        return max(0.0, float(function([float(values[f"x{k}"]) for k in range(size)]) - best))

    def observe(values: Values, random: np.random.Generator) -> float:
        return regret(values) * math.exp(0.05 * random.normal())

    space = spaces.from_dict({f"x{k}": {"uniform": [-5.0, 5.0]} for k in range(size)})
    return Problem(space, regret, observe)


def _optimiser() -> Problem:
    """Two levels: each of three optimisers has its rate and a number of its own."""
    tree: dict[str, object] = {"optimiser": {"choices": ["sgd", "adam", "adafactor"]}}
    own = {"sgd": "momentum", "adam": "beta", "adafactor": "decay"}
    for name, number in own.items():
        when = {"when": {"optimiser": [name]}}
        tree[f"{name}_rate"] = {"log_uniform": [1e-5, 1.0], **when}
        tree[number] = {"uniform": [0.0, 1.0], **when}
    tree["dropout"] = {"uniform": [0.0, 0.8]}
    best = {"sgd": (-1.0, 0.9, 0.03), "adam": (-3.0, 0.85, 0.0), "adafactor": (-2.0, 0.5, 0.05)}

    def regret(values: Values) -> float:
        kind = str(values["optimiser"])
        rate, number, offset = best[kind]
        gap = (math.log10(float(values[f"{kind}_rate"])) - rate) / 2
        loss = offset + 1 - math.exp(-(gap**2)) + 0.3 * (float(values[own[kind]]) - number) ** 2
        return loss + 0.2 * (float(values["dropout"]) - 0.3) ** 2

    return Problem(spaces.from_dict(tree), regret, lambda v, r: regret(v) + 0.01 * r.normal())


def _pipeline() -> Problem:
    """Three levels: a model, of networks the cell, of transformers heads and warm-up."""
    network, cell = {"model": ["network"]}, {"cell": ["lstm", "gru"]}
    attention = {"cell": ["transformer"]}
    tree: dict[str, object] = {
        "model": {"choices": ["linear", "trees", "network"]},
        "penalty": {"log_uniform": [1e-6, 1.0], "when": {"model": ["linear"]}},
        "depth": {"integer": [1, 12], "when": {"model": ["trees"]}},
        "shrinkage": {"log_uniform": [1e-3, 1.0], "when": {"model": ["trees"]}},
        "cell": {"choices": ["lstm", "gru", "transformer"], "when": network},
        "rate": {"log_uniform": [1e-5, 1e-1], "when": network},
        "dropout": {"uniform": [0.0, 0.9], "when": network},
        "recurrent_dropout": {"uniform": [0.0, 0.9], "when": cell},
        "heads": {"choices": [1, 2, 4, 8], "when": attention},
        "warmup": {"uniform": [0.0, 1.0], "when": attention},
    }

    def regret(values: Values) -> float:
        if values["model"] == "linear":
            return 0.30 + 0.02 * (math.log10(float(values["penalty"])) + 2) ** 2
        if values["model"] == "trees":
            gap = math.log10(float(values["shrinkage"])) + 1
            return 0.12 + 0.003 * (float(values["depth"]) - 6) ** 2 + 0.1 * gap**2
        rate, dropout = math.log10(float(values["rate"])), float(values["dropout"])
        if values["cell"] == "transformer":
            heads, warmup = math.log2(float(values["heads"])), float(values["warmup"])
            loss = 0.25 * (rate + 3.5 + 0.5 * warmup) ** 2 + 0.3 * (dropout - 0.1) ** 2
            return loss + 0.02 * (heads - 2) ** 2 + 0.15 * (warmup - 0.4) ** 2
        loss = 0.06 + 0.02 * (values["cell"] == "gru") + 0.15 * (rate + 2.5) ** 2
        own = float(values["recurrent_dropout"])
        return loss + 0.2 * (dropout - 0.5) ** 2 + 0.2 * (own - 0.25) ** 2

    return Problem(spaces.from_dict(tree), regret, lambda v, r: regret(v) + 0.01 * r.normal())


def _noisy_rosenbrock() -> Problem:
    """The logarithm of Rosenbrock's function of four variables, with noise of sd 1."""
    space = spaces.from_dict({f"x{k}": {"uniform": [-2.0, 2.0]} for k in range(4)})

    def regret(values: Values) -> float:
        x = np.array([values[f"x{k}"] for k in range(4)], float)
        return math.log1p(float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)))

    return Problem(space, regret, lambda v, random: regret(v) + float(random.normal()))


def _noisy_levels() -> Problem:
    """Six hyperparameters, of which two matter; seeds differ as much as settings."""
    tree: dict[str, object] = {
        "rate": {"log_uniform": [1e-5, 1e-1]},
        "units": {"choices": [32, 64, 128, 256]},
        "layers": {"integer": [1, 4]},
        "dropout": {"uniform": [0.0, 0.8]},
        "decay": {"log_uniform": [1e-7, 1e-2]},
        "norm": {"choices": ["none", "batch", "layer"]},
    }

    def regret(values: Values) -> float:
        gap = math.log10(float(values["rate"])) + 2.7
        return min(1.0, 0.15 * gap**2) + 0.5 * (float(values["dropout"]) - 0.35) ** 2

    return Problem(spaces.from_dict(tree), regret, lambda v, r: regret(v) + 0.1 * r.normal())


def run(problem: Problem, engine: str, seed: int, parallel: int) -> list[float]:
    """Regret of the best evaluated and of the taken setting, after each of TRIALS."""
    random = np.random.default_rng([seed, parallel])
    history, best, told = History((), higher_is_better=False), math.inf, []
    for ended in range(1, TRIALS[-1] + 1):
        while len(history.pending) < parallel:
            shared = len(history.evaluations) < SHARED
            propose = candidates.sobol if shared else ENGINES[engine]
            with threadpool_limits(1, "blas"):
                (values,) = propose(problem.space, history, 1, seed)
            history = history.propose(values, (0,))
        waiting = history.pending
        chosen = waiting[int(random.integers(len(waiting)))]
        score = problem.observe(chosen.values, random)
        history = history.tell(chosen.number, "diverged" if score is None else (score,))
        best = min(best, problem.regret(chosen.values))
        if ended in TRIALS:
            with threadpool_limits(1, "blas"):
                taken = Search(problem.space, METHODS[engine]).best(history)
            assert taken is not None
            told += [best, problem.regret(dict(taken.values))]
    return told


def main() -> None:
    """Runs what --csv lacks, prints the summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--problems", default=",".join(NAMES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--csv", default="tuner_held_out.csv")
    args = parser.parse_args()
    file, known = Path(args.csv), read(Path(args.csv))
    if not file.exists():
        columns = [f"{criterion}_{trials}" for trials in TRIALS for criterion in CRITERIA]
        file.write_text(",".join(["problem", "engine", "parallel", "seed", *columns]) + "\n")
    for seed in range(args.seeds):
        for name in args.problems.split(","):
            for engine in args.engines.split(","):
                for parallel in MODES:
                    if (name, engine, parallel, seed) not in known:
                        regrets = run(load(name), engine, seed, parallel)
                        with file.open("a", newline="") as out:
                            shown = [f"{regret:.6g}" for regret in regrets]
                            csv.writer(out).writerow([name, engine, parallel, seed, *shown])
    print(json.dumps(summary(read(file))))


def read(file: Path) -> dict[tuple[str, str, int, int], list[float]]:
    """(problem, engine, settings at once, seed) -> regrets as of `run`."""
    rows = list(csv.reader(file.read_text().splitlines()))[1:] if file.exists() else []
    return {(r[0], r[1], int(r[2]), int(r[3])): [float(v) for v in r[4:]] for r in rows}


def summary(known: Mapping[tuple[str, str, int, int], list[float]]) -> dict[str, object]:
    """Of each rival, mode, number of trials and criterion how often `gp` is better."""
    tables = []
    for rival in ("tpe", "random"):
        for parallel in MODES:
            for column in range(len(TRIALS) * len(CRITERIA)):
                each = {
                    name: _share(known, name, rival, parallel, column)
                    for name in dict.fromkeys(key[0] for key in known)
                }
                shares = np.array([share for share in each.values() if share is not None])
                random = np.random.default_rng(0)
                drawn = shares[random.integers(len(shares), size=(2000, len(shares)))].mean(axis=1)
                tables.append(
                    {
                        "rival": rival,
                        "at_once": parallel,
                        "trials": TRIALS[column // len(CRITERIA)],
                        "of": CRITERIA[column % len(CRITERIA)],
                        "p_better": round(float(shares.mean()), 3),
                        "interval": [
                            round(float(v), 3) for v in np.quantile(drawn, [0.025, 0.975])
                        ],
                        "problems": [int(n) for n in _counts(shares)],
                        "each": {name: share and round(share, 2) for name, share in each.items()},
                    }
                )
    return {"benchmark": "tuner_held_out", "commit": tuner_quality._version("gp"), "of": tables}


def _counts(shares: np.ndarray) -> tuple[int, int, int]:
    return sum(shares > 0.5), sum(shares == 0.5), sum(shares < 0.5)


def _share(
    known: Mapping[tuple[str, str, int, int], list[float]],
    name: str,
    rival: str,
    parallel: int,
    column: int,
) -> float | None:
    """P(a run of gp has less regret than one of the rival, of whatever seeds), ties half."""
    ours, theirs = (
        np.array(
            [v[column] for (p, e, q, _), v in known.items() if (p, e, q) == (name, of, parallel)]
        )
        for of in ("gp", rival)
    )
    if not (len(ours) and len(theirs)):
        return None
    return float(np.mean((ours[:, None] < theirs) + 0.5 * (ours[:, None] == theirs)))


if __name__ == "__main__":
    main()
