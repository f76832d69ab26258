"""From classified texts to arrays: a hand-made corpus, splits of all kinds, real counts."""

import functools
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.contracts import Split
from jaxeval.data import buckets, sentiment, sentiment_lookup, sentiment_sources, splits, words
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import ConfigError, DataError

HAND = {
    "train": [
        ("Good bar , bad food .", "bar", "pos"),
        ("Good bar , bad food .", "food", "neg"),
        ("the good bar", "bar", "pos"),
    ],
    "dev": [("bad pub", "pub", "neg")],
    "test": [("odd pub", "pub", "pos")],
}
VECTORS = "pub 1 2\ngood 3 4\n<unk> 5 6\n"
Lines = Mapping[str, list[tuple[str, str, str]]]


def _settings(folder: Path, parts: Lines = HAND, **changes: Any) -> sentiment.SentimentData:
    folder.mkdir(exist_ok=True)
    for part, lines in parts.items():
        rows = ({"text": text, "target": target, "label": label} for text, target, label in lines)
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = sentiment_sources.SentimentSource(path=str(folder))
    return sentiment.SentimentData(source=source, **changes)


def _build(folder: Path, parts: Lines = HAND, **changes: Any) -> sentiment.Classified:
    return sentiment.build(_settings(folder, parts, **changes), 2)


def _generated(**changes: Any) -> sentiment.Classified:
    source = sentiment_sources.SentimentSource(sentences=60)
    return sentiment.build(sentiment.SentimentData(source=source, **changes), 8)


def _real(split: Split) -> dict[str, list[list[int]]]:
    """Rows of each part and bucket, without padding, which must stand behind them."""
    real = {}
    for part in splits.PARTS:
        rows = [np.asarray(of_bucket) for of_bucket in getattr(split, part)]
        assert all((np.diff((of_bucket >= 0).astype(int)) <= 0).all() for of_bucket in rows)
        real[part] = [of_bucket[of_bucket >= 0].tolist() for of_bucket in rows]
    return real


def _items(classified: sentiment.Classified, split: Split, part: str) -> Counter[tuple]:
    """(words, start, end, label) of each target of a part, read back from the arrays."""
    forms = {row: word for word, row in classified.table.folded.items()}
    items: Counter[tuple] = Counter()
    for bucket, rows in zip(classified.corpus.buckets, _real(split)[part], strict=True):
        for row in rows:
            numbers = bucket["forms"][row, : bucket["length"][row]]
            assert not bucket["forms"][row, bucket["length"][row] :].any()
            text = tuple(forms[n] for n in classified.table.row[numbers].tolist())
            for k in range(bucket["targets"][row]):
                place = bucket["start"][row, k], bucket["end"][row, k]
                items[text, *map(int, place), classified.labels[bucket["labels"][row, k]]] += 1
    return items


@pytest.mark.parametrize("rows", ["targets", "sentences"])
def test_arrays_hold_the_texts(rows: Any, tmp_path: Path) -> None:
    """Dies if a target changes part, place or label, or a row has another sentence's words."""
    classified = _build(tmp_path / "c", rows=rows, vocabulary="all")
    text = ("good", "bar", ",", "bad", "food", ".")
    expected = {
        "train": {
            (text, 1, 2, "pos"): 1,
            (text, 4, 5, "neg"): 1,
            (("the", "good", "bar"), 2, 3, "pos"): 1,
        },
        "dev": {(("bad", "pub"), 1, 2, "neg"): 1},
        "test": {(("odd", "pub"), 1, 2, "pos"): 1},
    }
    split = classified.split(0)
    assert {part: _items(classified, split, part) for part in splits.PARTS} == expected
    assert classified.labels == ["neg", "pos"] and classified.targeted
    counts = {part: sum(map(len, classified.given_split[part])) for part in splits.PARTS}
    assert counts == {"train": 3 if rows == "targets" else 2, "dev": 1, "test": 1}
    assert sorted(np.concatenate(classified.positions).tolist()) == [*range(sum(counts.values()))]
    for bucket, shape, places in zip(
        classified.corpus.buckets, classified.shapes, classified.positions, strict=True
    ):
        assert bucket["forms"].shape == (len(places), shape.width)
        assert bucket["start"].shape == bucket["labels"].shape == (len(places), shape.targets)
    assert max(shape.targets for shape in classified.shapes) == (1 if rows == "targets" else 2)


