"""What does a night of 30 changes keep, by one seed each, by two sigmas, and by `settle`?

The changes are of a small tagger on the generated corpus; 64 seeds each say what is truly better.
Each simulated night tries them in random order, with recorded scores drawn without replacement.

    python benchmarks/settle_nights.py           # 50 nights from results/settle_nights.csv
    python benchmarks/settle_nights.py --train   # train them anew first (20 min of two cores)
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np

import jaxeval
from jaxeval.bandits import Settle
from jaxeval.bandits.rules import State
from jaxeval.settle import ledger
from jaxeval.settle.sides import Side
from jaxeval.stats import describe

SCORES = Path(__file__).parent / "results" / "settle_nights.csv"
SEEDS = 64
BASE = (
    "name=tagger",
    "data.max_widths=1",
    "data.train_sentences=300",
    "data.dimension=20",
    "model.characters.encoder=none",
    "model.casing=one_hot",
    "model.layers=[20]",
    "model.classifier=softmax",
    "training.epochs=10",
    "training.batch_size=16",
    "training.optimiser.hyperparameters.learning_rate=.01",
)
_OPTIMISER, _DROPOUT = "training.optimiser.", "model.dropout."
_RATES = "training.optimiser.hyperparameters."
CHANGES = {
    "crf": "model.classifier=crf",
    "batch 8": "training.batch_size=8",
    "two layers": "model.layers=[20,20]",
    "hard sigmoid": "model.cell.hard_sigmoid=true",
    "last epoch": "training.scored_epoch=last",
    "patience 3": "training.patience=3",
    **{f"forget bias {x}": f"model.cell.forget_bias={x}" for x in (0, 2)},
    **{f"input dropout {x}": f"{_DROPOUT}input={x}" for x in (0.1, 0.2, 0.3, 0.4, 0.5)},
    **{f"output dropout {x}": f"{_DROPOUT}output={x}" for x in (0.1, 0.2, 0.3, 0.4, 0.5)},
    **{f"rate {x}": f"{_RATES}learning_rate={x}" for x in (0.008, 0.009, 0.012, 0.015)},
    **{f"beta1 {x}": f"{_RATES}beta1={x}" for x in (0.8, 0.95)},
    **{f"beta2 {x}": f"{_RATES}beta2={x}" for x in (0.99, 0.995)},
    "epsilon 1e-6": f"{_RATES}epsilon=1e-6",
    **{f"clip at {x}": f"{_OPTIMISER}clip_at={x}" for x in (2, 5)},
    "decay 0.05": f"{_OPTIMISER}decay=.05",
}
MOST, ALPHA, KNOWN = 30, 0.05, 10  # seeds of a comparison; of the two-sigma rule's base
RULES = ("any improvement", "two sigmas", "none", "e-lond", "spending")
Keeps = list[tuple[str, str]]  # (base, the candidate that replaced it)


class Night(NamedTuple):
    """Recorded scores in the order in which a night draws them."""

    order: list[str]  # candidates
    scores: dict[str, np.ndarray]  # model -> [SEEDS]


def train(folder: Path) -> dict[str, np.ndarray]:
    """Trains all and writes their dev scores."""
    tables = [f'[[variant]]\nname = "{n}"\nchanges = ["{c}"]\n' for n, c in CHANGES.items()]
    (folder / "changes.toml").write_text("\n".join(tables))
    options = {"variants": folder / "changes.toml", "seeds": SEEDS, "out": folder / "runs"}
    jaxeval.ablation(None, BASE, **options)
    (table,) = (folder / "runs" / "ablations").glob("*.json")
    found: dict[str, list[float]] = {}
    for row in json.loads(table.read_text()):
        name = row["model"].removeprefix("tagger, ")
        found.setdefault("base" if name == "tagger" else name, []).append(row["dev"])
    with SCORES.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [name, *(f"{x:.5f}" for x in of)] for name, of in found.items()
        )
    return read()


def read() -> dict[str, np.ndarray]:
    """Returns the recorded scores of each model."""
    with SCORES.open(newline="") as file:
        return {name: np.array(of, float) for name, *of in csv.reader(file)}


def any_improvement(night: Night) -> tuple[Keeps, int]:
    """Keeps what scores higher with one seed than the base's one seed did."""
    base, best, keeps = "base", night.scores["base"][0], Keeps()
    for name in night.order:
        if night.scores[name][0] > best:
            keeps.append((base, name))
            base, best = name, night.scores[name][0]
    return keeps, 1 + len(night.order)


