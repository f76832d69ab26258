"""What the commands of golden_list.py read: made-up tables, logs, corpora; the same every time."""

import argparse
import gzip
import itertools
import json
import sys
from pathlib import Path

import golden_texts
import numpy as np
from golden_texts import table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def write(folder: Path) -> None:
    """Writes all of it."""
    folder.mkdir(parents=True)
    _scores(folder)
    _designs(folder)
    _exports(folder)
    _items(folder)
    golden_texts.logs(folder / "logs")
    _sweeps(folder)
    golden_texts.corpora(folder)
    golden_texts.files(folder)


def _scores(folder: Path) -> None:
    """Models and seeds on one data set."""
    draw = np.random.default_rng(0)
    means = {"lstm": 0.80, "rhn": 0.81, "nas": 0.815, "gru": 0.84, "crf": 0.78}

    def rows(models: int, seeds: int, shift: float = 0.0) -> list[tuple]:
        chosen = [*means.items()][:models]
        return [
            (name, seed, f"{draw.normal(mean + shift * k, 0.01):.4f}")
            for k, (name, mean) in enumerate(chosen)
            for seed in range(1, seeds + 1)
        ]

    table(folder / "two.csv", "model,seed,f1", rows(2, 12, 0.01))
    table(folder / "same.csv", "model,seed,f1", rows(2, 10, -0.01))
    for seeds in (2, 3, 5):
        table(folder / f"few{seeds}.csv", "model,seed,accuracy", rows(3, seeds, 0.01))
    table(folder / "many.csv", "model,seed,f1", rows(5, 8))
    table(
        folder / "nine.csv",
        "model,seed,f1",
        [
            (f"m{m}", s, f"{draw.normal(0.8 + 0.006 * m, 0.01):.4f}")
            for m in range(9)
            for s in range(4)
        ],
    )
    gaps = [(m, s, "" if s == 2 else f1) for m, s, f1 in rows(2, 8, 0.02)]
    table(folder / "gaps.csv", "model,seed,f1", gaps)
    table(
        folder / "failed.csv",
        "model,seed,f1,status",
        [
            (*row[:2], "" if fails else row[2], "diverged" if fails else "finished")
            for row in rows(3, 10)
            for fails in [(row[0] == "rhn" and row[1] > 5) or row[:2] == ("nas", 3)]
        ],
    )
    table(
        folder / "perplexity.csv",
        "system,run,perplexity",
        [
            (m, s, f"{np.exp(draw.normal(x, 0.02)):.3f}")
            for m, x in (("old", 4.4), ("new", 4.3), ("other", 4.39))
            for s in range(6)
        ],
    )
    table(
        folder / "dev.csv",
        "model,seed,epoch,dev,test",
        [
            (
                m,
                s,
                e,
                f"{draw.normal(x + e / 100, 0.01):.4f}",
                f"{draw.normal(x + e / 90, 0.01):.4f}",
            )
            for m, x in (("a", 0.7), ("b", 0.72))
            for s in range(6)
            for e in range(1, 5)
        ],
    )
    table(
        folder / "wide.csv",
        "lstm,transformer",
        [(f"{draw.normal(80, 1):.2f}", f"{draw.normal(82, 2):.2f}") for _ in range(9)],
    )
    equal = [("fixed", s, "0.8125") for s in range(5)] + [
        ("varies", s, f"{draw.normal(0.8, 0.01):.4f}") for s in range(5)
    ]
    table(folder / "constant.csv", "model,seed,f1", equal)
    lists = {
        name: np.round(draw.normal(mean, 0.02, 30), 4).tolist() for name, mean in means.items()
    }
    (folder / "lists.json").write_text(json.dumps(lists))
    with gzip.open(folder / "lines.jsonl.gz", "wt") as file:
        for name, seed, f1 in rows(2, 6):
            file.write(
                json.dumps({"model": name, "seed": seed, "metric": "f1", "score": float(f1)})
                + "\n"
            )


