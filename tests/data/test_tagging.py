"""From sentences to arrays: a hand-made corpus, its word table and its tables of a split."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.data import sources, splits, tagging, words
from jaxeval.data.sentences import Sentence
from jaxeval.errors import ConfigError, DataError

HAND = {
    "train": "Red S-COL\ndog O\n\nred S-COL\nfox O\nran O\nfar9 O\n",
    "dev": "blue S-COL\ndog O\n",
    "test": "fox O\nowl O\n",
}
VECTORS = "owl 1 2\nred 3 4\n<unk> 5 6\nother 7 8\n"


def _settings(
    folder: Path, parts: Mapping[str, str] = HAND, **changes: Any
) -> tagging.TaggingData:
    folder.mkdir(exist_ok=True)
    for part, content in parts.items():
        (folder / part).write_text(content)
    return tagging.TaggingData(source=sources.SentenceSource(path=str(folder)), **changes)


def _vector_file(folder: Path, content: str) -> Path:
    file = folder / "vectors"
    file.write_text(content)
    return file


def _with_vectors(folder: Path, content: str = VECTORS, **changes: Any) -> tagging.TaggingData:
    return _settings(folder, vectors=str(_vector_file(folder.parent, content)), **changes)


def _forms(settings: tagging.TaggingData) -> list[str]:
    """The forms by number, as the docstring of the module orders them."""
    parts = tagging.read(settings).parts.values()
    return ["", *sorted({word for part in parts for s in part for word in s.words})]


def _named(
    settings: tagging.TaggingData, tagged: tagging.Tagged, name: str, split: int = 0
) -> set[str]:
    """The forms whose row is marked in a table of a split."""
    table, row = tagged.split(split).tables[name], tagged.table.row
    forms = enumerate(_forms(settings))
    return {form for f, form in forms if row[f] > words.UNKNOWN and table[row[f]]}


def test_known_and_once(tmp_path: Path) -> None:
    """Dies if dev words are known, counts are of forms, or once is not of train."""
    settings = _settings(tmp_path / "c")
    tagged = tagging.build(settings, 2)
    assert _named(settings, tagged, "known") == {"Red", "red", "dog", "fox", "ran", "far9"}
    assert _named(settings, tagged, "once") == {"dog", "fox", "ran", "far9"}
    assert tagged.split(0).tables["known"][[words.PADDING, words.UNKNOWN]].all()


def test_min_count(tmp_path: Path) -> None:
    """Dies if the limit itself is not enough, or words of the dev part count."""
    settings = _settings(tmp_path / "c", min_count=2)
    assert _named(settings, tagging.build(settings, 2), "known") == {"Red", "red"}


def test_cased_words(tmp_path: Path) -> None:
    """Dies if words share a row though lower_case is off."""
    settings = _settings(tmp_path / "c", lower_case=False, vocabulary="all")
    tagged = tagging.build(settings, 2)
    assert len({*tagged.table.row}) == len(_forms(settings))
    assert {"Red", "red"} <= _named(settings, tagged, "once")


def test_pretrained_words(tmp_path: Path) -> None:
    """Dies if a vector lands on another word's row, or a word with a vector is unknown."""
    settings = _with_vectors(tmp_path / "c", vectors_unknown="<unk>", min_count=9)
    tagged = tagging.build(settings, 2)
    vector = dict(zip(_forms(settings), tagged.table.vectors[tagged.table.row], strict=True))
    expected = {"": [0, 0], "owl": [1, 2], "red": [3, 4], "Red": [3, 4]}
    assert {form: vector[form].tolist() for form in expected} == expected
    assert tagged.table.vectors[words.UNKNOWN].tolist() == [5, 6]
    assert _named(settings, tagged, "known") == {"owl", "red", "Red"}
    assert tagged.table.pretrained.sum() == 4  # padding and unknown among them


