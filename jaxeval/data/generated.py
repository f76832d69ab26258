"""The embedded corpora: sentences from stochastic grammars, drawn from a seed (docs/data.md).

Entities: ordinary words are also names. Opinions: every sentence praises one target and criticises
another, so that without the target no model can do better than naming one class. Pairs: opinions
on a dish each; of the same dish and polarity is entailment, of the other polarity contradiction.
"""

import functools
from collections.abc import Sequence

import numpy as np

from jaxeval.data import splits
from jaxeval.data.conll import Sentence
from jaxeval.data.labelled_text import LabelledText, Target

_Generator = np.random.Generator
_Words = list[tuple[str, str]]  # word, tag
_list = str.split
_MISLABELLED = 0.02

_ONSETS = _list("b d f g k l m n p r s t v z br dr kr st tr th sh")
_VOWELS, _CODAS = _list("a e i o u ai ea ou"), _list("n r l s m t nd rk")
_ENDINGS = {
    "PER": _list("as en is ina son ko"),
    "LOC": _list("ia burg holm ora dale ton"),
    "ORG": _list("ex corp on tek ia son"),
}
_TYPES = [*_ENDINGS]
_AMBIGUOUS = {
    "PER": _list("mark bill rose grace will may frank hope drew summer"),
    "LOC": _list("reading bath nice split mobile bend rugby orange"),
    "ORG": _list("apple target shell visa gap sprint oracle amazon"),
}
_NOUNS = _list(
    "report plan price storm game letter bridge market river song road vote engine harvest "
    "mark bill rose grace will may hope summer reading bath split bend orange apple target "
    "shell visa gap sprint oracle"
)
_EPITHETS = _list("new old long quiet early late strange heavy frank nice mobile fair small red")
_SPEECH = _list("said told warned asked thanked met praised joined")
_ACTIONS = _list("bought sold opened closed backed sued hired moved drew saw followed called")
_TIMES = _list("yesterday today again slowly often there later together")
_DETERMINERS = _list("the a this every her their no")


def sentences(
    seed: int = 1, train: int = 1000, dev: int = 300, test: int = 500
) -> dict[str, list[Sentence]]:
    """Returns train, dev and test sentences with BIO tags of PER, LOC and ORG."""
    known = _lexicon(np.random.default_rng([seed, 0]))
    parts = {}
    for number, (part, size) in enumerate(zip(splits.PARTS, (train, dev, test), strict=True)):
        fresh = _lexicon(np.random.default_rng([seed, 1 + number]))
        generator = np.random.default_rng([seed, 10 + number])
        scene = _Scene(generator, known, fresh, 0.0 if part == "train" else 0.6)
        parts[part] = [_tagged(scene) for _ in range(size)]
    return parts


def _pick(generator: _Generator, choices: Sequence[str]) -> str:
    return choices[int(generator.integers(len(choices)))]


def _lexicon(generator: _Generator) -> dict[str, list[str]]:
    return {kind: [_name(generator, kind) for _ in range(250)] for kind in _ENDINGS}


def _name(generator: _Generator, kind: str) -> str:
    name = ""
    for _ in range(int(generator.integers(1, 3))):
        name += _pick(generator, _ONSETS) + _pick(generator, _VOWELS)
        name += _pick(generator, _CODAS) if generator.random() < 0.4 else ""
    # three names in ten may have the ending of any type
    ending = kind if generator.random() < 0.7 else _pick(generator, _TYPES)
    return name + _pick(generator, _ENDINGS[ending])