@pytest.mark.parametrize("rows", ["targets", "sentences"])
@pytest.mark.parametrize("split", ["stratified", "block"])
def test_random_splits_keep_texts_whole_and_shapes_equal(split: Any, rows: Any) -> None:
    """Dies if targets of a text are in two parts, a row is lost or doubled, padding is in front,
    or a split's arrays have other shapes: its members could not share a program."""
    classified = _generated(split=split, rows=rows, vocabulary="all")
    given = classified.split(0)
    texts = [
        [tuple(row[: row.nonzero()[0].max() + 1]) for row in bucket["forms"]]
        for bucket in classified.corpus.buckets
    ]
    whole = [*range(sum(map(len, texts)))]
    seen = []
    for number in range(4):
        drawn = classified.split(number)
        real = _real(drawn)
        for part in splits.PARTS:
            assert [*map(len, getattr(drawn, part))] == [*map(len, getattr(given, part))]
        places = {
            part: [classified.positions[b][row] for b, of in enumerate(real[part]) for row in of]
            for part in splits.PARTS
        }
        assert sorted(sum(places.values(), [])) == whole  # noqa: RUF017
        of_part = {
            part: {texts[b][row] for b, of in enumerate(real[part]) for row in of}
            for part in splits.PARTS
        }
        assert sum(map(len, of_part.values())) == len(set().union(*of_part.values()))
        seen.append(sorted(map(int, places["test"])))
        if split == "stratified":
            assert {p: sum(map(len, of)) for p, of in real.items()} == {
                p: sum(map(len, of)) for p, of in classified.given_split.items()
            }
    assert len({*map(tuple, seen)}) == 4


def test_block_splits_do_not_depend_on_what_a_row_is() -> None:
    """Dies if models that see a sentence's targets at once are tested on other blocks."""
    parts = []
    for rows in ("targets", "sentences"):
        classified = _generated(split="block", rows=rows, vocabulary="all")
        parts.append([_items(classified, classified.split(k), "test") for k in (0, 1, 2)])
    assert parts[0] == parts[1]


def test_a_text_that_stands_in_two_parts_is_dealt_as_one(tmp_path: Path) -> None:
    """Dies if it is in train and test of a random split, or arrays are too short for it."""
    text = ("odd pub", "odd", "neg")
    parts = {
        **HAND,
        "train": [*HAND["train"], text],
        "dev": [*HAND["dev"], ("so bad", "so", "neg")],
    }
    classified = _build(tmp_path / "c", parts, vocabulary="all")
    assert [sum(map(len, part)) for part in classified.split(0)[:3]] == [5, 2, 1]
    with pytest.raises(ConfigError, match="split 1: no text is left for test, of 5"):
        classified.split(1)
    parts["test"] = [*parts["test"], ("no pub", "pub", "neg")]
    classified = _build(tmp_path / "d", parts, vocabulary="all")
    for number in range(1, 9):
        real = _real(classified.split(number))
        together = [_items(classified, classified.split(number), part) for part in real]
        whole = [items for items in together if any(item[0] == ("odd", "pub") for item in items)]
        assert len(whole) == 1 and sum(map(Counter.total, together)) == 8


def test_rows_of_a_text_lie_in_one_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a text that stands again with fewer targets lies in the bucket of these: what is
    dealt as a whole is counted in one bucket, and arrays of random splits are too short."""
    free = functools.partial(buckets.choose_shapes, shape_cost=0)
    monkeypatch.setattr(buckets, "choose_shapes", free)
    again = [("Good bar , bad food .", "food", "neg")]
    parts = {**HAND, "dev": [*HAND["dev"], *again], "test": [*HAND["test"], ("a b", "a", "neg")]}
    classified = _build(tmp_path / "c", parts, rows="sentences", vocabulary="all")
    assert [shape.targets for shape in classified.shapes] == [1, 2]
    assert [bucket["targets"].tolist() for bucket in classified.corpus.buckets][1] == [2, 1]
    for number in range(1, 9):
        real = _real(classified.split(number))
        assert sum(len(rows) for of_part in real.values() for rows in of_part) == 6


def test_random_splits_need_all_words(tmp_path: Path) -> None:
    """Dies if words of a random split's train have no row, or random splits are drawn without."""
    settings = _settings(tmp_path / "c")
    with pytest.raises(ConfigError, match=r"split 1: .* data\.vocabulary=all"):
        sentiment.build(settings, 2).split(1)
    pooled = sentiment.for_random_splits(settings)
    assert pooled.vocabulary == "all" and pooled.split == settings.split


def test_known_and_once_count_a_text_once(tmp_path: Path) -> None:
    """Dies if a word counts for every target of its text, or words of dev do."""
    classified = _build(tmp_path / "c")
    names = {row: word for word, row in classified.table.folded.items()}
    tables = classified.split(0).tables
    once = {names[row] for row in np.flatnonzero(tables["once"]).tolist()}
    known = {names[row] for row in np.flatnonzero(tables["known"]).tolist() if row > words.UNKNOWN}
    assert once == {",", "bad", "food", ".", "the"} and known == once | {"good", "bar"}
    two = _build(tmp_path / "c", min_count=2).split(0).tables["known"]
    assert two.sum() == words.UNKNOWN + 1 + 2


