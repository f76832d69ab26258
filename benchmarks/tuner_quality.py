"""How good are the settings that the tuner finds, against random search and other tuners?

100 trials with eight at once, whose results return in random order; the first eight settings are
the same Sobol points for all. The regret of a trial is the true distance of the best setting so
far from the best of all, divided by the median of random search after 100 trials. Writes a line
of CSV a run (problem, engine, version or commit, seed, regret after 5, 10 .. 100 trials, seconds),
and prints the median over problems of each engine's median regret over seeds as one JSON line; for
each other engine, by how much the first one has less regret after 100 trials, on the runs
(problem, seed) that both have: the median over problems of the difference of the medians over
seeds, and of the median paired difference of runs of one seed, each with the problems won, tied
and lost; the difference of the medians over problems; and 95 % bootstrap intervals: problems are
resampled, and seeds within each, for both engines alike. And, after 25, 50 and 100 trials, the
probability that a run of the first is better than one of the other on the same problem, of
whatever seeds: a mean over problems, which are resampled for its interval.

    python benchmarks/tuner_quality.py --engines gp,random,sobol --seeds 5 --csv tuner_quality.csv
    python benchmarks/tuner_quality.py --engines gp --problems nested,kc1 --seeds 2

Rivals: optuna_gp, optuna_tpe, botorch (jaxeval's adapters of these packages; torch for the first),
and smac (tuner_smac.py).
Runs that --csv has are not repeated.
"""

import argparse
import csv
import functools
import importlib.metadata
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import tuner_botorch
import tuner_optuna
import tuner_problems
from tuner_problems import Problem

from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.tuning import candidates, gp
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import History

RESAMPLES = 2000
DIFFERENCES = ("of_medians", "paired", "over_problems")
RIVALS = ("optuna", "botorch", "smac")
TRIALS, PARALLEL, SHARED, EVERY = 100, 8, 8, 5
PROBLEMS = [name for names in tuner_problems.TABLES.values() for name in names]
PROBLEMS += [*(f"bbob{k}" for k in tuner_problems.BBOB), "hartmann", "nested", "failing"]
Propose = Callable[[Space, History, int, int], list[dict[str, Value]]]


def main() -> None:
    """Runs what --csv lacks, prints the summary."""
    args = _parser().parse_args()
    file = Path(args.csv)
    names, engines = args.problems.split(","), args.engines.split(",")
    recorded = _read(file)
    if not recorded:
        after = [str(trials) for trials in range(EVERY, TRIALS + 1, EVERY)]
        columns = ["problem", "engine", "version", "seed", *after, "seconds"]
        file.write_text(",".join(columns) + "\n")
    for seed in range(args.first, args.first + args.seeds):
        for name in names:
            missing = [e for e in engines if (name, e, str(seed)) not in recorded]
            if not missing:
                continue
            problem = tuner_problems.load(name)
            scale = random_regret(problem)
            for engine in missing:
                begin = time.process_time()
                curve = run(problem, engine, seed) / scale
                seconds = time.process_time() - begin
                row = [name, engine, _version(engine), seed, *np.round(curve, 6)]
                with file.open("a", newline="") as out:
                    csv.writer(out).writerow([*row, round(seconds, 1)])
                recorded[name, engine, str(seed)] = curve
    print(json.dumps(summary(recorded, engines, names)))


def run(problem: Problem, engine: str, seed: int) -> np.ndarray:
    """Regret [TRIALS / EVERY] of the best setting so far, in order of evaluation."""
    random = np.random.default_rng([seed, 1])
    history, regrets = History((), higher_is_better=False), []
    while len(regrets) < TRIALS:
        while len(history.pending) < PARALLEL:
            shared = len(history.evaluations) < SHARED
            propose = ENGINES["sobol" if shared else engine]
            (values,) = propose(problem.space, history, 1, seed)
            history = history.propose(values, (0,))
        waiting = history.pending
        chosen = waiting[int(random.integers(len(waiting)))]
        score = problem.observe(chosen.values, random)
        history = history.tell(chosen.number, "diverged" if score is None else (score,))
        regrets.append(problem.regret(chosen.values))
    return np.minimum.accumulate(regrets)[EVERY - 1 :: EVERY]


@functools.cache
def random_regret(problem: Problem, repeats: int = 101) -> float:
    """Median over repeats of random search after all trials."""
    random = np.random.default_rng(12345)
    best = []
    for _ in range(repeats):
        quantiles = random.random((TRIALS, len(problem.space.parameters)))
        rows = encoder(problem.space).from_quantiles(quantiles)
        best.append(min(map(problem.regret, encoder(problem.space).settings(rows))))
    return float(np.median(best))


def summary(
    recorded: Mapping[tuple[str, str, str], np.ndarray], engines: list[str], names: list[str]
) -> dict[str, object]:
    """Median regret after 25, 50 and 100 trials by problem, and the median over problems."""
    line: dict[str, object] = {"benchmark": "tuner_quality"}
    for engine in engines:
        rows = {
            n: [c for (p, e, _), c in recorded.items() if (p, e) == (n, engine)] for n in names
        }
        medians = {n: np.median(c, axis=0)[[4, 9, 19]] for n, c in rows.items() if c}
        line[engine] = {
            "regret_25_50_100": [
                round(float(v), 4) for v in np.median([*medians.values()], axis=0)
            ],
            "problems": {name: round(float(v[2]), 4) for name, v in medians.items()},
            "runs": sum(map(len, rows.values())),
        }
    first = engines[0]
    line["differences_at_100"] = {e: difference(recorded, first, e, names) for e in engines[1:]}
    line["better_25_50_100"] = {
        e: [better(recorded, first, e, names, k) for k in (4, 9, 19)] for e in engines[1:]
    }
    return line


