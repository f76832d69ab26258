"""From sentences to arrays: a hand-made corpus, its word table and its tables of a split."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import splits, tagging, words
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError
from tests.data import hand_tagging


def test_known_and_once(tmp_path: Path) -> None:
    """Dies if dev words are known, counts are of forms, or once is not of train."""
    settings = hand_tagging.settings(tmp_path / "c")
    tagged = tagging.build(settings, 2)
    assert hand_tagging.named(settings, tagged, "known") == {
        "Red",
        "red",
        "dog",
        "fox",
        "ran",
        "far9",
    }
    assert hand_tagging.named(settings, tagged, "once") == {"dog", "fox", "ran", "far9"}
    assert tagged.split(0).tables["known"][[words.PADDING, words.UNKNOWN]].all()


def test_min_count(tmp_path: Path) -> None:
    """Dies if the limit itself is not enough, or words of the dev part count."""
    settings = hand_tagging.settings(tmp_path / "c", min_count=2)
    assert hand_tagging.named(settings, tagging.build(settings, 2), "known") == {"Red", "red"}


def test_cased_words(tmp_path: Path) -> None:
    """Dies if words share a row though lower_case is off."""
    settings = hand_tagging.settings(tmp_path / "c", lower_case=False, vocabulary="all")
    tagged = tagging.build(settings, 2)
    assert len({*tagged.table.row}) == len(hand_tagging.forms(settings))
    assert {"Red", "red"} <= hand_tagging.named(settings, tagged, "once")


def test_pretrained_words(tmp_path: Path) -> None:
    """Dies if a vector lands on another word's row, or a word with a vector is unknown."""
    settings = hand_tagging.with_vectors(tmp_path / "c", vectors_unknown="<unk>", min_count=9)
    tagged = tagging.build(settings, 2)
    vector = dict(
        zip(hand_tagging.forms(settings), tagged.table.vectors[tagged.table.row], strict=True)
    )
    expected = {"": [0, 0], "owl": [1, 2], "red": [3, 4], "Red": [3, 4]}
    assert {form: vector[form].tolist() for form in expected} == expected
    assert tagged.table.vectors[words.UNKNOWN].tolist() == [5, 6]
    assert hand_tagging.named(settings, tagged, "known") == {"owl", "red", "Red"}
    assert tagged.table.pretrained.sum() == 4  # padding and unknown among them


