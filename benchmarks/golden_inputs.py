"""What the commands of golden_list.py read: made-up tables, logs, corpora; the same every time."""

import argparse
import csv
import gzip
import itertools
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

TRAIN = """\
import math, random, sys
given = dict(word.split("=") for word in sys.argv[1:])
if float(given["rate"]) > 0.5:
    sys.exit("diverged")
random.seed(given.get("seed", "0"))
best = 0.8 - 0.05 * (math.log10(float(given["rate"])) + 2) ** 2 - 0.02 * (given["cell"] == "gru")
best -= 0.1 * abs(float(given.get("peephole", "0.5")) - 0.3)
for step in range(1, int(given.get("steps", "1")) + 1):
    score = best * (1 - 0.5**step) + random.gauss(0, 0.004)
    print(f'{{"step": {step}, "score": {score}}}' if "steps" in given else score)
"""
ASK = """\
import json, random, sys
model, *numbers = sys.argv[1:]
if model == "broken":
    sys.exit("no such model")
skill = {"good": 0.8, "fair": 0.72, "poor": 0.6}[model]
scores = []
for number in " ".join(numbers).replace(",", " ").split():
    random.seed(f"{model} {number}")
    scores.append(random.gauss(skill, 0.03))
print("asking ...")
print(json.dumps({"test": {"f1": sum(scores) / len(scores)}}))
"""
SPACE = """\
[rate]
log_uniform = [1e-4, 1.0]
[cell]
choices = ["lstm", "gru"]
[peephole]
uniform = [0, 1]
when = { cell = ["lstm"] }
"""
BAG_SPACE = """\
[rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-3, 0.3]
[dropout]
key = "model.dropout.input"
uniform = [0.0, 0.5]
[batch]
key = "training.batch_size"
choices = [16, 32]
"""
BAG = """\
name = "{name}"
task = "sentiment"
[model]
architecture = "bag"
[training.optimiser]
hyperparameters = {{ learning_rate = {rate} }}
"""
BAG_VARIANTS = """\
[[variant]]
name = "layer"
changes = ["model.bag=[4]"]
[[variant]]
name = "dropout"
changes = ["model.dropout.input=0.3"]
"""
SWEEP_SPACE = """\
[rate]
log_uniform = [1e-5, 1e-2]
[scheduler]
choices = ["none", "plateau", "warm"]
ordered = true
[factor]
uniform = [0, 1]
when = { scheduler = ["plateau"] }
"""


