"""From columns of text to arrays: a hand-made corpus, laws on drawn ones, mistakes in files."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from jaxeval.data import buckets, corpora, seq2seq
from jaxeval.errors import DataError
from tests.data import hand_seq2seq

LETTERS = strategies.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"])
TEXTS = strategies.text(LETTERS, min_size=1, max_size=12).filter(str.strip)
PAIRS = strategies.lists(strategies.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


def _bucketed(parts: Mapping[str, Sequence[tuple[str, str]]]) -> seq2seq.SequenceCorpus:
    """A corpus with a bucket for every length, as if shapes cost nothing."""
    lines = {p: "".join(f"{s}\t{t}\n" for s, t in pairs) for p, pairs in parts.items()}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        every = lambda lengths, *_: [buckets.Shape(width) for width in sorted({*lengths})]  # noqa: E731
        patch.setattr(buckets, "choose_shapes", every)
        patch.setattr(corpora, "repeats", lambda *_: [])  # drawn texts may be equal
        return seq2seq.build(hand_seq2seq.settings(Path(folder), lines), 2)


def _rows(
    loaded: seq2seq.SequenceCorpus, rows: Sequence[np.ndarray]
) -> list[tuple[list[int], list[int]]]:
    """Source and target numbers of a part of a split, padding checked and taken off."""
    actual = []
    for bucket, chosen in zip(loaded.corpus.buckets, rows, strict=True):
        for row in chosen:
            pair = []
            for name in ("source", "target"):
                length = bucket[f"{name}_length"][row]
                assert not bucket[name][row, length:].any() and bucket[name][row, :length].all()
                pair.append(bucket[name][row, :length].tolist())
            actual.append((pair[0], pair[1]))
    return actual


def test_numbers_of_a_hand_made_corpus(tmp_path: Path) -> None:
    """Dies if END or a feature has another place, a space is dropped, or dev gives symbols."""
    loaded = hand_seq2seq.inflection(tmp_path / "c", max_widths=1)
    # shared: space 4, a 5, b 6, c 7; from 8 on the features' own: <unk> 11, N 12, PST 13, V 14
    split = loaded.split(0)
    assert _rows(loaded, split.train) == [
        ([1, 5, 6, 2, 14, 13], [1, 6, 4, 5, 2]),
        ([1, 7, 5, 2, 12], [1, 7, 5, 5, 2]),
    ]
    assert _rows(loaded, split.dev) == [([1, 6, 3, 2, 12, 11], [1, 6, 5, 2])]
    assert _rows(loaded, split.test) == [([1, 5, 2, 14], [1, 3, 5, 6, 2])]
    bucket = loaded.corpus.buckets[0]
    assert {k: (v.dtype, v.shape) for k, v in bucket.items()} == {
        "source": (np.int32, (4, 6)),
        "target": (np.int32, (4, 5)),
        "source_length": (np.int32, (4,)),
        "target_length": (np.int32, (4,)),
    }


def test_phones(tmp_path: Path) -> None:
    """Dies if phones are split into code points, or the unit of sources is that of targets."""
    phones = {"target_symbols": "words", "tied": False}
    loaded = seq2seq.build(hand_seq2seq.settings(tmp_path / "c", hand_seq2seq.PHONES, **phones), 2)
    assert loaded.vocabularies.source == ("a", "b")
    assert loaded.vocabularies.target == ("a:", "b", "t͡s")
    targets = [
        loaded.vocabularies.target_text(t, "words")
        for _, t in _rows(loaded, loaded.split(0).train)
    ]
    assert sorted(targets) == ["a: t͡s", "t͡s b"]
    words = seq2seq.build(
        hand_seq2seq.settings(tmp_path / "c", hand_seq2seq.PHONES, source_symbols="words"), 2
    )
    assert "ab" in words.vocabularies.source and "͡" in words.vocabularies.target


@hypothesis.given(train=PAIRS, dev=PAIRS, test=PAIRS)
@hypothesis.settings(max_examples=30)
def test_every_pair_is_in_one_bucket_of_its_part(
    train: list[tuple[str, str]], dev: list[tuple[str, str]], test: list[tuple[str, str]]
) -> None:
    """Dies if a pair is lost, doubled, cut or moved, has another's place in the file, or decoding
    does not undo encoding."""
    train = [*train, *dev, *test, ("ab", "ba")]  # every symbol is known
    parts = {"train": train, "dev": dev, "test": test}
    loaded = _bucketed(parts)
    split = loaded.split(0)
    for pairs, rows in zip(parts.values(), split[:3], strict=True):
        actual = _rows(loaded, rows)
        names = loaded.vocabularies.source_names
        read = [
            ("".join(names[n] for n in s[1:-1]), loaded.vocabularies.target_text(t, "characters"))
            for s, t in actual
        ]
        places = [at[own] for at, own in zip(loaded.positions, rows, strict=True)]
        assert [read[k] for k in np.argsort(np.concatenate(places))] == pairs
    for number, bucket in enumerate(loaded.corpus.buckets):
        dealt = np.concatenate([rows[number] for rows in split[:3]])
        assert sorted(dealt) == [*range(len(bucket["source"]))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ab\tba", "expected a column 3 (data.features_column), found 2, split at tabs"),
        ("ab\t\tV", "column 2 (data.target_column) is empty"),
        ("ab\tba\tV; ;PL", "an empty feature in 'V; ;PL'"),
        ("abcd\tba\tV", "a source of 5 symbols; data.max_length allows 4"),
        ("ab\tabcde\tV", "a target of 5 symbols; data.max_length allows 4"),
    ],
)
def test_mistakes_in_lines_are_named(line: str, message: str, tmp_path: Path) -> None:
    """Dies if a bad line is cut, padded or skipped, or its number counts no blank lines."""
    good = "abc\tabcd\tV\n"
    actual = hand_seq2seq.refused(tmp_path / "c", "dev", f"{good}\n{line}\n", max_length=4)
    assert actual == f"dev:3: {message}"


def test_one_error_names_the_files_of_all_parts(tmp_path: Path) -> None:
    """Dies if the files of another corpus are asked for one after the other."""
    for name in ("my-train", "my-dev", "old-dev"):
        (tmp_path / name).write_text("ab\tba\n")
    settings = seq2seq.Seq2SeqData(path=str(tmp_path), train="t.tsv", dev="d.tsv", test="my-dev")
    with pytest.raises(DataError, match=r"set data\.train=my-train data\.dev=NAME$"):
        seq2seq.build(settings, 2)


def test_symbols_that_train_lacks_are_counted(tmp_path: Path) -> None:
    """Dies if sides are mixed up (dev: source z, feature X; test: target z), or none are told."""
    actual = hand_seq2seq.inflection(tmp_path / "c").findings
    once = {"types": 1, "tokens": 1}
    assert actual.facts["unseen_symbols"] == {
        "source": {"dev": once},
        "target": {"test": once},
        "features": {"dev": once},
    }
    line = "symbols of source: dev has 1 that train lacks, 1 of its 2 (50.00 %): 'z' (1)"
    assert line in actual.remarks and not actual.warnings
    whole = hand_seq2seq.inflection(tmp_path / "c", target_symbols="words").findings.warnings
    said = "are they words (data.target_symbols)?"
    assert whole == [
        f"most symbols in targets of {p} are not in train: {said}" for p in ("dev", "test")
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {**hand_seq2seq.HAND, "test": hand_seq2seq.HAND["train"]},
            r"train and test hold the same pairs \(2\)",
        ),
        (
            {**hand_seq2seq.HAND, "train": "ab\ta\tN\n"},
            "the targets of train have a single symbol",
        ),
    ],
)
def test_nothing_to_learn_or_to_test(parts: dict[str, str], message: str, tmp_path: Path) -> None:
    """Dies if train is scored as test, or one symbol is trained on."""
    with pytest.raises(DataError, match=message):
        hand_seq2seq.inflection(tmp_path / "c", parts)


def test_a_header_is_told(tmp_path: Path) -> None:
    """Dies if the names of columns are trained on in silence, or hidden files count as parts."""
    parts = {name: f"word\tform\ttags\n{content}" for name, content in hand_seq2seq.HAND.items()}
    corpus = hand_seq2seq.inflection(tmp_path / "c", {**parts, "._train": "\0"})
    assert corpus.findings.warnings[-1].endswith(
        "of the pairs: if line 1 is a header, delete it from the files"
    )
