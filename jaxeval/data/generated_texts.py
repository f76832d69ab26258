"""The embedded corpora of targets and of pairs: opinions from a stochastic grammar and a seed.

Targets: every restaurant-like sentence praises exactly one target and runs down exactly one other;
a third target, of which nothing is said, is neutral in two sentences of five. A model that does
not know which target it is asked about can therefore not do better than to name one class for all.

* the order of praise and blame, and the targets that they are of, are drawn independently;
* opinions stand before or behind their target, are negated one time in five, and are also uttered
  about things that are no targets (the weather, a friend);
* targets have one or two words; three in ten of those of dev and test stand nowhere in train;
* one label in fifty is drawn at random.

Pairs: a premise and a hypothesis have an opinion on a dish each. Of the same dish the second is
entailed by a first of the same polarity and contradicted by one of the other; of another dish it
is neutral. Which words are synonyms a model must learn from the pairs, or know from vectors. Most
premises praise, and most are of food: as in pairs that people wrote, a hypothesis by itself tells
something.
"""

from typing import NamedTuple

import numpy as np

from jaxeval.data import splits
from jaxeval.data.generated import Generator, pick
from jaxeval.data.labelled_text import LabelledText, Target


class LabelledPair(NamedTuple):
    """Two sentences in words, what the first is to the second, and the line in a file; 0: none."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str
    line: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """Of both."""
        return self.premise + self.hypothesis


_list = str.split
_NOUNS = _list(
    "food service waiter menu decor pizza pasta soup salad dessert coffee wine bread steak sushi "
    "sauce music chef bar terrace burger fish rice curry tea staff price portion location cellar"
)
_NEW_NOUNS = _list(
    "risotto hostess parking lobster pancake playlist garden bagel kitchen omelette"
)
_KINDS = _list("house lunch dinner evening lobby birthday")
_ADJECTIVES = {
    "positive": _list(
        "great good lovely fresh superb tasty friendly charming delicious perfect excellent "
        "wonderful pleasant generous splendid"
    ),
    "negative": _list(
        "bad awful bland stale rude dull terrible horrible disappointing greasy mediocre "
        "overpriced dreadful soggy unpleasant"
    ),
    "neutral": _list("italian large round usual dark local plain second simple daily"),
}
_VERBS = {
    "positive": _list("loved enjoyed praised recommend adored"),
    "negative": _list("hated disliked regretted avoided returned"),
}
_OPPOSITE = {"positive": "negative", "negative": "positive"}
_DISTRACTORS = (
    "though the weather was {}",
    "and my friend felt {} that day",
    "after a {} day at work",
    "on a {} evening",
)
_OPINIONS = [
    "the {target} was {adjective}",
    "the {target} is {adverb} {adjective}",
    "we {verb} the {target}",
    "they have {adjective} {target}",
    "what {adjective} {target}",
    "{adjective} was the word for the {target}",
    "as for the {target} , we {verb} it",
]
_NEGATED = [
    "the {target} was not {adjective}",
    "nobody would call the {target} {adjective}",
    "the {target} is anything but {adjective}",
]
_NEUTRAL = [
    "we had the {target} as well",
    "the {target} was {adjective}",
    "they bring the {target} after an hour",
    "my sister asked for the {target}",
    "we sat next to the {target}",
]
_CLAUSES = {"positive": _OPINIONS, "negative": _OPINIONS, "neutral": _NEUTRAL}
_ADVERBS = _list("really very quite so rather")
_CONNECTORS = ["but", "while", "and", ", yet", ";", "although"]
_NEGATIONS, _THIRD, _DISTRACTED, _MISLABELLED, _NEW = 0.2, 0.4, 0.5, 0.02, 0.3
LABELS = ("negative", "neutral", "positive")
_THINGS = _list("food pizza soup coffee")
_WORDS = {
    True: _list("great good lovely superb tasty perfect"),
    False: _list("bad awful bland terrible horrible dreadful"),
}
_FRAMES = ("the {thing} was {word}", "they have {word} {thing}", "{word} {thing} again today")
_MOST = 0.75  # of premises
_PAIRS = {"train": 1000, "dev": 200, "test": 300}


def texts(seed: int = 1, sentences: int = 400) -> dict[str, list[LabelledText]]:
    """Train sentences and half as many of dev and of test; equal for equal seeds.

    Words and punctuation are parted by blanks.
    """
    sizes = {"train": sentences, "dev": -(-sentences // 2), "test": -(-sentences // 2)}
    drawn = {}
    for number, (part, size) in enumerate(sizes.items()):
        generator = np.random.default_rng([seed, number])
        new = 0.0 if part == "train" else _NEW
        drawn[part] = [_sentence(generator, new) for _ in range(size)]
    return drawn


def _sentence(generator: Generator, new: float) -> LabelledText:
    """A sentence; of its targets a fraction `new` is of nouns that train lacks."""
    polarities = ["positive", "negative", *(["neutral"] if generator.random() < _THIRD else [])]
    names = _names(generator, len(polarities), new)
    words, targets = list[str](), list[Target]()
    for number, polarity in enumerate(generator.permutation(polarities).tolist()):
        words += pick(generator, _CONNECTORS).split() if number else []
        before, behind = _clause(generator, polarity)
        words += before
        start = len(" ".join([*words, ""]))
        label = pick(generator, LABELS) if generator.random() < _MISLABELLED else polarity
        targets.append(Target(start, start + len(names[number]), label))
        words += [names[number], *behind]
    if generator.random() < _DISTRACTED:
        adjectives = _ADJECTIVES[pick(generator, LABELS)]
        words += pick(generator, _DISTRACTORS).format(pick(generator, adjectives)).split()
    return LabelledText(" ".join([*words, "."]), tuple(targets))


def _names(generator: Generator, count: int, new: float) -> list[str]:
    """Different targets, of one or two words."""
    known = generator.permutation(_NOUNS).tolist()
    fresh = generator.permutation(_NEW_NOUNS).tolist()
    nouns = [(fresh if generator.random() < new else known).pop() for _ in range(count)]
    return [
        f"{pick(generator, _KINDS)} {noun}" if generator.random() < 0.25 else noun
        for noun in nouns
    ]


def _clause(generator: Generator, polarity: str) -> tuple[list[str], list[str]]:
    """The words before and behind a target of which a clause says something."""
    negated = polarity != "neutral" and generator.random() < _NEGATIONS
    said = _OPPOSITE[polarity] if negated else polarity
    choices = _NEGATED if negated else _CLAUSES[polarity]
    before, _, behind = pick(generator, choices).partition("{target}")
    chosen = {
        "adjective": pick(generator, _ADJECTIVES[said]),
        "adverb": pick(generator, _ADVERBS),
        "verb": pick(generator, _VERBS.get(said, _ADVERBS)),
    }
    return before.format(**chosen).split(), behind.format(**chosen).split()


def pairs(seed: int) -> dict[str, list[LabelledPair]]:
    """Train, dev and test pairs; equal for equal seeds."""
    generators = {part: np.random.default_rng([seed, n]) for n, part in enumerate(splits.PARTS)}
    return {part: [_pair(generators[part]) for _ in range(n)] for part, n in _PAIRS.items()}


def _pair(draw: np.random.Generator) -> LabelledPair:
    label = str(draw.choice(["contradiction", "entailment", "neutral"]))
    first = _THINGS[0] if draw.random() < _MOST else str(draw.choice(_THINGS))
    other = str(draw.choice([topic for topic in _THINGS if topic != first]))
    likes = bool(draw.random() < _MOST)
    second = other if label == "neutral" else first
    same = bool(draw.integers(2)) if label == "neutral" else label == "entailment"
    opinions = ((first, likes), (second, likes == same))
    premise, hypothesis = (_opinion(draw, topic, like) for topic, like in opinions)
    return LabelledPair(premise, hypothesis, label)


def _opinion(draw: np.random.Generator, topic: str, likes: bool) -> tuple[str, ...]:
    frame, word = str(draw.choice(_FRAMES)), str(draw.choice(_WORDS[likes]))
    return tuple(frame.format(thing=topic, word=word).split())
