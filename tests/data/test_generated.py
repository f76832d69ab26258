"""The embedded corpora never change."""

import hashlib

from jaxeval.data import generated

SENTENCES = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
TEXTS = "1e1277ce7499e9a99fa2294b765b00ba2ec9de81b57447db7d71dc4221abf3ab"
PAIRS = "be399da7c01cb34830d808702a55239da1ddd107295b719f27546da044cf4256"


def test_corpora_never_change() -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    sentences, texts = repr(generated.sentences(1)), repr(generated.texts())
    assert hashlib.sha256(sentences.encode()).hexdigest() == SENTENCES
    assert hashlib.sha256(texts.replace(", lines=()", "").encode()).hexdigest() == TEXTS
    pairs = repr(generated.pairs(137)).replace(", line=0", "")
    assert hashlib.sha256(pairs.encode()).hexdigest() == PAIRS
