"""From columns of text to arrays: a hand-made corpus, laws on drawn ones, mistakes in files."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from jaxeval.data import buckets, checks, seq2seq, splits
from tests.data import hand_seq2seq

LETTERS = strategies.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"])
TEXTS = strategies.text(LETTERS, min_size=1, max_size=12).filter(str.strip)
PAIRS = strategies.lists(strategies.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


def _bucketed(parts: Mapping[str, Sequence[tuple[str, str]]]) -> seq2seq.Pairs:
    """A corpus with a bucket for every length, as if shapes cost nothing."""
    lines = {p: "".join(f"{s}\t{t}\n" for s, t in pairs) for p, pairs in parts.items()}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "choose_widths", lambda lengths, *_: sorted({*lengths}))
        patch.setattr(seq2seq, "_findings", lambda *_: checks.Findings())  # drawn texts are odd
        return seq2seq.build(hand_seq2seq.settings(Path(folder), lines), 2)


def _rows(loaded: seq2seq.Pairs, rows: Sequence[np.ndarray]) -> list[tuple[list[int], list[int]]]:
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
    assert loaded.widths == [(6, 5)]
    bucket = loaded.corpus.buckets[0]
    assert {k: (v.dtype, v.shape) for k, v in bucket.items()} == {
        "source": (np.int32, (4, 6)),
        "target": (np.int32, (4, 5)),
        "source_length": (np.int32, (4,)),
        "target_length": (np.int32, (4,)),
    }


def test_sizes_of_vocabularies(tmp_path: Path) -> None:
    """Dies if features lack specials of their own or count where there are none.

    As published for Albanian: 29 letters and 27 features give 33, 31 and 33 + 31 numbers.
    """
    letters = "abcdefghijklmnopqrstuvwxyz çëé"[:29]
    features = ";".join(f"F{k}" for k in range(27))
    line = f"{letters[:20]}\t{letters[9:]}\t{features}\n"
    parts = {**dict.fromkeys(splits.PARTS, line), "test": line * 2}
    actual = hand_seq2seq.inflection(tmp_path / "c", parts).vocabularies
    assert actual.features is not None and len(actual.features) == 31
    assert (len(actual.source_names), len(actual.target)) == (64, 33)
    apart = hand_seq2seq.inflection(tmp_path / "c", parts, tied=False).vocabularies
    assert (len(apart.source_names), len(apart.source), len(apart.target)) == (24 + 31, 24, 24)
    for column in (None, 0):
        settings = hand_seq2seq.settings(tmp_path / "c", parts, features_column=column)
        none = seq2seq.build(settings, 2).vocabularies
        assert none.features is None and len(none.source_names) == 33


def test_a_tied_symbol_is_known_on_both_sides(tmp_path: Path) -> None:
    """Dies if tying changes nothing, or ties sides that are apart."""
    parts = {
        **hand_seq2seq.HAND,
        "dev": "b \tcd\tN\n",
    }  # train's sources have no space, its targets do
    expected = {True: ([1, 6, 4, 2, 12], [1, 7, 3, 2]), False: ([1, 5, 3, 2, 11], [1, 7, 3, 2])}
    for tied, pair in expected.items():
        loaded = hand_seq2seq.inflection(tmp_path / "c", parts, tied=tied)
        assert _rows(loaded, loaded.split(0).dev) == [pair]


def test_texts_for_people(tmp_path: Path) -> None:
    """Dies if a feature reads like letters, or an unknown symbol or a missing END raises."""
    loaded = hand_seq2seq.inflection(tmp_path / "c")
    split = loaded.split(0)
    sources = [loaded.source_text(s) for part in split[:3] for s, _ in _rows(loaded, part)]
    assert sorted(sources) == ["a [V]", "ab [V] [PST]", "b<unk> [N] [<unk>]", "ca [N]"]
    assert loaded.target_text([5, 4, 6, 2, 7, 0]) == "a b"
    assert loaded.target_text([5, 3, 0]) == "a<unk><pad>"
    padded = [loaded.target_text(row) for b in loaded.corpus.buckets for row in b["target"]]
    assert sorted(padded) == ["<unk>ab", "b a", "ba", "caa"]


def test_phones(tmp_path: Path) -> None:
    """Dies if phones are split into code points, or the unit of sources is that of targets."""
    phones = {"target_symbols": "words", "tied": False}
    loaded = seq2seq.build(hand_seq2seq.settings(tmp_path / "c", hand_seq2seq.PHONES, **phones), 2)
    assert loaded.vocabularies.source.symbols == ("a", "b")
    assert loaded.vocabularies.target.symbols == ("a:", "b", "t͡s")
    targets = [loaded.target_text(t) for _, t in _rows(loaded, loaded.split(0).train)]
    assert sorted(targets) == ["a: t͡s", "t͡s b"]
    words = seq2seq.build(
        hand_seq2seq.settings(tmp_path / "c", hand_seq2seq.PHONES, source_symbols="words"), 2
    )
    assert "ab" in words.vocabularies.source.symbols and "͡" in words.vocabularies.target.symbols


@hypothesis.given(train=PAIRS, dev=PAIRS, test=PAIRS)
@hypothesis.settings(max_examples=30, deadline=None)
def test_every_pair_is_in_one_bucket_of_its_part(
    train: list[tuple[str, str]], dev: list[tuple[str, str]], test: list[tuple[str, str]]
) -> None:
    """Dies if a pair is lost, doubled, cut or moved, or decoding does not undo encoding."""
    parts = {"train": train + dev + test, "dev": dev, "test": test}  # every symbol is known
    loaded = _bucketed(parts)
    split = loaded.split(0)
    for pairs, rows in zip(parts.values(), split[:3], strict=True):
        actual = _rows(loaded, rows)
        read = [(loaded.source_text(s), loaded.target_text(t)) for s, t in actual]
        assert sorted(read) == sorted(pairs)
    for number, bucket in enumerate(loaded.corpus.buckets):
        dealt = np.concatenate([rows[number] for rows in split[:3]])
        assert sorted(dealt) == [*range(len(bucket["source"]))]


@hypothesis.given(pairs=PAIRS)
@hypothesis.settings(max_examples=30, deadline=None)
def test_widths_are_those_of_the_longest_rows(pairs: list[tuple[str, str]]) -> None:
    """Dies if one side alone chooses the bucket, or is padded to the other's width."""
    loaded = _bucketed(dict.fromkeys(splits.PARTS, pairs))
    keys = sorted({max(len(source), len(target)) + 2 for source, target in pairs})
    assert [max(widths) for widths in loaded.widths] == keys
    for bucket, widths in zip(loaded.corpus.buckets, loaded.widths, strict=True):
        assert (bucket["source"].shape[1], bucket["target"].shape[1]) == widths
        assert (bucket["source_length"].max(), bucket["target_length"].max()) == widths


