"""Programs, configs, logs and corpora that the commands of golden_list.py read, beside tables."""

import csv
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

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


def files(folder: Path) -> None:
    """Programs, spaces, configs, and texts to predict."""
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


def logs(folder: Path) -> None:
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


def corpora(folder: Path) -> None:
    """Tiny corpora of all tasks, as tests have them; word vectors; what configs read."""
    from jaxeval.vectors import svd
    from tests import tiny_corpora
    from tests.data.test_word_tables import vectors
    from tests.golden import commands
    from tests.golden import corpora as golden

    golden.write(folder / "golden")
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