def test_words_without_vector_get_small_random_ones(tmp_path: Path) -> None:
    """Dies if they are zero, equal, drawn anew at each build, or not of the settings' size."""
    settings = _settings(tmp_path / "c", dimension=50, vocabulary="all")
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
    forms, actual = _forms(settings), []
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
    settings = _settings(tmp_path / "c", max_characters=3, vocabulary="all")
    tagged, forms = tagging.build(settings, 2), _forms(settings)
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
    tagged = tagging.build(_settings(tmp_path / "c", parts), 2)
    assert tagged.entities and tagged.labels == ["O", "B-PER", "E-PER"]
    assert tagged.legality.start.tolist() == [True, True, False]
    assert tagged.legality.end.tolist() == [True, False, True]
    bio = tagging.build(_settings(tmp_path / "c", parts, scheme="bio"), 2)
    assert bio.labels == ["O", "B-PER", "I-PER"] and bio.legality.end.all()


def test_classes_are_not_entities(tmp_path: Path) -> None:
    """Dies if part-of-speech tags are scored as spans or some moves between them forbidden."""
    parts = {"train": "go VERB\non ADP\n", "dev": "on ADP\n", "test": "go VERB\n"}
    tagged = tagging.build(_settings(tmp_path / "c", parts), 2)
    assert not tagged.entities and tagged.labels == ["ADP", "VERB"]
    assert all(table.all() for table in tagged.legality)


def test_fewer_train_sentences_and_zero_digits(tmp_path: Path) -> None:
    """Dies if dev is cut too, the last sentences are kept, or digits stay in any part."""
    cut = tagging.read(_settings(tmp_path / "c", train_sentences=1)).parts
    assert [s.words for s in cut["train"]] == [("Red", "dog")] and len(cut["dev"]) == 1
    read = tagging.read(_settings(tmp_path / "c", zero_digits=True)).parts
    assert read["train"][1].words[-1] == "far0" and read["train"][1].tags[0] == "S-COL"


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed word, tag or part leaves it, or vectors or the vocabulary change it."""
    first = tagging.build(_settings(tmp_path / "c"), 2).fingerprint
    assert first == tagging.build(_settings(tmp_path / "copy"), 4).fingerprint
    red, rest = HAND["train"].split("\n\n")  # rest: last of train, then first of dev
    moved = {**HAND, "train": f"{red}\n", "dev": f"{rest}\n{HAND['dev']}"}
    changed = [
        _settings(tmp_path / "word", {**HAND, "dev": HAND["dev"].replace("dog", "cat")}),
        _settings(tmp_path / "tag", {**HAND, "dev": HAND["dev"].replace("dog O", "dog S-COL")}),
        _settings(tmp_path / "moved", moved),
        _settings(tmp_path / "bio", scheme="bio"),
    ]
    prints = [first, *(tagging.build(settings, 2).fingerprint for settings in changed)]
    assert len({*prints}) == len(prints)
    for changes in ({"vectors": str(_vector_file(tmp_path, VECTORS))}, {"vocabulary": "all"}):
        assert tagging.build(_settings(tmp_path / "c", **changes), 2).fingerprint == first


def test_fingerprint_of_vectors(tmp_path: Path) -> None:
    """Dies if another vector leaves it, or the vocabulary (an order of rows) changes it."""
    prints = {}
    for name, content in {
        "a": VECTORS,
        "b": VECTORS.replace("owl 1", "owl 9"),
        "none": "",
    }.items():
        for vocabulary in ("train", "all"):
            file = str(_vector_file(tmp_path, content)) if content else None
            settings = _settings(tmp_path / "c", vectors=file, vocabulary=vocabulary)
            prints[name, vocabulary] = tagging.build(settings, 2).table.fingerprint
    assert prints["a", "train"] == prints["a", "all"] != prints["b", "train"]
    assert prints["none", "train"] == ""


SWAPPED = {
    **HAND,
    "dev": "Ünder S-LOC\nowl O\ndogs O\n",
    "test": "a B-ORG\nlonger E-ORG\n\nother O\n",
}


def test_rows_of_the_vocabulary_depend_on_train_alone(tmp_path: Path) -> None:
    """Dies if a word, character, tag or vector of dev or test moves or adds a row of train's."""
    built = [
        tagging.build(_with_vectors(tmp_path / name, parts=parts), 2)
        for name, parts in (("a", HAND), ("b", SWAPPED))
    ]
    first, second = built
    rows = first.table.vocabulary
    assert rows == second.table.vocabulary == 2 + 5  # red, dog, fox, ran, far9
    np.testing.assert_array_equal(first.table.vectors[:rows], second.table.vectors[:rows])
    assert (first.alphabet, first.predicted) == (second.alphabet, second.predicted)
    assert first.labels[: first.predicted] == second.labels[: second.predicted]
    for settings, tagged in zip(("a", "b"), built, strict=True):
        forms = _forms(_settings(tmp_path / settings, HAND if settings == "a" else SWAPPED))
        row = dict(zip(forms, tagged.table.row.tolist(), strict=True))
        assert [row[word] for word in ("red", "Red", "dog", "far9", "fox", "ran")] == [
            *(2, 2, 3, 4, 5, 6)
        ]


