"""The generated corpus: the same sentences for ever, legal tags, and as hard as it claims."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pytest
from seqeval import metrics

from jaxeval.data import generated, schemes
from jaxeval.data.sentences import Sentence

GOLDEN = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
Parts = Mapping[str, Sequence[Sentence]]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return generated.parts(1)


def _pairs(sentences: Sequence[Sentence]) -> list[tuple[str, str]]:
    """Every word, in lower case, with its tag."""
    return [(w.lower(), t) for s in sentences for w, t in zip(s.words, s.tags, strict=True)]


def test_sentences_never_change(parts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(parts).encode()).hexdigest() == GOLDEN


def test_sizes(parts: Parts) -> None:
    """Dies if the sizes in the docs are not the default ones, or an argument is dropped."""
    assert {p: len(s) for p, s in parts.items()} == {"train": 1000, "dev": 300, "test": 500}
    small = generated.parts(1, train=5, dev=3, test=2)
    assert {part: len(s) for part, s in small.items()} == {"train": 5, "dev": 3, "test": 2}
    assert all(small[part] == parts[part][: len(small[part])] for part in small)


def test_seeds_and_parts_differ(parts: Parts) -> None:
    """Dies if the seed is ignored, or two parts are drawn from one stream."""
    other = generated.parts(2)
    for part in parts:
        assert len({*parts[part]} & {*other[part]}) < 5
    shared = {s.words for s in parts["train"]} & {s.words for s in parts["test"]}
    assert len(shared) < 5


def test_tags_are_legal_bio_of_three_types(parts: Parts) -> None:
    """Dies if a span's first tag is I-, or a type never occurs."""
    spans = [sp for part in parts.values() for s in part for sp in schemes.to_spans(s.tags, "bio")]
    shares = Counter(span.kind for span in spans)
    assert {*shares} == {"PER", "LOC", "ORG"}
    assert min(shares.values()) > len(spans) / 6


def test_words_can_stand_in_columns(parts: Parts) -> None:
    """Dies if a word holds a blank, is empty, or words and tags differ in number."""
    for sentence in (s for part in parts.values() for s in part):
        assert len(sentence.words) == len(sentence.tags) > 0
        assert all(word and len(word.split()) == 1 for word in sentence.words)


def test_names_of_the_test_part_are_new(parts: Parts) -> None:
    """Dies if test draws its names from train's lexicon, or all of them from its own."""
    train = {word for word, _ in _pairs(parts["train"])}
    names = [word for word, tag in _pairs(parts["test"]) if tag != "O"]
    assert 0.2 < sum(name not in train for name in names) / len(names) < 0.5


def test_dev_and_test_draw_from_lexicons_of_their_own(parts: Parts) -> None:
    """Dies if dev and test share a lexicon: tuning on dev would then show test's names."""
    train = {word for word, _ in _pairs(parts["train"])}
    dev, test = (
        {word for word, tag in _pairs(parts[part]) if tag != "O"} - train
        for part in ("dev", "test")
    )
    assert len(dev) > 30 and len(dev & test) < len(dev) / 20


def test_many_entities_have_several_words(parts: Parts) -> None:
    """Dies if entities are single words or hardly ever are."""
    spans = [span for s in parts["test"] for span in schemes.to_spans(s.tags, "bio")]
    assert 0.3 < sum(span.end - span.start > 1 for span in spans) / len(spans) < 0.5


def test_names_are_also_ordinary_words(parts: Parts) -> None:
    """Dies if the ambiguous words are dropped from the names or from the ordinary words."""
    ordinary = {word for word, tag in _pairs(parts["train"]) if tag == "O"}
    names = [word for word, tag in _pairs(parts["test"]) if tag != "O"]
    assert 0.15 < sum(name in ordinary for name in names) / len(names) < 0.35


def test_capitals_do_not_give_names_away(parts: Parts) -> None:
    """Dies if no sentence, or every one, is in lower case."""
    lower = [all(word == word.lower() for word in s.words) for s in parts["train"]]
    named = [any(tag != "O" for tag in s.tags) for s in parts["train"]]
    share = sum(low and name for low, name in zip(lower, named, strict=True)) / sum(named)
    assert 0.28 < share < 0.39


def test_each_words_most_frequent_tag_is_not_enough(parts: Parts) -> None:
    """Dies if context does not matter (then this is far higher), or nothing can be learned."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in parts["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            counts[word][tag] += 1
    best = {word: min(seen, key=lambda t: (-seen[t], t)) for word, seen in counts.items()}
    guesses = [[best.get(word, "O") for word in s.words] for s in parts["test"]]
    truth = [list(s.tags) for s in parts["test"]]
    assert 0.3 < metrics.f1_score(truth, guesses) < 0.75