class _Scene:
    """Draws the pieces of one sentence; the order of draws is part of the corpus."""

    def __init__(self, generator: _Generator, known: dict, fresh: dict, unseen: float):
        self.generator, self.known, self.fresh, self.unseen = generator, known, fresh, unseen

    def chance(self, probability: float) -> bool:
        return bool(self.generator.random() < probability)

    def word(self, choices: Sequence[str]) -> _Words:
        return [(_pick(self.generator, choices), "O")]

    def plain(self, words: str) -> _Words:
        return [(word, "O") for word in words.split()]

    def name(self, kind: str) -> str:
        if self.chance(0.3):
            return _pick(self.generator, _AMBIGUOUS[kind])
        source = self.fresh if self.chance(self.unseen) else self.known
        return _pick(self.generator, source[kind])

    def maybe(self, probability: float, choices: str) -> list[str]:
        return [_pick(self.generator, choices.split())] if self.chance(probability) else []

    def names(self, kind: str) -> list[str]:
        if kind == "PER":
            title = self.maybe(0.15, "dr mrs")
            family = [self.name("PER")] if self.chance(0.5) else []
            return [*title, self.name("PER"), *family]
        if kind == "LOC":
            return [*self.maybe(0.25, "north new port"), self.name("LOC")]
        if self.chance(0.2):
            return [_pick(self.generator, ["bank", "university"]), "of", self.name("LOC")]
        after = self.maybe(0.35, "group united bank")
        return [self.name("ORG"), *after]

    def entity(self, kind: str = "") -> _Words:
        kind = kind or _pick(self.generator, _TYPES)
        words = self.names(kind)
        if self.chance(_MISLABELLED):
            kind = _pick(self.generator, _TYPES)
        capital = [word if word == "of" else word.capitalize() for word in words]
        tags = [f"B-{kind}", *[f"I-{kind}"] * (len(words) - 1)]
        return list(zip(capital, tags, strict=True))

    def noun_phrase(self) -> _Words:
        adjective = self.word(_EPITHETS) if self.chance(0.5) else []
        return self.word(_DETERMINERS) + adjective + self.word(_NOUNS)

    def clause(self) -> _Words:
        match int(self.generator.integers(6)):
            case 0:
                who = self.entity("PER" if self.chance(0.7) else "ORG") + self.word(_SPEECH)
                words = who + (self.entity() if self.chance(0.4) else self.noun_phrase())
            case 1:
                who = self.entity("ORG" if self.chance(0.7) else "PER")
                goods = self.entity("ORG") if self.chance(0.4) else self.noun_phrase()
                words = who + self.word(_ACTIONS) + goods
                if self.chance(0.3):
                    words += self.plain(f"for {self.generator.integers(2, 3000)}")
            case 2:
                who = self.noun_phrase() if self.chance(0.5) else self.entity()
                words = who + self.plain("moved to") + self.entity("LOC")
            case 5:  # a context that fits every type
                words = self.plain("it was about") + self.entity() + self.plain("and")
                words += self.noun_phrase()
            case _:
                words = self.noun_phrase() + self.word(_ACTIONS) + self.noun_phrase()
                words += self.word(_TIMES)
        return words + (self.plain("in") + self.entity("LOC") if self.chance(0.2) else [])


def _tagged(scene: _Scene) -> Sentence:
    words = scene.clause()
    while scene.chance(0.35) and len(words) < 18:
        words += scene.plain(_pick(scene.generator, ["and", "while", "but", ", because"]))
        words += scene.clause()
    words += scene.plain(".") if scene.chance(0.9) else []
    if scene.chance(1 / 3):
        words = [(word.lower(), tag) for word, tag in words]
    else:
        words[0] = (words[0][0][:1].upper() + words[0][0][1:], words[0][1])
    return Sentence(*zip(*words, strict=True))


_TARGETS = _list(
    "food service waiter menu decor pizza pasta soup salad dessert coffee wine bread steak sushi "
    "sauce music chef bar terrace burger fish rice curry tea staff price portion location cellar"
)
_NEW_TARGETS = _list(
    "risotto hostess parking lobster pancake playlist garden bagel kitchen omelette"
)
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
_DISTRACTORS = (
    *("though the weather was {}", "and my friend felt {} that day"),
    *("after a {} day at work", "on a {} evening"),
)
_OPINIONS = [
    *("the {target} was {adjective}", "the {target} is {adverb} {adjective}"),
    *("we {verb} the {target}", "they have {adjective} {target}", "what {adjective} {target}"),
    *("{adjective} was the word for the {target}", "as for the {target} , we {verb} it"),
]
_NEGATED = [
    *("the {target} was not {adjective}", "nobody would call the {target} {adjective}"),
    "the {target} is anything but {adjective}",
]
_NEUTRAL = [
    *("we had the {target} as well", "the {target} was {adjective}"),
    *("they bring the {target} after an hour", "my sister asked for the {target}"),
    "we sat next to the {target}",
]
_ADVERBS = _list("really very quite so rather")
_CONNECTORS = ["but", "while", "and", ", yet", ";", "although"]
_NEGATIONS, _THIRD, _DISTRACTED, _NEW = 0.2, 0.4, 0.5, 0.3
_LABELS = ("negative", "neutral", "positive")


