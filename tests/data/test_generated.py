"""The embedded corpora never change."""

import hashlib

from jaxeval.data import generated

SENTENCES = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
TEXTS = "a5b1e67e77e27e0b6b2d220bc778d5cf0845a2148926d0a7b8b0ffeb6bf565bb"
PAIRS = "d3420df6de67868ae6e8d96823bab12531c4c54c9c0a8f0247ee55c42d2715ad"


def test_corpora_never_change() -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    sentences, texts, pairs = (
        generated.sentences(1),
        generated.texts(),
        generated.pairs(137),
    )
    plain = {p: [(t.text, [(*x,) for x in t.targets]) for t in own] for p, own in texts.items()}
    assert hashlib.sha256(repr(sentences).encode()).hexdigest() == SENTENCES
    assert hashlib.sha256(repr(plain).encode()).hexdigest() == TEXTS
    assert hashlib.sha256(repr(pairs).encode()).hexdigest() == PAIRS