def two_sigmas(night: Night) -> tuple[Keeps, int]:
    """Keeps what scores two sds above the mean of ten fresh seeds of the base, with one seed."""
    base, known, keeps = "base", night.scores["base"][:KNOWN], Keeps()
    for name in night.order:
        if night.scores[name][0] > known.mean() + 2 * known.std(ddof=1):
            keeps.append((base, name))
            base, known = name, night.scores[name][1 : 1 + KNOWN]
    return keeps, KNOWN * (1 + len(keeps)) + len(night.order)


def settled(night: Night, correction: str) -> tuple[Keeps, int]:
    """Keeps what `settle` calls better, with a ledger."""
    asked = {
        "margin": 0.0,
        "alpha": ALPHA,
        "statistic": "t",
        "paired": False,
        "correction": correction,
    }
    asked["higher_is_better"] = True
    base, keeps, first = "base", Keeps(), {"base": 0}
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=folder) as place,
        ledger.opened(Path(place) / "night.db") as book,
    ):
        for name in night.order:
            begun = book.begin(Side(base, base, ""), Side(name, name, ""), "", asked)
            rule = Settle(most=MOST, alpha=begun.level, known=begun.known)
            first[name] = begun.after  # the seed before a model's first one
            later = {of: night.scores[of][begun.after - first[of] :] for of in (base, name)}
            known = {of: dict(enumerate(x[:MOST], 1)) for of, x in later.items()}
            found = rule.settled(State((base, name), known, {base: (), name: ()}, {}))
            looks = found.decided or MOST
            for side, count in ((base, max(looks, begun.known)), (name, looks)):
                for k in range(1, count + 1):
                    book.add(side, begun.after + k, float(known[side][k]), 0.0, begun.number)
            book.decide(begun.number, found.verdict, {"looks": looks})
            if found.verdict == "better":
                keeps.append((base, name))
                base = name
        return keeps, sum(map(len, book.spent().values()))


def play(rule: str, night: Night) -> tuple[Keeps, int]:
    """Returns what a rule keeps in a night, and the seeds that it takes."""
    simple: dict[str, Callable[[Night], tuple[Keeps, int]]] = {
        "any improvement": any_improvement,
        "two sigmas": two_sigmas,
    }
    return simple[rule](night) if rule in simple else settled(night, rule)


def better(scores: dict[str, np.ndarray], base: str, name: str) -> bool:
    """Whether all seeds show a model to be better than another (95 % interval above 0)."""
    return describe.difference(scores[name], scores[base]).interval.low > 0


def nights(scores: dict[str, np.ndarray], count: int) -> Iterator[Night]:
    """Yields nights with seeds 1 .. count."""
    for seed in range(1, count + 1):
        generator = np.random.default_rng(seed)
        drawn = {name: generator.permutation(of) for name, of in scores.items()}
        yield Night([*map(str, generator.permutation([*scores][1:]))], drawn)


def main() -> None:
    """Prints a line for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=50)
    parser.add_argument("--train", action="store_true", help="train all models anew")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scores = train(Path(folder)) if args.train else read()
    gaps = {name: describe.difference(of, scores["base"]) for name, of in scores.items()}
    shown = [name for name in scores if better(scores, "base", name)]
    ends = {name: (gaps[name].estimate, *gaps[name].interval[:2]) for name in shown}
    truth = {name: [round(100 * x, 2) for x in of] for name, of in ends.items()}
    common.report(truly_better=truth, sd=round(100 * float(np.std(scores["base"], ddof=1)), 2))
    for rule in RULES:
        played = [play(rule, night) for night in nights(scores, args.nights)]
        true = [sum(better(scores, *keep) for keep in keeps) for keeps, _ in played]
        kept = [len(keeps) for keeps, _ in played]
        worse = [
            sum(scores[b].mean() <= scores[a].mean() for a, b in keeps) for keeps, _ in played
        ]
        shares = [(k - t) / max(1, k) for k, t in zip(kept, true, strict=True)]
        last = [keeps[-1][1] if keeps else "base" for keeps, _ in played]
        quality = [100 * float(scores[name].mean()) for name in last]
        common.report(
            rule=rule,
            nights=args.nights,
            true_keeps=float(np.mean(true)),
            false_keeps=float(np.mean(np.subtract(kept, true))),
            worse_keeps=float(np.mean(worse)),
            share_false=round(float(np.mean(shares)), 3),
            nights_with_false=float(np.mean([k > t for k, t in zip(kept, true, strict=True)])),
            ends_with_the_best=float(np.mean([name == "crf" for name in last])),
            quality=round(float(np.mean(quality)), 2),
            worst=round(min(quality), 2),
            seeds=float(np.mean([seeds for _, seeds in played])),
        )


if __name__ == "__main__":
    main()