def test_words_without_vector_get_small_random_ones(tmp_path: Path) -> None:
    """Dies if they are zero, equal, drawn anew at each build, or not of the settings' size."""
    settings = hand_tagging.settings(tmp_path / "c", dimension=50, vocabulary="all")
    first, second = (tagging.build(settings, 2).table.vectors for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (2 + 7, 50) and first.dtype == np.float32
    assert 0.2 < np.abs(first[words.UNKNOWN :]).max() <= 0.25
    assert len(np.unique(first, axis=0)) == len(first)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_tables_of_a_split_count_its_own_train_rows(number: int) -> None:
    """Dies if known or once of a random split are those of the given one."""
    settings = tagging.TaggingData(train_sentences=120, vocabulary="all")
    tagged = tagging.build(settings, 8)
    split, counts = tagged.split(number), Counter[int]()
    for bucket, rows in zip(tagged.corpus.buckets, split.train, strict=True):
        for forms, length in zip(bucket["forms"][rows], bucket["length"][rows], strict=True):
            counts.update(tagged.table.row[forms[:length]].tolist())
    real = range(2, len(tagged.table.vectors))
    assert split.tables["known"][2:].tolist() == [counts[row] > 0 for row in real]
    assert split.tables["once"][2:].tolist() == [counts[row] == 1 for row in real]


def _sentences(
    settings: tagging.TaggingData, tagged: tagging.Tagged, rows: Sequence[np.ndarray]
) -> list[Sentence]:
    """The sentences of a part of a split, read back from the arrays."""
    forms, actual = hand_tagging.forms(settings), []
    for bucket, chosen in zip(tagged.corpus.buckets, rows, strict=True):
        for row in chosen:
            length = bucket["length"][row]
            assert not bucket["forms"][row, length:].any()
            assert not bucket["labels"][row, length:].any()
            said = tuple(forms[f] for f in bucket["forms"][row, :length])
            tags = tuple(tagged.labels[y] for y in bucket["labels"][row, :length])
            actual.append(Sentence(said, tags))
    return actual


def test_arrays_hold_the_sentences() -> None:
    """Dies if a sentence changes part, or a word or tag its place or number."""
    settings = tagging.TaggingData(train_sentences=200)
    tagged, parts = tagging.build(settings, 8), tagging.read(settings).parts
    split = tagged.split(0)
    assert len(tagged.widths) > 1
    for part, rows in zip(splits.PARTS, (split.train, split.dev, split.test), strict=True):
        assert sorted(_sentences(settings, tagged, rows)) == sorted(parts[part])
    assert [bucket["forms"].shape[1] for bucket in tagged.corpus.buckets] == list(tagged.widths)


def test_shared_arrays_describe_the_forms(tmp_path: Path) -> None:
    """Dies if characters or casing are of another form, or padding has a casing."""
    settings = hand_tagging.settings(tmp_path / "c", max_characters=3, vocabulary="all")
    tagged, forms = tagging.build(settings, 2), hand_tagging.forms(settings)
    numbers = words.alphabet(forms)
    shared = tagged.corpus.shared
    assert tagged.alphabet == len(numbers) + 2 == shared["characters"].max() + 1
    for number, form in enumerate(forms):
        spelt = [numbers[character] for character in form[:3]]
        assert shared["characters"][number].tolist() == spelt + [0] * (3 - len(spelt))
        assert shared["casing"][number] == (words.casing(form) if form else 0)


def test_labels_and_legality(tmp_path: Path) -> None:
    """Dies if O is not entities' first label, or legality is not of the scheme used inside."""
    sentences = "Ann B-PER\nLee I-PER\n\nran O\n"
    parts = {"train": sentences, "dev": sentences, "test": "ran O\n"}
    tagged = tagging.build(hand_tagging.settings(tmp_path / "c", parts), 2)
    assert tagged.entities and tagged.labels == ["O", "B-PER", "E-PER"]
    assert tagged.legality.start.tolist() == [True, True, False]
    assert tagged.legality.end.tolist() == [True, False, True]
    bio = tagging.build(hand_tagging.settings(tmp_path / "c", parts, scheme="bio"), 2)
    assert bio.labels == ["O", "B-PER", "I-PER"] and bio.legality.end.all()


def test_classes_are_not_entities(tmp_path: Path) -> None:
    """Dies if part-of-speech tags are scored as spans or some moves between them forbidden."""
    parts = {"train": "go VERB\non ADP\n", "dev": "on ADP\n", "test": "go VERB\n"}
    tagged = tagging.build(hand_tagging.settings(tmp_path / "c", parts), 2)
    assert not tagged.entities and tagged.labels == ["ADP", "VERB"]
    assert all(table.all() for table in tagged.legality)


def test_fewer_train_sentences_and_zero_digits(tmp_path: Path) -> None:
    """Dies if dev is cut too, the last sentences are kept, or digits stay in any part."""
    cut = tagging.read(hand_tagging.settings(tmp_path / "c", train_sentences=1)).parts
    assert [s.words for s in cut["train"]] == [("Red", "dog")] and len(cut["dev"]) == 1
    read = tagging.read(hand_tagging.settings(tmp_path / "c", zero_digits=True)).parts
    assert read["train"][1].words[-1] == "far0" and read["train"][1].tags[0] == "S-COL"


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed word, tag or part leaves it, or vectors or the vocabulary change it."""
    first = tagging.build(hand_tagging.settings(tmp_path / "c"), 2).fingerprint
    assert first == tagging.build(hand_tagging.settings(tmp_path / "copy"), 4).fingerprint
    red, rest = hand_tagging.HAND["train"].split("\n\n")  # rest: last of train, then first of dev
    moved = {
        **hand_tagging.HAND,
        "train": f"{red}\n",
        "dev": f"{rest}\n{hand_tagging.HAND['dev']}",
    }
    changed = [
        hand_tagging.settings(
            tmp_path / "word",
            {**hand_tagging.HAND, "dev": hand_tagging.HAND["dev"].replace("dog", "cat")},
        ),
        hand_tagging.settings(
            tmp_path / "tag",
            {**hand_tagging.HAND, "dev": hand_tagging.HAND["dev"].replace("dog O", "dog S-COL")},
        ),
        hand_tagging.settings(tmp_path / "moved", moved),
        hand_tagging.settings(tmp_path / "bio", scheme="bio"),
    ]
    prints = [first, *(tagging.build(settings, 2).fingerprint for settings in changed)]
    assert len({*prints}) == len(prints)
    for changes in (
        {"vectors": str(hand_tagging.vector_file(tmp_path, hand_tagging.VECTORS))},
        {"vocabulary": "all"},
    ):
        assert (
            tagging.build(hand_tagging.settings(tmp_path / "c", **changes), 2).fingerprint == first
        )


def test_fingerprint_of_vectors(tmp_path: Path) -> None:
    """Dies if another vector leaves it, or the vocabulary (an order of rows) changes it."""
    prints = {}
    for name, content in {
        "a": hand_tagging.VECTORS,
        "b": hand_tagging.VECTORS.replace("owl 1", "owl 9"),
        "none": "",
    }.items():
        for vocabulary in ("train", "all"):
            file = str(hand_tagging.vector_file(tmp_path, content)) if content else None
            settings = hand_tagging.settings(tmp_path / "c", vectors=file, vocabulary=vocabulary)
            prints[name, vocabulary] = tagging.build(settings, 2).table.fingerprint
    assert prints["a", "train"] == prints["a", "all"] != prints["b", "train"]
    assert prints["none", "train"] == ""


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ("go O\n\nran O\n", "go O\n", "the only tag of train is 'O'"),
        (
            hand_tagging.HAND["train"],
            "\n\n".join(reversed(hand_tagging.HAND["train"].split("\n\n"))),
            "train and test hold",
        ),
    ],
)
def test_nothing_to_learn_or_to_test(train: str, test: str, message: str, tmp_path: Path) -> None:
    """Dies if a single tag is trained on, or train is scored as test, in whatever order."""
    parts = {"train": train, "dev": hand_tagging.HAND["dev"], "test": test}
    with pytest.raises(DataError, match=message):
        tagging.build(hand_tagging.settings(tmp_path / "c", parts), 2)


def test_dev_that_is_train_or_test_is_told(tmp_path: Path) -> None:
    """Dies if selection on test, or on what was trained on, passes without a word."""
    warnings = {
        name: tagging.build(
            hand_tagging.settings(
                tmp_path / name, {**hand_tagging.HAND, "dev": hand_tagging.HAND[name]}
            ),
            2,
        ).findings.warnings
        for name in ("train", "test")
    }
    assert warnings["train"] == ["100% of the sentences of dev also occur in train"]
    assert warnings["test"][0].startswith("dev and test hold the same sentences")
