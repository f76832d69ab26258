"""Word tables of several files over one corpus, and words that a file lacks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.data import corpora, generated, pairs

WORDS = ["food", "was", "the", "great", "bad", "they", "have", "soup", "again", "lovely"]


def vectors(path: Path, words: list[str], seed: int, size: int = 3) -> str:
    """A file of drawn vectors."""
    draw = np.random.default_rng(seed).normal(size=(len(words), size))
    lines = (" ".join([w, *(f"{x:.5f}" for x in row)]) for w, row in zip(words, draw, strict=True))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(autouse=True)
def _words_that_train_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = generated.pairs(137)
    parts["test"].append((("yuzu", "was", "qat"), ("ziti",), "neutral"))
    monkeypatch.setattr(generated, "pairs", lambda seed: parts)


def _paired(**settings: Any) -> corpora.WordCorpus:
    return pairs.build(pairs.PairData(**settings, max_widths=1), 8)


def _looked_up(data: Any) -> np.ndarray:
    """The vector of every form, read as a member of the joined corpus reads it."""
    shared, tables = data.corpus.shared, data.split(0).tables
    table = tables["table"]
    rows = shared["row"][table]
    rows = np.where(tables["known"][rows], rows, 1)
    return shared["vectors"][table][rows]


@pytest.mark.parametrize("how", ["own", "mean"])
@pytest.mark.parametrize("vocabulary", ["train", "all"])
def test_a_member_reads_its_own_table(how: Any, vocabulary: Any, tmp_path: Path) -> None:
    """Dies if a padded table gives a word another vector, a word is known by another's file, or
    all read the first table."""
    files = [
        vectors(tmp_path / "a", WORDS, 1),
        vectors(tmp_path / "b", [*WORDS[3:], "pizza", "nowhere", "yuzu"], 2),
        vectors(tmp_path / "c", [*WORDS[:4], "coffee", "ziti", "yuzu"], 3),
    ]
    solo = [_paired(vectors=f, without_vector=how, vocabulary=vocabulary) for f in files]
    joined = corpora.join(solo)
    assert all(data.corpus is joined[0].corpus for data in joined)
    assert how == "own" or len({len(data.table.vectors) for data in solo}) > 1
    for before, after in zip(solo, joined, strict=True):
        known = before.split(0).tables["known"]
        rows = np.where(known[before.table.row], before.table.row, 1)
        np.testing.assert_array_equal(_looked_up(after), before.table.vectors[rows])
        assert after.table.fingerprint == before.table.fingerprint
        trained = rows < before.table.vocabulary
        np.testing.assert_array_equal(after.table.row < after.table.vocabulary, trained)


def test_words_that_the_file_lacks_can_share_a_vector(tmp_path: Path) -> None:
    """Dies if they have rows of their own, or their vector is not the mean of those vectors that
    no word of the corpus has."""
    file = vectors(tmp_path / "a", [*WORDS, "no", "nobody"], 1)
    whole = np.loadtxt(file, usecols=(1, 2, 3))
    shared = _paired(vectors=file, without_vector="mean").table
    np.testing.assert_allclose(shared.vectors[1], whole[-2:].mean(axis=0), rtol=1e-5)
    assert len(shared.vectors) == len(WORDS) + 2
    own = _paired(vectors=file).table
    assert len(own.vectors) > len(shared.vectors)
    vectors(Path(file), [*WORDS, WORDS[0], "no"], 1)
    zeros = _paired(vectors=file, without_vector="zeros")
    assert not zeros.table.vectors[1].any()
    assert ": 1; the first counts" in zeros.findings.warnings[-1]


def test_vectors_of_other_words_are_other_vectors(tmp_path: Path) -> None:
    """Dies if a file whose words were permuted, or with another unknown vector, is the same data;
    or if a file is another one for words that the corpus does not have.
    """
    file = vectors(tmp_path / "a", WORDS, 1)
    turned = vectors(tmp_path / "b", WORDS[::-1], 1)
    more = vectors(tmp_path / "c", [*WORDS, "no"], 1)
    for how in ("own", "zeros", "mean"):
        of_files = [_paired(vectors=f, without_vector=how).table for f in (file, turned)]
        numbers = [np.sort(table.vectors[table.pretrained], axis=None) for table in of_files]
        np.testing.assert_array_equal(*numbers)
        assert of_files[0].fingerprint != of_files[1].fingerprint
    prints = [
        _paired(vectors=file, without_vector=how).table.fingerprint for how in ("mean", "own")
    ]
    lines = Path(more).read_text().splitlines()
    Path(more).write_text("\n".join([*Path(file).read_text().splitlines(), lines[-1]]) + "\n")
    assert _paired(vectors=more, without_vector="mean").table.fingerprint != prints[0]
    assert _paired(vectors=more).table.fingerprint == prints[1]