@functools.lru_cache(maxsize=1)  # configs of one study may lay them out differently
def texts(seed: int = 1, size: int = 400) -> dict[str, list[LabelledText]]:
    """Returns `size` train sentences and half as many of dev and test, as words and blanks."""
    drawn = {}
    for number, part in enumerate(splits.PARTS):
        generator = np.random.default_rng([seed, number])
        count, new = (size, 0.0) if part == "train" else (-(-size // 2), _NEW)
        drawn[part] = [_text(generator, new) for _ in range(count)]
    return drawn


def _text(generator: _Generator, new: float) -> LabelledText:
    polarities = ["positive", "negative", *(["neutral"] if generator.random() < _THIRD else [])]
    names = _target_names(generator, len(polarities), new)
    words, targets = list[str](), list[Target]()
    for number, polarity in enumerate(generator.permutation(polarities).tolist()):
        words += _pick(generator, _CONNECTORS).split() if number else []
        before, behind = _opinion(generator, polarity)
        words += before
        start = len(" ".join([*words, ""]))
        label = _pick(generator, _LABELS) if generator.random() < _MISLABELLED else polarity
        targets.append(Target(start, start + len(names[number]), label))
        words += [names[number], *behind]
    if generator.random() < _DISTRACTED:
        adjectives = _ADJECTIVES[_pick(generator, _LABELS)]
        words += _pick(generator, _DISTRACTORS).format(_pick(generator, adjectives)).split()
    return LabelledText(" ".join([*words, "."]), tuple(targets), (0,) * len(targets))


def _target_names(generator: _Generator, count: int, new: float) -> list[str]:
    known = generator.permutation(_TARGETS).tolist()
    fresh = generator.permutation(_NEW_TARGETS).tolist()
    nouns = [(fresh if generator.random() < new else known).pop() for _ in range(count)]
    return [
        f"{_pick(generator, _list('house lunch dinner evening lobby birthday'))} {noun}"
        if generator.random() < 0.25
        else noun
        for noun in nouns
    ]


def _opinion(generator: _Generator, polarity: str) -> tuple[list[str], list[str]]:
    """Returns the words of a clause before and after its target."""
    negated = polarity != "neutral" and generator.random() < _NEGATIONS
    said = polarity if not negated else "negative" if polarity == "positive" else "positive"
    choices = _NEGATED if negated else _NEUTRAL if polarity == "neutral" else _OPINIONS
    before, _, behind = _pick(generator, choices).partition("{target}")
    chosen = {
        "adjective": _pick(generator, _ADJECTIVES[said]),
        "adverb": _pick(generator, _ADVERBS),
        "verb": _pick(generator, _VERBS.get(said, _ADVERBS)),
    }
    return before.format(**chosen).split(), behind.format(**chosen).split()


_DISHES = _list("food pizza soup coffee")
_WORDS = {
    True: _list("great good lovely superb tasty perfect"),
    False: _list("bad awful bland terrible horrible dreadful"),
}
_FRAMES = ("the {dish} was {word}", "they have {word} {dish}", "{word} {dish} again today")


_Pair = tuple[tuple[str, ...], tuple[str, ...], str]  # premise, hypothesis, label


def pairs(seed: int) -> dict[str, list[_Pair]]:
    """Returns train, dev and test pairs: words of premise and hypothesis, label."""
    drawn = {}
    for number, (part, count) in enumerate(zip(splits.PARTS, (1000, 200, 300), strict=True)):
        generator = np.random.default_rng([seed, number])
        drawn[part] = [_pair(generator) for _ in range(count)]
    return drawn


def _pair(draw: _Generator) -> _Pair:
    label = str(draw.choice(["contradiction", "entailment", "neutral"]))
    first = _DISHES[0] if draw.random() < 0.75 else str(draw.choice(_DISHES))
    other = str(draw.choice([dish for dish in _DISHES if dish != first]))
    likes = bool(draw.random() < 0.75)
    second = other if label == "neutral" else first
    same = bool(draw.integers(2)) if label == "neutral" else label == "entailment"
    premise = _judge(draw, first, likes)
    hypothesis = _judge(draw, second, likes == same)
    return premise, hypothesis, label


def _judge(draw: _Generator, dish: str, like: bool) -> tuple[str, ...]:
    frame = str(draw.choice(_FRAMES))
    word = str(draw.choice(_WORDS[like]))
    return tuple(frame.format(dish=dish, word=word).split())