def difference(
    recorded: Mapping[tuple[str, str, str], np.ndarray], ours: str, other: str, names: list[str]
) -> dict[str, object]:
    """By how much `ours` has less regret than another engine after all trials, with intervals.

    `of_medians` compares the two medians over seeds of each problem, `paired` takes the median of
    the differences of runs of the same seed; both count problems won, tied and lost, and give the
    median over problems. `over_problems` is the difference of the medians over problems.
    """
    known = dict[str, np.ndarray]()  # problem -> regret [seeds that both have, 2]
    for name in names:
        seeds = [s for (p, e, s) in recorded if (p, e) == (name, ours)]
        both = [s for s in seeds if (name, other, s) in recorded]
        if both:
            runs = [[recorded[name, e, s][-1] for e in (ours, other)] for s in both]
            known[name] = np.array(runs)
    if not known:
        return {}
    found: dict[str, dict[str, object]] = {
        name: {"difference": round(value, 4), "interval": interval}
        for name, value, interval in zip(
            DIFFERENCES, _typical([*known.values()]), _intervals([*known.values()]), strict=True
        )
    }
    for number, criterion in enumerate(DIFFERENCES[:2]):
        apart = {name: round(_apart(runs)[number], 6) for name, runs in known.items()}
        signs, worst = np.sign([*apart.values()]), max(apart, key=apart.__getitem__)
        found[criterion]["won_tied_lost"] = [int((signs == sign).sum()) for sign in (-1, 0, 1)]
        found[criterion]["worst"] = [worst, round(apart[worst], 4)]
    return {**found, "runs": sum(map(len, known.values()))}


def _intervals(problems: list[np.ndarray]) -> list[list[float]]:
    """Ends of the bootstrap intervals of the three of DIFFERENCES."""
    random, resampled = np.random.default_rng(0), []
    for _ in range(RESAMPLES):
        drawn = [problems[k] for k in random.integers(len(problems), size=len(problems))]
        resampled.append(_typical([r[random.integers(len(r), size=len(r))] for r in drawn]))
    ends: list[list[float]] = np.quantile(resampled, [0.025, 0.975], axis=0).T.round(4).tolist()
    return ends


def _apart(runs: np.ndarray) -> tuple[float, float]:
    """Of one problem's runs [N, 2]: difference of the medians, and median of the differences."""
    ours, theirs = np.median(runs, axis=0)
    return float(ours - theirs), float(np.median(runs[:, 0] - runs[:, 1]))


def _typical(problems: list[np.ndarray]) -> tuple[float, float, float]:
    """The three of DIFFERENCES."""
    of_medians, paired = np.median([_apart(runs) for runs in problems], axis=0)
    ours, theirs = np.median([np.median(runs, axis=0) for runs in problems], axis=0)
    return float(of_medians), float(paired), float(ours - theirs)


def better(
    recorded: Mapping[tuple[str, str, str], np.ndarray],
    ours: str,
    other: str,
    names: list[str],
    column: int,
) -> list[float]:
    """P(a run of `ours` is better than one of another engine), ties half, and its interval."""
    each = []
    for name in names:
        mine, theirs = (
            np.array([c[column] for (p, e, _), c in recorded.items() if (p, e) == (name, engine)])
            for engine in (ours, other)
        )
        if len(mine) and len(theirs):
            lower = mine[:, None] < theirs
            each.append(float(np.mean(lower + 0.5 * (mine[:, None] == theirs))))
    if not each:
        return []
    random = np.random.default_rng(0)
    means = np.array(each)[random.integers(len(each), size=(RESAMPLES, len(each)))].mean(axis=1)
    return [round(float(v), 3) for v in (np.mean(each), *np.quantile(means, [0.025, 0.975]))]


def _smac(space: Space, history: History, count: int, seed: int) -> list[dict[str, Value]]:
    import tuner_smac  # optional

    return tuner_smac.propose(space, history, count, seed)


ENGINES: Mapping[str, Propose] = {
    "gp": gp.propose,
    "random": candidates.random,
    "sobol": candidates.sobol,
    "optuna_gp": functools.partial(tuner_optuna.propose, sampler="gp"),
    "optuna_tpe": functools.partial(tuner_optuna.propose, sampler="tpe"),
    "botorch": tuner_botorch.propose,
    "smac": _smac,
}


@functools.cache
def _version(engine: str) -> str:
    """Of a package; of ours, the commit that last changed the tuner, and whether it differs."""
    package = engine.split("_")[0]
    if package in RIVALS:
        return importlib.metadata.version(package)
    code = str(Path(gp.__file__).parent)

    def git(*words: str) -> str:
        command = ["git", "-C", code, *words, "--", code]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    return git("log", "-1", "--format=%h") + (git("status", "--porcelain") and "-changed")


def _read(file: Path) -> dict[tuple[str, str, str], np.ndarray]:
    if not file.exists():
        return {}
    rows = list(csv.reader(file.read_text().splitlines()))[1:]
    return {(row[0], row[1], row[3]): np.array(row[4:-1], float) for row in rows}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", default="gp,random,sobol")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed (0)")
    parser.add_argument("--csv", default="tuner_quality.csv")
    return parser


if __name__ == "__main__":
    main()
