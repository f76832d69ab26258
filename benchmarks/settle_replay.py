"""Does `settle` decide as all released scores do? Released scores, replayed in random orders.

"All" decide a pair by Welch's t over every score, Holm-corrected at .05 over the pairs of a
source. In a replay both models' scores come in a random order, and settle stops at its first claim
or its budget; "fixed n" is Welch's test at .05 of all scores up to the budget. Sources, and what
is compared in each:

    fiesta   12 models x 500 macro-F1, each with its own seed and split: all 66 pairs
    sweeps   24 sweeps of 205 to 291 random settings: architectures in one language; within a sweep
             schedulers, and numbers of encoder layers. A run without an accuracy has 0
    reimers  43,348 networks of single tasks: values of one option in one data set

A value of an option counts where 50 runs have it. Printed of the pairs that all scores decide:
replays in which settle decides, of these with the same decision, seeds of each model; replays in
which the fixed n decides; where settle does not, the share with a fixed-n p in [.005, .05] and
above. Then, of the pairs whose p over all is .05 or more without correction, replays in which
settle decides; and what settle decides with other prior scales than its own.

    python benchmarks/settle_replay.py --data SCORES    # a folder with the three sources
    python benchmarks/settle_replay.py --data SCORES --most 50000 --orders 5    # all scores
"""

import argparse
import csv
import gzip
import itertools
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import common
import numpy as np
import scipy
import settle_seeds

from jaxeval.stats import multiple

ALPHA, FEWEST = 0.05, 50
SCALES = (0.01, 0.1)  # of the prior, besides settle's own
BUDGETS = (30, 100)  # and --most
SWEPT = ("scheduler", "encoder_layers")
OPTIONS = (
    "Embeddings", "TaggingScheme", "Decoder", "DropoutType", "LSTM-Layers", "Optimizer",
    "miniBatchSize", "CharEmbeddings",
)  # fmt: skip


def main() -> None:
    """Replays and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    home = os.environ.get("JAXEVAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(home) / "scores" if home else None)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--most", type=int, default=500, help="scores of a replay")
    args = parser.parse_args()
    begin, rows = time.process_time(), {}
    for name, groups in (("fiesta", _fiesta), ("sweeps", _sweeps), ("reimers", _reimers)):
        pairs = [pair for group in groups(args.data) for pair in itertools.combinations(group, 2)]
        rows[name] = _replayed(pairs, args.orders, args.most)
        print(name, json.dumps(rows[name]))
    common.report(
        benchmark="settle_replay",
        orders=args.orders,
        most=args.most,
        alpha=ALPHA,
        rows=rows,
        cpu_seconds=round(time.process_time() - begin, 1),
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _fiesta(data: Path) -> Iterator[list[np.ndarray]]:
    models = json.loads((data / "fiesta2019" / "test_f1.json").read_text())
    yield [np.array(scores) for scores in models.values()]


def _sweeps(data: Path) -> Iterator[list[np.ndarray]]:
    languages = defaultdict(list)
    for path in sorted((data / "wiemerslage2024").glob("*.tsv")):
        with path.open() as lines:
            rows = list(csv.DictReader(lines, delimiter="\t"))
        language, _, task = path.stem.split("-", 2)
        languages[language, task].append(_scores(rows, "max_val_accuracy"))
        yield from _values(rows, SWEPT, "max_val_accuracy")
    yield from languages.values()


def _reimers(data: Path) -> Iterator[list[np.ndarray]]:
    with gzip.open(data / "reimers2017" / "hyperparameter_results.csv.gz", "rt") as lines:
        rows = [r for r in csv.DictReader(lines, delimiter="\t") if r["Setting"] == "SingleTask"]
    for place in sorted({row["Dataset"] for row in rows}):
        yield from _values([row for row in rows if row["Dataset"] == place], OPTIONS, "Test_F1")


def _values(
    rows: list[dict[str, str]], options: tuple[str, ...], score: str
) -> Iterator[list[np.ndarray]]:
    """The scores of each value of an option."""
    for option in options:
        values = defaultdict(list)
        for row in rows:
            values[row[option]].append(row)
        yield [_scores(of, score) for _, of in sorted(values.items()) if len(of) >= FEWEST]


def _scores(rows: list[dict[str, str]], score: str) -> np.ndarray:
    return np.array([float(row[score] or 0) for row in rows])


def _replayed(
    pairs: list[tuple[np.ndarray, np.ndarray]], orders: int, most: int
) -> dict[str, object]:
    tests = [scipy.stats.ttest_ind(a, b, equal_var=False) for a, b in pairs]
    p_values = multiple.adjust_p_values([float(test.pvalue) for test in tests])
    signs = [np.sign(t.statistic) * (p < ALPHA) for t, p in zip(tests, p_values, strict=True)]
    drawn = np.random.default_rng(0)
    replays = [tuple(_orders(x, orders, drawn)[:, :most] for x in pair) for pair in pairs]
    found = [settle_seeds.settle(*replay) for replay in replays]
    truth, still_open = np.array(signs)[:, None], np.array([t.pvalue >= ALPHA for t in tests])
    row: dict[str, object] = {
        "pairs": len(pairs),
        "decided": int(np.count_nonzero(truth)),
        "open": int(still_open.sum()),
    }
    for budget in (*BUDGETS, most):
        claims, seeds = (np.array(of) for of in zip(*found, strict=True))
        claims, seeds = np.where(seeds <= budget, claims, 0), np.minimum(seeds, budget)
        known, same = truth[:, 0] != 0, claims == truth
        decided = claims[known] != 0
        cut = [replay for replay, counts in zip(replays, known, strict=True) if counts]
        fixed = np.array([_welch(*(x[:, :budget] for x in replay)) for replay in cut])
        undecided = fixed[claims[known] == 0]
        row[f"at most {budget}"] = {
            "decides": round(float(decided.mean()), 4),
            "of these the same": _share(same[known][decided]),
            "seeds": round(float(seeds[known].mean()), 1),
            "fixed n": _share(fixed < ALPHA),
            "undecided, p in [.005, .05]": _share((undecided >= 0.005) & (undecided <= ALPHA)),
            "undecided, p above": _share(undecided > ALPHA),
            "decides open ones": round(float((claims[still_open] != 0).mean()), 4),
        }
    scales = {
        g: np.array([settle_seeds.settle(*replay, g=g).claims for replay in cut]) != 0
        for g in SCALES
    }
    return row | {f"decides, g {g:g}": round(float(of.mean()), 4) for g, of in scales.items()}


def _share(hit: np.ndarray) -> float | None:
    return round(float(hit.mean()), 4) if hit.size else None


def _welch(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[orders] p-values."""
    return np.asarray(scipy.stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue)


def _orders(scores: np.ndarray, orders: int, drawn: np.random.Generator) -> np.ndarray:
    """[orders, n] scores in random orders."""
    return drawn.permuted(np.tile(scores, (orders, 1)), axis=1)


if __name__ == "__main__":
    main()