def test_known_of_random_splits() -> None:
    """Dies if tables are those of the given split, or padding counts as the bucket's last row."""
    classified = _generated(split="block", vocabulary="all", min_count=2)
    for number in (1, 2):
        split = classified.split(number)
        texts = {
            tuple(classified.table.row[bucket["forms"][row, : bucket["length"][row]]].tolist())
            for bucket, rows in zip(classified.corpus.buckets, _real(split)["train"], strict=True)
            for row in rows
        }
        counts = Counter(row for text in texts for row in text)
        real = range(2, len(classified.table.vectors))
        assert split.tables["known"][2:].tolist() == [counts[row] > 1 for row in real]
        assert split.tables["once"][2:].tolist() == [counts[row] == 1 for row in real]


def test_vectors(tmp_path: Path) -> None:
    """Dies if a vector lands on another word, or coverage is not told."""
    (tmp_path / "v").write_text(VECTORS)
    classified = _build(tmp_path / "c", vectors=str(tmp_path / "v"), vectors_unknown="<unk>")
    named = classified.vocabulary(0)["vectors"]
    assert {n: classified.table.vectors[row].tolist() for n, row in named.items()} == {
        "pub": [1, 2],
        "good": [3, 4],
    }
    assert classified.table.vectors[words.UNKNOWN].tolist() == [5, 6]
    assert classified.findings.facts["vectors"]["dev"] == {"tokens": 0.5, "types": 0.5}
    assert classified.corpus.shared["pretrained"].sum() == 4
    assert [*classified.tables(True)] == ["vectors"] and classified.tables(False)


def test_texts_without_targets(tmp_path: Path) -> None:
    """Dies if the label of a whole text is of its first word, or counts as no target."""
    folder = tmp_path / "c"
    folder.mkdir()
    for part, lines in {"train": "1 a b\n0 c\n", "dev": "1 c d\n", "test": "0 d\n"}.items():
        (folder / part).write_text(lines)
    source = sentiment_sources.SentimentSource(path=str(folder), format="sst")
    classified = sentiment.build(sentiment.SentimentData(source=source), 2)
    assert not classified.targeted
    assert {shape.targets for shape in classified.shapes} == {1}
    for bucket in classified.corpus.buckets:
        assert bucket["targets"].tolist() == [1] * len(bucket["length"])
        assert not bucket["start"].any() and not bucket["end"].any()
    assert classified.vocabulary(0)["tokenised"] and not classified.vocabulary(0)["targeted"]


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed word, place, label or part leaves it, or what a row is changes it."""
    first = _build(tmp_path / "c").fingerprint
    assert first == _build(tmp_path / "c", rows="sentences", vocabulary="all").fingerprint
    changed = [
        {**HAND, "dev": [("bad club", "club", "neg")]},
        {**HAND, "dev": [("bad pub", "bad", "neg")]},
        {**HAND, "dev": [("bad pub", "pub", "pos")]},
        {**HAND, "dev": HAND["test"], "test": HAND["dev"]},
    ]
    prints = [_build(tmp_path / f"c{k}", parts).fingerprint for k, parts in enumerate(changed)]
    assert len({first, *prints}) == 5


def test_named_labels(tmp_path: Path) -> None:
    """Dies if their order is not kept, or a config cannot name them."""
    assert _build(tmp_path / "c", labels=("pos", "odd", "neg")).labels == ["pos", "odd", "neg"]
    read = reading.read(sentiment.SentimentData, None, ['labels=["b", "a"]'])
    assert read.labels == ("b", "a")
    for labels in ('["a"]', '["a", "a"]', "none"):
        with pytest.raises(ConfigError, match="labels"):
            reading.read(sentiment.SentimentData, None, [f"labels={labels}"])


@pytest.mark.parametrize(
    ("parts", "changes", "message"),
    [
        ({"train": HAND["train"][:1]}, {}, "the only label of train is 'pos'"),
        (
            {"dev": [("a b", "b", "x")]},
            {},
            "dev: label 'x' of 'a b'; expected those of train: neg",
        ),
        ({}, {"labels": ("pos", "x")}, "label 'neg' of .*; expected those of data.labels: pos, x"),
        ({"test": HAND["train"]}, {}, "train and test hold the same targets"),
    ],
)
def test_what_is_refused(parts: Lines, changes: dict, message: str, tmp_path: Path) -> None:
    """Dies if there is nothing to learn, or a label that no model can give passes."""
    with pytest.raises(DataError, match=message):
        _build(tmp_path / "c", {**HAND, **parts}, **changes)


def test_findings(tmp_path: Path) -> None:
    """Dies if counts of classes are of rows, or a drawn part is not told."""
    assert _build(tmp_path / "c", rows="sentences").findings.facts == {
        "texts": {"train": 2, "dev": 1, "test": 1},
        "classes": {"train": {"neg": 1, "pos": 2}, "dev": {"neg": 1}, "test": {"pos": 1}},
    }
    settings = _settings(tmp_path / "d", {"train": HAND["train"] + HAND["dev"] + HAND["test"]})
    drawn = sentiment.build(
        reading.read(
            sentiment.SentimentData, settings, ["test_fraction=0.25", "dev_fraction=0.4"]
        ),
        2,
    )
    assert "test: the files have none; it is 25% of train's texts" in drawn.findings.remarks[1]


TEXTS = [
    LabelledText("The GOOD pub , so good", (Target(4, 8, ""), Target(9, 12, ""))),
    LabelledText("bar", (Target(0, 3, ""),)),
]


@pytest.mark.parametrize("rows", ["targets", "sentences"])
def test_lookup_of_other_texts(rows: Any, tmp_path: Path) -> None:
    """Dies if a word has another row than in training, or a place or sentence is another's."""
    (tmp_path / "v").write_text(VECTORS)
    settings = _settings(tmp_path / "c", vectors=str(tmp_path / "v"), rows=rows)
    classified = sentiment.build(settings, 2)
    saved = json.loads(json.dumps(classified.vocabulary(0)))
    vocabulary = reading.from_dict(sentiment_lookup.SavedVocabulary, saved)
    encoded = sentiment_lookup.encode(settings, vocabulary, TEXTS, 2)
    assert len(encoded.rows) == (3 if rows == "targets" else 2)
    known = {**vocabulary.words, **vocabulary.vectors}
    for numbers, columns in zip(encoded.numbers, encoded.columns, strict=True):
        assert "labels" not in columns
        for at, number in enumerate(numbers):
            sentence, targets = encoded.rows[number]
            expected = [known.get(word.lower(), words.UNKNOWN) for word in sentence.words]
            row = encoded.shared["row"][columns["forms"][at, : columns["length"][at]]]
            assert row.tolist() == expected
            places = [(t.start, t.end) for t in targets]
            real = columns["targets"][at]
            starts, ends = columns["start"][at, :real], columns["end"][at, :real]
            assert [*zip(starts.tolist(), ends.tolist(), strict=True)] == places
    assert encoded.shared["row"][0] == words.PADDING
    assert vocabulary.rows <= len(classified.table.vectors)


