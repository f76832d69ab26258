"""The embedded corpora: never changed, and hard in the ways that they say."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pytest
from seqeval import metrics

from jaxeval.data import generated, generated_texts
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.data.schemes import Sentence

GOLDEN = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
Parts = Mapping[str, Sequence[Sentence]]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return generated.parts(1)


def _pairs(sentences: Sequence[Sentence]) -> list[tuple[str, str]]:
    """Every word, in lower case, with its tag."""
    return [(w.lower(), t) for s in sentences for w, t in zip(s.words, s.tags, strict=True)]


def test_tagged_sentences_never_change(parts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(parts).encode()).hexdigest() == GOLDEN


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


TEXTS = "1e1277ce7499e9a99fa2294b765b00ba2ec9de81b57447db7d71dc4221abf3ab"
Parts = Mapping[str, Sequence[LabelledText]]


@pytest.fixture(scope="module")
def texts() -> Parts:
    return generated_texts.texts()


@pytest.fixture(scope="module")
def many() -> Sequence[LabelledText]:
    """Enough for shares to be near their probabilities."""
    return generated_texts.texts(7, 4000)["train"]


def _targets(texts: Sequence[LabelledText]) -> Iterator[tuple[str, Target]]:
    return ((text.text, target) for text in texts for target in text.targets)


def test_sentences_never_change(texts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(texts).replace(", lines=()", "").encode()).hexdigest() == TEXTS


def test_targets_stand_where_they_are_said_to(texts: Parts) -> None:
    """Dies if an offset is of another word, targets overlap or are out of order, or words are not
    parted by single blanks."""
    for of_part in texts.values():
        for text, target in _targets(of_part):
            before, words, after = (
                text[: target.start],
                text[target[0] : target[1]],
                text[target.end :],
            )
            assert before == "" or before.endswith(" ")
            assert after.startswith(" ") and 1 <= len(words.split()) <= 2
            assert " ".join(text.split()) == text
        for text in of_part:
            ends = [end for target in text.targets for end in target[:2]]
            assert ends == sorted({*ends}) and 2 <= len(text.targets) <= 3


def test_who_does_not_know_the_target_cannot_beat_the_majority(
    many: Sequence[LabelledText],
) -> None:
    """Dies if sentences tell labels: even one who knows all labels of a sentence, but not whose
    they are, hardly does better than to name one class for all."""
    labels = Counter(target.label for _, target in _targets(many))
    blind = sum(max(Counter(t.label for t in text.targets).values()) for text in many)
    majority = max(labels.values()) / labels.total()
    assert 0.4 < majority <= blind / labels.total() < majority + 0.02
    assert labels["neutral"] > 0.12 * labels.total()
