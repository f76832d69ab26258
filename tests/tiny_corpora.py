"""Tiny corpora of every task, and the changes that train a model on each in a moment."""

from pathlib import Path

import numpy as np

RATE = "training.optimiser.hyperparameters.learning_rate=0.02"
TAGS = [
    *("data.dimension=6", "model.layers=[5]", "model.characters.dimension=3", "data.scheme=iobes"),
    *("model.characters.filters=4", "model.characters.masked=false", "data.max_widths=1"),
    *("training.batch_size=8", "training.epochs=10", RATE),
]
PAIRS = [
    *("task=seq2seq", "data.max_widths=1", "model.embedding=4", "model.hidden=8"),
    *("training.batch_size=8", "training.epochs=12", RATE),
]
TEXT = [
    *("task=language", "data.window=6", "data.steps_per_epoch=8", "data.dev=*dev*"),
    "model.hidden=7",
    *("training.batch_size=3", "training.epochs=3"),
]
OPINIONS = [
    *("task=sentiment", "model.architecture=bag", "data.dimension=6", "data.max_widths=1"),
    *("training.batch_size=8", "training.epochs=6", RATE),
]
# of generated texts, for those that look at processes and tables: nothing is traced faster
BAG = [
    *("task=sentiment", "model.architecture=bag", "scoring.metric=macro_f1"),
    *("data.source.sentences=60", "data.dimension=6", "data.max_widths=1"),
    *("training.batch_size=16", "training.optimiser.hyperparameters.learning_rate=0.1"),
]
NAMES, VERBS = ("Ann", "Bo", "Zoe"), ("saw", "met", "left")


def tags(folder: Path) -> Path:
    """Sentences with entities of one and two words; dev has words that train lacks."""
    draw = np.random.default_rng(1)
    for part, count, more in (("train", 40, ()), ("dev", 12, ("Cy", "Zoë", "ran2"))):
        sentences = []
        for _ in range(count):
            first, second = draw.choice([*NAMES, *more], 2).tolist()
            person = [f"{first} B-PER", f"{second} I-PER"][: draw.integers(1, 3)]
            town = f"{draw.choice(['Rome', 'Oslo'])} B-LOC"
            sentences.append([*person, f"{draw.choice(VERBS)} O", "in O", town])
        write(folder / part, "\n\n".join("\n".join(sentence) for sentence in sentences) + "\n")
    _halve(folder / "dev", folder / "test")
    return folder


def pairs(folder: Path) -> Path:
    """Words and their copies in capitals; dev has a letter that train lacks."""
    draw = np.random.default_rng(2)
    for part, count, letters in (("train", 60, "abc"), ("dev", 15, "abcé")):
        words = ["".join(draw.choice([*letters], draw.integers(1, 4))) for _ in range(count)]
        write(folder / part, "".join(f"{word}\t{word.upper()}\n" for word in words))
    _halve(folder / "dev", folder / "test")
    return folder


def text(folder: Path) -> Path:
    """Three sentences again and again."""
    for part, times in (("train", 30), ("dev", 4), ("test", 2)):
        more = "" if part == "train" else "the bird sat .\n\n"
        write(folder / part, "the cat sat on the mat .\na dog ran .\n" * times + more)
    return folder


def opinions(folder: Path) -> Path:
    """Texts with a class each, some of the wrong one."""
    draw = np.random.default_rng(3)
    for part, days in (("train", range(40)), ("dev", range(40, 60)), ("test", range(60, 80))):
        words = draw.choice(["good", "bad"], len(days)).tolist()
        wrong = (draw.random(len(days)) < 0.3).tolist()
        classes = [
            "positive" if (w == "good") != bad else "negative"
            for w, bad in zip(words, wrong, strict=True)
        ]
        rows = zip(words, days, classes, strict=True)
        write(folder / f"{part}.tsv", "".join(f"so {w} on day {k}\t{c}\n" for w, k, c in rows))
    return folder


def _halve(dev: Path, test: Path) -> None:
    """Makes the first half of dev's lines the test part, whose scores are then others."""
    lines = dev.read_text().splitlines(keepends=True)
    test.write_text("".join(lines[: len(lines) // 2]))


def write(file: Path, content: str) -> None:
    """Writes a file in a folder that need not be there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