def test_files_to_be_classified(tmp_path: Path) -> None:
    """Dies if labels must be there, or a classifier of targets is given texts without."""
    classified = _build(tmp_path / "c")
    vocabulary = reading.from_dict(sentiment_lookup.SavedVocabulary, classified.vocabulary(0))
    file = tmp_path / "new.jsonl"
    file.write_text('{"text": "a bar", "target": "bar"}\n')
    assert sentiment_lookup.read(vocabulary, file)[0].targets == (Target(2, 5, ""),)
    plain = tmp_path / "new.txt"
    plain.write_text("so good\n\nZoë's\n")
    with pytest.raises(DataError, match=r"new.txt: expected a file of JSON lines"):
        sentiment_lookup.read(vocabulary, plain)
    file.write_text('{"text": "a bar"}\n')
    with pytest.raises(DataError, match="expected a target in every line"):
        sentiment_lookup.read(vocabulary, file)
    whole = reading.from_dict(
        sentiment_lookup.SavedVocabulary, {**classified.vocabulary(0), "targeted": False}
    )
    assert [text.text for text in sentiment_lookup.read(whole, plain)] == ["so good", "Zoë's"]
    assert sentiment_lookup.read(whole, file)[0].targets == (Target(0, 0, ""),)


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
@pytest.mark.parametrize(
    ("folder", "name", "counts"),
    [("sst", "sst", (6920, 872, 1821)), ("trec", "trec", (4362, 1090, 500))],
)
def test_published_sizes(folder: str, name: Any, counts: tuple[int, ...]) -> None:
    """Dies if texts are lost between file and arrays; TREC's dev is a fifth of its texts."""
    path = str(Path(os.environ["JAXEVAL_DATA"]) / folder)
    source = sentiment_sources.SentimentSource(path=path, format=name)
    classified = sentiment.build(sentiment.SentimentData(source=source), 32)
    sizes = [sum(map(len, classified.given_split[part])) for part in splits.PARTS]
    assert np.abs(np.array(sizes) - counts).max() <= (0 if name == "sst" else 2)
    assert sum(sizes) == sum(counts)