def test_max_widths(tmp_path: Path) -> None:
    """Dies if the setting is not heeded, or the batch size not told."""
    lines = "ab\tc\n" * 50 + f"{'ab' * 30}\tdc\n" * 50
    parts = {"train": lines, "dev": lines, "test": lines.replace("b", "a")}
    widths = [
        seq2seq.build(hand_seq2seq.settings(tmp_path / "c", parts, max_widths=most), batch).widths
        for most, batch in ((12, 50), (1, 50), (12, 300))
    ]
    assert widths == [[(4, 3), (62, 4)], [(62, 4)], [(62, 4)]]


def test_random_splits(tmp_path: Path) -> None:
    """Dies if a split changes how many rows a part has, or its number changes nothing."""
    lines = "".join(f"{'a' * (k % 5 + 1)}\tb{k}\tN\n" for k in range(40))
    parts = {"train": lines, "dev": lines, "test": lines.replace("b", "c")}
    loaded = hand_seq2seq.inflection(tmp_path / "c", parts)
    own, first, second = (loaded.split(number) for number in (0, 1, 2))
    plain = [[r.tolist() for part in s[:3] for r in part] for s in (own, first, second)]
    assert plain[0] != plain[1] != plain[2]
    assert [len(rows) for rows in plain[0]] == [len(rows) for rows in plain[1]]


def test_other_columns_and_separators(tmp_path: Path) -> None:
    """Dies if the columns' order is fixed, or features are always split at semicolons."""
    parts = dict.fromkeys(splits.PARTS, "7\tpos=N,num=PL;x\tform\tlemma\n")
    columns = {"source_column": 4, "target_column": 3, "features_column": 2}
    read = seq2seq.read(
        hand_seq2seq.settings(tmp_path / "c", parts, feature_separator=",", **columns)
    )
    pair = seq2seq.SequencePair(tuple("lemma"), tuple("form"), ("pos=N", "num=PL;x"))
    assert read == {part: [pair] for part in splits.PARTS}


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed source, target, feature, unit or part leaves it, or a rebuild does not."""
    first = hand_seq2seq.inflection(tmp_path / "c").fingerprint
    assert first == hand_seq2seq.inflection(tmp_path / "copy", max_widths=1).fingerprint
    changes = [("bz\t", "bw\t"), ("ba", "bb"), ("N;X", "N;Y"), ("ba\tN;X", "ba\tX;N")]
    parts = [
        {**hand_seq2seq.HAND, "dev": hand_seq2seq.HAND["dev"].replace(*change)}
        for change in changes
    ]
    first_train, last_train = hand_seq2seq.HAND["train"].splitlines(keepends=True)
    parts.append(
        {**hand_seq2seq.HAND, "train": first_train, "dev": last_train + hand_seq2seq.HAND["dev"]}
    )
    prints = [hand_seq2seq.inflection(tmp_path / "c", changed).fingerprint for changed in parts]
    prints.append(hand_seq2seq.inflection(tmp_path / "c", target_symbols="words").fingerprint)
    assert len({first, *prints}) == len(prints) + 1
