"""The embedded corpora: never changed, and hard in the ways that they say."""

import hashlib
from collections.abc import Mapping, Sequence

import pytest

from jaxeval.data import generated, generated_texts
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.schemes import Sentence

GOLDEN = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
Parts = Mapping[str, Sequence[Sentence]]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return generated.parts(1)


def test_tagged_sentences_never_change(parts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(parts).encode()).hexdigest() == GOLDEN


TEXTS = "1e1277ce7499e9a99fa2294b765b00ba2ec9de81b57447db7d71dc4221abf3ab"
Parts = Mapping[str, Sequence[LabelledText]]


@pytest.fixture(scope="module")
def texts() -> Parts:
    return generated_texts.texts()


def test_sentences_never_change(texts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(texts).replace(", lines=()", "").encode()).hexdigest() == TEXTS