@pytest.mark.parametrize(
    ("vocabulary", "rows", "letters"), [("train", 5, 11), ("train+dev", 6, 14), ("all", 7, 15)]
)
def test_scopes_of_the_vocabulary(
    vocabulary: str, rows: int, letters: int, tmp_path: Path
) -> None:
    """Dies if a scope counts another part. Dev adds "blue" (b, l, u), test "owl" (w)."""
    tagged = tagging.build(_settings(tmp_path / "c", vocabulary=vocabulary), 2)
    assert tagged.table.vocabulary == len(tagged.table.vectors) == 2 + rows
    assert tagged.alphabet == 2 + letters


def test_words_outside_the_vocabulary(tmp_path: Path) -> None:
    """Dies if a read vector of a test word is lost or trained, or other words are not unknown."""
    settings = _with_vectors(tmp_path / "c")
    tagged = tagging.build(settings, 2)
    row = dict(zip(_forms(settings), tagged.table.row.tolist(), strict=True))
    assert row["owl"] == tagged.table.vocabulary and row["blue"] == words.UNKNOWN
    assert tagged.table.vectors[row["owl"]].tolist() == [1, 2]
    assert tagged.split(0).tables["known"][row["owl"]]
    folded = {**HAND, "test": "Dog O\n"}
    settings = _settings(tmp_path / "folded", folded)
    row = dict(zip(_forms(settings), tagging.build(settings, 2).table.row, strict=True))
    assert row["Dog"] == row["dog"] > words.UNKNOWN


def test_random_splits_count_all_words(tmp_path: Path) -> None:
    """Dies if words of a random split's train have no row, or others are dealt."""
    settings = _settings(tmp_path / "c")
    pooled = tagging.build(tagging.for_random_splits(settings), 2)
    assert pooled.table.vocabulary == 2 + 7 and pooled.split(1)
    with pytest.raises(ConfigError, match=r"split 1: .* data\.vocabulary=all"):
        tagging.build(settings, 2).split(1)


def test_tags_that_train_lacks_are_told(tmp_path: Path) -> None:
    """Dies if they can be predicted, or the warning does not name them or count them."""
    tagged = tagging.build(_settings(tmp_path / "c", SWAPPED), 2)
    assert tagged.labels == ["O", "S-COL", "B-ORG", "E-ORG", "S-LOC"] and tagged.predicted == 2
    assert tagged.legality.moves.shape == (2, 2)
    dev, test = (w for w in tagged.findings.warnings if w.startswith("tags: "))
    assert "dev has 1 that train lacks, 1 of its 3 (33.33%): 'S-LOC' (1)" in dev
    assert "'B-ORG' (1), 'E-ORG' (1); they count as errors" in test
    assert tagged.findings.facts["unseen_tags"] == {
        "dev": {"types": 1, "tokens": 1},
        "test": {"types": 2, "tokens": 2},
    }


