"""The generated sentences with targets: the same for ever, and as hard as they claim."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest

from jaxeval.data import generated_sentiment
from jaxeval.data.labelled_text import LabelledText, Target

GOLDEN = "1e1277ce7499e9a99fa2294b765b00ba2ec9de81b57447db7d71dc4221abf3ab"
Parts = Mapping[str, Sequence[LabelledText]]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return generated_sentiment.parts()


@pytest.fixture(scope="module")
def many() -> Sequence[LabelledText]:
    """Enough for shares to be near their probabilities."""
    return generated_sentiment.parts(7, 4000)["train"]


def _targets(texts: Sequence[LabelledText]) -> Iterator[tuple[str, Target]]:
    return ((text.text, target) for text in texts for target in text.targets)


def test_sentences_never_change(parts: Parts) -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    assert hashlib.sha256(repr(parts).encode()).hexdigest() == GOLDEN


def test_sizes_and_seeds(parts: Parts) -> None:
    """Dies if dev and test are not half as large, share a stream, or the seed is ignored."""
    assert {part: len(texts) for part, texts in parts.items()} == {
        "train": 400,
        "dev": 200,
        "test": 200,
    }
    assert len({*parts["dev"]} & {*parts["test"]}) < 3
    assert generated_sentiment.parts(1, 7)["train"] == [*parts["train"][:7]]
    assert generated_sentiment.parts(2)["train"] != parts["train"]


def test_targets_stand_where_they_are_said_to(parts: Parts) -> None:
    """Dies if an offset is of another word, targets overlap or are out of order, or words are not
    parted by single blanks."""
    for texts in parts.values():
        for text, target in _targets(texts):
            before, words, after = (
                text[: target.start],
                text[target[0] : target[1]],
                text[target.end :],
            )
            assert before == "" or before.endswith(" ")
            assert after.startswith(" ") and 1 <= len(words.split()) <= 2
            assert " ".join(text.split()) == text
        for text in texts:
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


def test_place_and_words_of_a_target_say_nothing(many: Sequence[LabelledText]) -> None:
    """Dies if praise comes first, or some targets are always praised."""
    first = Counter(text.targets[0].label for text in many)
    assert abs(first["positive"] / first["negative"] - 1) < 0.1
    by_words: dict[str, Counter[str]] = {}
    for text, target in _targets(many):
        by_words.setdefault(text[target.start : target.end], Counter())[target.label] += 1
    shares = [n["positive"] / n.total() for n in by_words.values() if n.total() > 150]
    assert len(shares) > 20 and max(shares) - min(shares) < 0.25


def test_the_words_about_a_target_decide(many: Sequence[LabelledText]) -> None:
    """Dies if nothing can be learned, or lists of words alone are enough: the clause of a target
    is counted out with the generator's own lists, negation left aside."""
    lists = {
        polarity: {
            *generated_sentiment._ADJECTIVES[polarity],
            *generated_sentiment._VERBS[polarity],
        }
        for polarity in ("positive", "negative")
    }
    right = total = 0
    border = re.compile(r" (?:but|while|and|, yet|;|although|though|after|on a) ")
    for text, target in _targets(many):
        before = border.split(text[: target.start])[-1]
        clause = {*f"{before} {border.split(text[target.end :])[0]}".split()}
        guess = next((p for p, words in lists.items() if clause & words), "neutral")
        right, total = right + (guess == target.label), total + 1
    assert 0.75 < right / total < 0.9


def test_some_targets_of_test_are_new(parts: Parts) -> None:
    """Dies if train holds all nouns, or test holds none of them."""
    known = {text[t.start : t.end].split()[-1] for text, t in _targets(parts["train"])}
    test = [text[t.start : t.end].split()[-1] for text, t in _targets(parts["test"])]
    assert 0.22 < sum(noun not in known for noun in test) / len(test) < 0.38