def _designs(folder: Path) -> None:
    """Splits, data sets, crossed tables, configurations."""
    draw = np.random.default_rng(1)
    models = {"A": 0.02, "B": 0.0, "C": -0.01, "D": 0.005}
    splits = draw.normal(0.7, 0.03, 12)
    table(
        folder / "splits.csv",
        "model,split,f1",
        [
            (m, k, f"{splits[k] + x + draw.normal(0, 0.01):.4f}")
            for m, x in [*models.items()][:3]
            for k in range(12)
        ],
    )
    table(
        folder / "crossed.csv",
        "model,split,seed,f1",
        [
            (m, k, s, f"{splits[k] + x + 0.01 * np.sin(s) + draw.normal(0, 0.01):.4f}")
            for m, x in [*models.items()][:2] for k in range(6) for s in range(5)
        ],
    )  # fmt: skip
    sets = [f"set{k:02}" for k in range(12)]
    hard = draw.normal(0.7, 0.08, 12)
    table(
        folder / "datasets.csv",
        "model,dataset,accuracy",
        [
            (m, d, f"{hard[k] + x + draw.normal(0, 0.008):.4f}")
            for m, x in models.items()
            for k, d in enumerate(sets)
        ],
    )
    table(
        folder / "games.csv",
        "agent,game,seed,score",
        [
            (m, d, s, f"{hard[k] + 3 * x + draw.normal(0, 0.03):.4f}")
            for m, x in models.items() for k, d in enumerate(sets[:6]) for s in range(5)
        ],
    )  # fmt: skip
    cells = itertools.product(("pos", "ner"), range(1, 5), (32, 8, 16), ("Theano", "theano"))
    table(
        folder / "networks.tsv",
        "ID,batch,layers,backend,set,f1",
        [
            (
                k,
                b,
                n,
                backend,
                d,
                f"{0.8 + 0.01 * (b == 8) + 0.02 * n + draw.normal(0, 0.004):.5f}",
            )
            for k, (d, n, b, backend) in enumerate(cells)
        ],
    )


def _exports(folder: Path) -> None:
    """Weights & Biases: a table of runs, and a chart."""
    draw = np.random.default_rng(2)
    rows: list[tuple] = []
    for model, mean in (("lstm", 0.8), ("cnn", 0.77)):
        for seed in range(1, 7):
            state = "crashed" if (model, seed) == ("cnn", 2) else "finished"
            score = f"{draw.normal(mean, 0.01):.4f}" if state == "finished" else ""
            created = f"2026-03-0{seed}T10:00:00.000Z"
            rows.append((f"run-{model}-{seed}", state, created, model, seed, 0.01, score))
    table(folder / "wandb_runs.csv", "Name,State,Created,arch,seed,lr,test_acc", rows)
    runs = [f"{m}-seed{s}" for m in ("lstm", "cnn") for s in range(1, 5)]
    header = ["Step", *(f"{run} - val/acc{end}" for run in runs for end in ("", "__MIN", "__MAX"))]
    table(
        folder / "wandb_chart.csv",
        ",".join(header),
        [
            [
                step,
                *(
                    f"{0.6 + step / 50 + k / 90 + draw.normal(0, 0.01):.4f}"
                    for k in range(len(runs))
                    for _ in "abc"
                ),
            ]
            for step in range(1, 6)
        ],
    )


def _items(folder: Path) -> None:
    """Predictions, a row an item of a run."""
    draw = np.random.default_rng(3)
    for name, seeds, skills in (
        ("items.csv", 4, {"big": 1.1, "small": 0.5, "tiny": 0.4}),
        ("items_one.csv", 1, {"big": 1.0, "small": 0.4}),
        ("items_four.csv", 4, {"big": 1.0, "small": 0.6}),
    ):
        rows: list[tuple] = []
        for data, count in (("laptop", 60), ("restaurant", 45))[: 2 if name == "items.csv" else 1]:
            gold = draw.choice(["neg", "neu", "pos"], count)
            hard = draw.normal(size=count)
            for model, skill in skills.items():
                for seed in range(1, seeds + 1):
                    right = draw.normal(size=count) + hard < skill
                    other = draw.choice(["neg", "neu", "pos"], count)
                    rows += [
                        (model, seed, data, f"i{k}", gold[k], gold[k] if right[k] else other[k])
                        for k in range(count)
                    ]
        table(folder / name, "model,seed,dataset,item,gold,predicted", rows)


def _sweeps(folder: Path) -> None:
    """Random sweeps with a conditional hyperparameter, ragged and with failures."""
    for name, runs, top in (("sweep_a.tsv", 60, 1.0), ("sweep_b.tsv", 47, 0.9)):
        draw = np.random.default_rng(runs)
        rows = []
        for k in range(runs):
            scheduler = ("none", "plateau", "warm")[k % 3]
            score = "" if k == 7 else f"{top * draw.beta(5, 1):.3f}"
            factor = f"{draw.uniform():.2f}" if scheduler == "plateau" else ""
            rows.append((score, f"{10 ** draw.uniform(-5, -2):.2e}", scheduler, factor))
        table(folder / name, "acc,rate,scheduler,factor", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    write(parser.parse_args().folder)