def test_coverage_of_vectors(tmp_path: Path) -> None:
    """Dies if types are counted for tokens, or spellings are not looked up. Red, red: 2 of 6."""
    actual = tagging.build(_with_vectors(tmp_path / "c"), 2).findings
    assert actual.facts["vectors"] == {
        "train": {"tokens": 0.3333, "types": 0.3333},
        "dev": {"tokens": 0.0, "types": 0.0},
        "test": {"tokens": 0.5, "types": 0.5},
    }
    assert "train 33.3% (33.3%)" in actual.remarks[0]
    assert "only 33.3% of train's tokens have a vector" in actual.warnings[0]


def test_vectors_without_a_word_of_train_are_refused(tmp_path: Path) -> None:
    """Dies if a job trains on a vector file of another language as if it had none."""
    with pytest.raises(DataError, match="vectors: it has no vector of any word of train"):
        tagging.build(_with_vectors(tmp_path / "c", "owl 1 2\nrot 3 4\n"), 2)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ("go O\n\nran O\n", "go O\n", "the only tag of train is 'O'"),
        (HAND["train"], "\n\n".join(reversed(HAND["train"].split("\n\n"))), "train and test hold"),
    ],
)
def test_nothing_to_learn_or_to_test(train: str, test: str, message: str, tmp_path: Path) -> None:
    """Dies if a single tag is trained on, or train is scored as test, in whatever order."""
    parts = {"train": train, "dev": HAND["dev"], "test": test}
    with pytest.raises(DataError, match=message):
        tagging.build(_settings(tmp_path / "c", parts), 2)


def test_dev_that_is_train_or_test_is_told(tmp_path: Path) -> None:
    """Dies if selection on test, or on what was trained on, passes without a word."""
    warnings = {
        name: tagging.build(
            _settings(tmp_path / name, {**HAND, "dev": HAND[name]}), 2
        ).findings.warnings
        for name in ("train", "test")
    }
    assert warnings["train"] == ["100% of the sentences of dev also occur in train"]
    assert warnings["test"][0].startswith("dev and test hold the same sentences")


@pytest.mark.parametrize("vocabulary", ["train", "all"])
def test_a_saved_vocabulary_finds_the_row_of_any_word(vocabulary: str, tmp_path: Path) -> None:
    """Dies if a lookup by the file alone differs from training's, or row 1 is given out."""
    settings = _with_vectors(tmp_path / "c", vocabulary=vocabulary)
    tagged = tagging.build(settings, 2)
    saved = tagged.vocabulary(0)
    known = tagged.split(0).tables["known"]

    def row_of(word: str) -> int:
        named = (saved["vectors"][s] for s in words.spellings(word) if s in saved["vectors"])
        return next(named, saved["words"].get(word.lower(), words.UNKNOWN))

    for form, row in zip(_forms(settings)[1:], tagged.table.row.tolist()[1:], strict=True):
        assert row_of(form) == (row if known[row] else words.UNKNOWN)
    assert row_of("RED") == row_of("red") and row_of("DOG") == row_of("dog") > words.UNKNOWN
    assert row_of("owl") != words.UNKNOWN == row_of("blue") == row_of("unheard")
    assert min([*saved["vectors"].values(), *saved["words"].values()]) > words.UNKNOWN


def test_a_saved_vocabulary_tells_nothing_of_test(tmp_path: Path) -> None:
    """Dies if words of dev or test without a vector, also spelled otherwise, are written."""
    other = {**HAND, "dev": "DOG O\nred S-COL\n", "test": "Fox O\nmoth O\n"}
    first, second = (
        tagging.build(_settings(tmp_path / name, parts), 2).vocabulary(0)
        for name, parts in (("a", HAND), ("b", other))
    )
    assert first == second and sorted(first["words"]) == ["dog", "far9", "fox", "ran", "red"]
