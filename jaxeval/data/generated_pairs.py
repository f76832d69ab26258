"""The embedded corpus of pairs: opinions on dishes, from a seed.

A premise and a hypothesis have an opinion on a thing each. Of the same thing the second is
entailed by a first of the same polarity and contradicted by one of the other; of another thing it
is neutral. Which words are synonyms a model must learn from the pairs, or know from vectors. Most
premises praise, and most are of food: as in pairs that people wrote, a hypothesis by itself tells
something.
"""

import numpy as np

from jaxeval.data import splits
from jaxeval.data.labelled_pairs import LabelledPair


def _list(words: str) -> list[str]:
    return words.split()


_THINGS = _list("food pizza soup coffee")
_OPINIONS = {
    True: _list("great good lovely superb tasty perfect"),
    False: _list("bad awful bland terrible horrible dreadful"),
}
_FRAMES = ("the {thing} was {word}", "they have {word} {thing}", "{word} {thing} again today")
_MOST = 0.75  # of premises
_SIZES = {"train": 1000, "dev": 200, "test": 300}


def parts(seed: int) -> dict[str, list[LabelledPair]]:
    """Train, dev and test pairs; equal for equal seeds."""
    generators = {part: np.random.default_rng([seed, n]) for n, part in enumerate(splits.PARTS)}
    return {part: [_pair(generators[part]) for _ in range(n)] for part, n in _SIZES.items()}


def _pair(draw: np.random.Generator) -> LabelledPair:
    label = str(draw.choice(["contradiction", "entailment", "neutral"]))
    first = _THINGS[0] if draw.random() < _MOST else str(draw.choice(_THINGS))
    other = str(draw.choice([topic for topic in _THINGS if topic != first]))
    likes = bool(draw.random() < _MOST)
    second = other if label == "neutral" else first
    same = bool(draw.integers(2)) if label == "neutral" else label == "entailment"
    opinions = ((first, likes), (second, likes == same))
    premise, hypothesis = (_sentence(draw, topic, like) for topic, like in opinions)
    return LabelledPair(premise, hypothesis, label)


def _sentence(draw: np.random.Generator, topic: str, likes: bool) -> tuple[str, ...]:
    frame, word = str(draw.choice(_FRAMES)), str(draw.choice(_OPINIONS[likes]))
    return tuple(frame.format(thing=topic, word=word).split())