def table(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    """A CSV, or TSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([header.split(","), *rows])


def write(folder: Path) -> None:
    """Writes all of it."""
    folder.mkdir(parents=True)
    _scores(folder)
    _designs(folder)
    _exports(folder)
    _items(folder)
    _logs(folder / "logs")
    _sweeps(folder)
    _corpora(folder)
    for name, text in (("train.py", TRAIN), ("ask.py", ASK), ("space.toml", SPACE)):
        (folder / name).write_text(text)
    for name in ("bag", "bag_slow"):
        rate = 0.1 if name == "bag" else 0.003
        (folder / f"{name}.toml").write_text(BAG.format(name=name, rate=rate))
    (folder / "bag_variants.toml").write_text(BAG_VARIANTS)
    (folder / "words.txt").write_text("Ann\nsaw\nthe\nold\nmill\n\nQuux\nin\nRome\n.\n")
    texts = ("the soup was cold", "a great soup and the waiter was slow", "lovely food again")
    targets = ("soup", "waiter", "food")
    lines = (json.dumps({"text": x, "target": t}) for x, t in zip(texts, targets, strict=True))
    (folder / "targets.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "pairs.tsv").write_text(
        "the soup was cold\tthe soup was bad\na dog ran\tan old mill\n"
    )
    (folder / "bag_space.toml").write_text(BAG_SPACE)
    (folder / "sweep_space.toml").write_text(SWEEP_SPACE)


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


def _logs(folder: Path) -> None:
    """Logs as evaluation programs write them."""
    from tests.runs.logs import models, writing

    skills = {"org/new": 0.8, "org/old": 0.2, "org/third": 0.25}
    for task in ("arc", "boolq", "copa"):
        models.logs(folder / "lm_eval", skills, task)
    models.logs(folder / "loss", {"new": 0.8, "old": -0.2}, metrics={"error": False})
    models.logs(folder / "gate" / "better", {"new": 0.9, "old": 0.0})
    models.logs(folder / "gate" / "equal", {"new": 0.3, "old": 0.28})
    (folder / "runs").mkdir()
    models.runs(folder / "runs", {"a": 0.5, "b": 0.1})
    right = models.answers({"openai/a": 0.7, "openai/b": 0.1}, 60, seed=5)
    (folder / "inspect").mkdir()
    for model, of in right.items():
        head = writing.inspect_head(model, config={"epochs": 2})
        samples = [
            writing.inspect_sample(k, "C" if value or (k + epoch) % 5 == 0 else "I", epoch)
            for epoch in (1, 2)
            for k, value in enumerate(of)
        ]
        name = model.replace("/", "_")
        if model.endswith("a"):
            writing.inspect_eval(folder / "inspect" / f"{name}.eval", head, samples)
        else:
            writing.inspect_json(folder / "inspect" / f"{name}.json", head, samples)
    (folder / "helm").mkdir()
    for model, of in right.items():
        both = {(f"id{k}", trial): float(value) for k, value in enumerate(of) for trial in (0, 1)}
        writing.helm(folder / "helm", model, both, "boolq")
    (folder / "evals").mkdir()
    for model, of in right.items():
        events: list[tuple[str, str, dict[str, Any]]] = [
            (f"s{k}", "match", {"correct": bool(value)}) for k, value in enumerate(of)
        ]
        writing.evals(folder / "evals" / f"{model.replace('/', '_')}.jsonl", model, events)
    draw = np.random.default_rng(7)
    passages = draw.normal(size=30).repeat(3)
    questions = passages + draw.normal(size=90)
    (folder / "predictions").mkdir()
    for model, skill in {"new": 0.9, "old": 0.1}.items():
        answers = draw.normal(size=(90, 4)) + questions[:, None] < skill + draw.normal(
            scale=0.2, size=4
        )
        with (folder / "predictions" / f"{model}.jsonl").open("w") as file:
            for k, of_item in enumerate(answers.tolist()):
                file.write(
                    json.dumps({"item": f"q{k}", "text": f"t{k // 3}", "correct": of_item}) + "\n"
                )
    rows = [
        (m, t, f"i{k}", s, f"{draw.normal(30 + x + 5 * np.sin(k), 4):.2f}", k // 2)
        for m, x in (("a", 2), ("b", 0))
        for t in ("de", "fr")
        for k in range(40)
        for s in (1, 2)
    ]
    table(folder / "scores.csv", "model,task,item_id,seed,bleu,text", rows)


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


def _corpora(folder: Path) -> None:
    """Tiny corpora of all tasks, as tests have them; word vectors; what configs read."""
    from jaxeval.vectors import svd
    from tests import tiny_corpora
    from tests.data.test_word_tables import vectors
    from tests.golden import commands, corpora

    corpora.write(folder / "golden")
    (folder / "golden" / "space.toml").write_text(commands.SPACE)
    (folder / "golden" / "variants.toml").write_text(commands.VARIANTS)
    tiny_corpora.opinions(folder / "opinions")
    tiny_corpora.tags(folder / "judged" / "ner")
    for part, days in (("train", range(40)), ("dev", range(40, 60)), ("test", range(60, 90))):
        lines = (f"{d % 2} so {'good' if d % 7 % 2 else 'bad'} on day {d}\n" for d in days)
        tiny_corpora.write(folder / "judged" / "sentiment" / f"sst.{part}", "".join(lines))
    words = [
        "ann",
        "bo",
        "zoe",
        "saw",
        "met",
        "left",
        "in",
        "rome",
        "oslo",
        "good",
        "bad",
        "so",
        "day",
    ]
    vectors(folder / "a.txt", words, 1, 4)
    vectors(folder / "b.txt", [*words[3:], "on"], 2, 4)
    data = Path(
        os.environ.get("JAXEVAL_DATA", Path(__file__).resolve().parents[2] / "shared/data")
    )
    corpus = data / "wikitext2" / "valid.txt"
    svd.make(corpus, folder / "svd.txt", dimension=30, min_count=40, lower_case=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    write(parser.parse_args().folder)
