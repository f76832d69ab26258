"""Tagged sentences: where they come from, and the arrays that they become."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import corpora, splits, tagging, words
from jaxeval.data.conll import Sentence
from jaxeval.errors import DataError
from tests.data import hand_tagging

CONLL = "Ann NNP B-PER\nLee NNP I-PER\nruns VBZ O\n"
CONLLU = "1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tEntity=(1-event-x)\n"


def _folder(folder: Path, content: str, end: str = ".txt") -> tagging.SentenceSource:
    for part in ("train", "dev", "test"):
        (folder / f"my_{part}{end}").write_text(content, encoding="utf-8")
    return tagging.SentenceSource(path=str(folder))


def _tags(source: tagging.SentenceSource) -> tuple[str, ...]:
    return tagging.read(tagging.TaggingData(source=source))[0]["train"][0].tags


def test_entity_tags_are_converted(tmp_path: Path) -> None:
    """Dies if the scheme asked for is ignored."""
    source = _folder(tmp_path, CONLL)
    assert _tags(source) == ("B-PER", "E-PER", "O")
    assert tagging.read(tagging.TaggingData(source=source, scheme="bio"))[0]["dev"][0].tags == (
        "B-PER",
        "I-PER",
        "O",
    )
    assert tagging.read(tagging.TaggingData(source=source, scheme="iobes"))[1] != "none"


@pytest.mark.parametrize("ending", [".conllu", ".CONLLU"])
def test_conllu_by_its_name_or_by_the_config(tmp_path: Path, ending: str) -> None:
    """Dies if *.conllu is read as columns, or `tag` is ignored."""
    path = _folder(tmp_path, CONLLU, ending).path
    assert _tags(tagging.SentenceSource(path=path)) == ("VERB",)
    assert _tags(tagging.SentenceSource(path=path, tag="entity")) == ("S-event",)
    (tmp_path / "plain").mkdir()
    plain = _folder(tmp_path / "plain", CONLLU).path
    assert _tags(tagging.SentenceSource(path=plain, format="conllu", tag="xpos")) == ("VB",)


@pytest.mark.parametrize("last", ["foo o", "foo U-PER", "foo B", "foo I-ORG"])
def test_an_odd_tag_among_entities_is_refused(last: str, tmp_path: Path) -> None:
    """Dies if one tag turns the F1 of entities into accuracy, IOB1 is repaired in silence, or the
    message does not name file, line and remedy."""
    source = _folder(tmp_path, f"Ann B-PER\nLee I-PER\nruns O\n{last}\n")
    message = rf"my_train\.txt:4: tag '{last[4:]}' .*; set data\.source\.scheme: iob1, .*none"
    with pytest.raises(DataError, match=message):
        _tags(source)
    if "-ORG" in last:
        iob1 = tagging.SentenceSource(path=source.path, scheme="iob1")
        with pytest.raises(DataError, match=":1: tag 'B-PER' cannot follow nothing"):
            _tags(iob1)
        _folder(tmp_path, "runs O\nAnn I-PER\n")
        assert _tags(iob1) == ("O", "S-PER")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("Zoë sees Ann in Rome .\n", ":1: every sentence is a line of 6 columns"),
        ("\nZoë sees Ann\n\nAnn met Bo\n", ":2: every sentence is a line of 3 columns"),
        ("Zoë sees Ann .\nShe left\n", ":2: expected 4 columns as in the lines before, found 2"),
    ],
)
def test_running_text_is_refused(content: str, place: str, tmp_path: Path) -> None:
    """Dies if a sentence a line is taken for a word in columns, or the format is not named."""
    file = tmp_path / "plain"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        tagging.read_untagged(tagging.SentenceSource(), file)
    assert f"plain{place}" in str(error.value) and "one word per line" in str(error.value)


@pytest.mark.parametrize("number", [0, 1])
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
    settings: tagging.TaggingData, tagged: corpora.WordCorpus, rows: Sequence[np.ndarray]
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
    tagged, parts = tagging.build(settings, 8), tagging.read(settings)[0]
    split = tagged.split(0)
    assert len(tagged.corpus.buckets) > 1
    for part, rows in zip(splits.PARTS, (split.train, split.dev, split.test), strict=True):
        assert sorted(_sentences(settings, tagged, rows)) == sorted(parts[part])
    widths = [bucket["forms"].shape[1] for bucket in tagged.corpus.buckets]
    assert widths == tagged.facts["padded_widths"]


def test_shared_arrays_describe_the_forms(tmp_path: Path) -> None:
    """Dies if characters or casing are of another form, or padding has a casing."""
    settings = hand_tagging.settings(tmp_path / "c", max_characters=3, vocabulary="all")
    tagged, forms = tagging.build(settings, 2), hand_tagging.forms(settings)
    numbers = {c: n for n, c in enumerate(sorted({*"".join(forms)}), 2)}
    shared = tagged.corpus.shared
    assert len(tagged.saved["characters"]) + 2 == shared["characters"].max() + 1
    for number, form in enumerate(forms):
        spelt = [numbers[character] for character in form[:3]]
        assert shared["characters"][number].tolist() == spelt + [0] * (3 - len(spelt))
        assert shared["casing"][number] == (words._casing(form) if form else 0)


def test_labels(tmp_path: Path) -> None:
    """Dies if O is not entities' first label, or labels are not of the scheme used inside."""
    sentences = "Ann B-PER\nLee I-PER\n\nran O\n"
    parts = {"train": sentences, "dev": sentences, "test": "ran O\n"}
    tagged = tagging.build(hand_tagging.settings(tmp_path / "c", parts), 2)
    assert tagged.saved["scheme"] == "bio" and tagged.labels == ["O", "B-PER", "E-PER"]
    bio = tagging.build(hand_tagging.settings(tmp_path / "c", parts, scheme="bio"), 2)
    assert bio.labels == ["O", "B-PER", "I-PER"]


def test_fewer_train_sentences_and_zero_digits(tmp_path: Path) -> None:
    """Dies if dev is cut too, the last sentences are kept, or digits stay in any part."""
    cut = tagging.read(hand_tagging.settings(tmp_path / "c", train_sentences=1))[0]
    assert [s.words for s in cut["train"]] == [("Red", "dog")] and len(cut["dev"]) == 1
    read = tagging.read(hand_tagging.settings(tmp_path / "c", zero_digits=True))[0]
    assert read["train"][1].words[-1] == "far0" and read["train"][1].tags[0] == "S-COL"


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed word, tag or scheme leaves it, or the vocabulary changes it."""
    dev = hand_tagging.HAND["dev"]
    changed = [dev, dev.replace("dog", "cat"), dev.replace("dog O", "dog S-COL")]
    folders = [{**hand_tagging.HAND, "dev": content} for content in changed]
    settings = [hand_tagging.settings(tmp_path / str(k), parts) for k, parts in enumerate(folders)]
    settings.append(hand_tagging.settings(tmp_path / "bio", scheme="bio"))
    prints = [tagging.build(each, 2).fingerprint for each in settings]
    assert len({*prints}) == len(prints)
    pooled = hand_tagging.settings(tmp_path / "0", folders[0], vocabulary="all")
    assert tagging.build(pooled, 4).fingerprint == prints[0]


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


def test_a_part_without_entities_is_told(tmp_path: Path) -> None:
    """Dies if hidden tags, O for every word, read like a model that learned nothing."""
    (actual,) = tagging.build(hand_tagging.settings(tmp_path / "c"), 2).findings.warnings
    assert actual == "test holds no entity: its f1 is 0 for any model; are its tags hidden?"
