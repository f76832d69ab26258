"""Tag schemes: against seqeval, as inverses of one another, and on illegal sequences."""

import itertools
from collections.abc import Sequence

import hypothesis
import pytest
from hypothesis import strategies
from seqeval import scheme as seqeval_scheme

from jaxeval.data import conll
from jaxeval.data.conll import Sentence
from jaxeval.errors import DataError

CONVERTED: tuple[conll.Scheme, ...] = ("iob1", "bio", "iobes")
SEQEVAL = {"bio": seqeval_scheme.IOB2, "iobes": seqeval_scheme.IOBES}
LABELS = {
    "iob1": ("O", "I-X", "B-X", "I-Y", "B-Y"),
    "bio": ("O", "B-X", "I-X", "B-Y", "I-Y"),
    "iobes": ("O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"),
}


@strategies.composite
def _spans(draw: strategies.DrawFn) -> tuple[list[conll.Entity], int]:
    """Spans side by side or apart, and the sentence's length."""
    spans, last = [], 0
    for _ in range(draw(strategies.integers(0, 6))):
        start = last + draw(strategies.integers(0, 2))
        last = start + draw(strategies.integers(1, 4))
        spans.append(conll.Entity(start, last, draw(strategies.sampled_from(["X", "Y", "X-Y"]))))
    return spans, last + draw(strategies.integers(0, 2))


@pytest.mark.parametrize("scheme", CONVERTED)
@hypothesis.given(case=_spans())
def test_tags_and_spans_are_inverse(
    scheme: conll.Scheme, case: tuple[list[conll.Entity], int]
) -> None:
    """Dies if spans of one type that touch are joined, the last span is lost, or a prefix is not
    what seqeval reads at a span's first, inner, last or only word."""
    spans, length = case
    tags = conll.from_spans(spans, length, scheme)
    assert len(tags) == length
    assert conll._fault(tags, scheme) is None and conll.lenient_spans(tags) == spans
    if scheme in SEQEVAL:
        actual = seqeval_scheme.Entities([list(tags)], SEQEVAL[scheme]).entities[0]
        assert [(e.start, e.end, e.tag) for e in actual] == spans


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob1", "I-X I-X O I-X B-X I-X I-Y"),
        ("bio", "B-X I-X O B-X B-X I-X B-Y"),
        ("iobes", "B-X E-X O S-X B-X E-X S-Y"),
    ],
)
def test_one_sentence_in_every_scheme(scheme: conll.Scheme, tags: str) -> None:
    """Dies if two schemes' rules are swapped (IOB1: B- only after a span of the same type)."""
    spans = [(0, 2, "X"), (3, 4, "X"), (4, 6, "X"), (6, 7, "Y")]
    assert conll.lenient_spans(tags.split()) == spans
    assert conll.from_spans([conll.Entity(*s) for s in spans], 7, scheme) == (*tags.split(),)


@pytest.mark.parametrize(
    ("scheme", "tags", "position"),
    [
        ("bio", "I-X", 0),
        ("bio", "B-X I-Y", 1),
        ("bio", "B-X E-X", 1),
        ("bio", "O -X", 1),
        ("iob1", "I-X S-X", 1),
        ("iobes", "O I-X", 1),
        ("iobes", "B-X O", 1),
        ("iobes", "B-X E-Y", 1),
        ("iobes", "S-X E-X", 1),
    ],
)
def test_illegal_tags_are_refused_where_they_stand(
    scheme: conll.Scheme, tags: str, position: int
) -> None:
    """Dies if an illegal tag is repaired, or another word is blamed."""
    fault = conll._fault(tags.split(), scheme)
    assert fault is not None and fault[0] == position


def test_illegal_tag_in_a_file_names_its_line() -> None:
    """Dies if the line is counted from the sentence's first word instead of looked up."""
    sentences = [Sentence(("a",), ("O",), (1,)), Sentence(("b", "c"), ("O", "I-X"), (4, 7))]
    with pytest.raises(DataError, match=r"^corpus:7: tag 'I-X' cannot follow 'O'"):
        conll.convert(sentences, "bio", "iobes", "corpus")


def _is_legal(tags: Sequence[str], scheme: conll.Scheme) -> bool:
    spans = conll.lenient_spans(tags)
    return conll.from_spans(spans, len(tags), scheme) == (*tags,)


@pytest.mark.parametrize("scheme", CONVERTED)
def test_exactly_the_legal_sequences_pass(scheme: conll.Scheme) -> None:
    """Dies if a move is judged wrongly: all sequences up to length 3 are tried."""
    for length in (1, 2, 3):
        for tags in itertools.product(LABELS[scheme], repeat=length):
            assert _is_legal(tags, scheme) == (conll._fault(tags, scheme) is None)
