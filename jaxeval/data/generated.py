"""The embedded corpus: sentences with entities from a stochastic grammar, drawn from a seed.

It ships with jaxeval so that everything runs without a download, and it is made hard in the ways
that real entity recognition is (docs/data.md):

* ambiguous words: many ordinary words (mark, bill, rose ...) are also names; context decides;
* unseen names: names are built from syllables; dev and test draw most of theirs from a lexicon of
  their own, so that spelling (prefixes and suffixes hint at the type) and context must do;
* several words: "bank of kelmora", "north dunhollow", "dr . mark teldas";
* no help from capitals: a third of the sentences is in lower case, ordinary words open sentences;
* noise that nothing can predict: contexts that fit two types, and one name in fifty mislabelled.
"""

from collections.abc import Sequence

import numpy as np

from jaxeval.data.schemes import Sentence

Generator = np.random.Generator
_list = str.split
_ONSETS = _list("b d f g k l m n p r s t v z br dr kr st tr th sh")
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
_CODAS = ["n", "r", "l", "s", "m", "t", "nd", "rk"]
_ENDINGS = {
    "PER": ["as", "en", "is", "ina", "son", "ko"],
    "LOC": ["ia", "burg", "holm", "ora", "dale", "ton"],
    "ORG": ["ex", "corp", "on", "tek", "ia", "son"],
}
_KINDS = list(_ENDINGS)
_AMBIGUOUS = {
    "PER": ["mark", "bill", "rose", "grace", "will", "may", "frank", "hope", "drew", "summer"],
    "LOC": ["reading", "bath", "nice", "split", "mobile", "bend", "rugby", "orange"],
    "ORG": ["apple", "target", "shell", "visa", "gap", "sprint", "oracle", "amazon"],
}
_NOUNS = _list(
    "report plan price storm game letter bridge market river song road vote engine harvest "
    "mark bill rose grace will may hope summer reading bath split bend orange apple target "
    "shell visa gap sprint oracle"
)
_ADJECTIVES = _list("new old long quiet early late strange heavy frank nice mobile fair small red")
_SPEECH = ["said", "told", "warned", "asked", "thanked", "met", "praised", "joined"]
_ACTIONS = _list("bought sold opened closed backed sued hired moved drew saw followed called")
_ADVERBS = ["yesterday", "today", "again", "slowly", "often", "there", "later", "together"]
_DETERMINERS = ["the", "a", "this", "every", "her", "their", "no"]
_MISLABELLED = 0.02
_LOWER_CASED = 1 / 3
_NAMES = 250  # of each type in a lexicon

_Words = list[tuple[str, str]]  # word, tag


def parts(
    seed: int = 1, train: int = 1000, dev: int = 300, test: int = 500
) -> dict[str, list[Sentence]]:
    """Train, dev and test sentences with BIO tags of PER, LOC and ORG; equal for equal seeds."""
    sizes = {"train": train, "dev": dev, "test": test}
    return {part: generate(size, seed, part) for part, size in sizes.items()}


def generate(sentences: int, seed: int, part: str) -> list[Sentence]:
    """Sentences of one part ("train", "dev" or "test")."""
    number = ["train", "dev", "test"].index(part)
    known = _lexicon(np.random.default_rng([seed, 0]))
    fresh = _lexicon(np.random.default_rng([seed, 1 + number]))
    generator = np.random.default_rng([seed, 10 + number])
    unseen = 0.0 if part == "train" else 0.6
    scene = _Scene(generator, known, fresh, unseen)
    return [_sentence(scene) for _ in range(sentences)]


def pick(generator: Generator, choices: Sequence[str]) -> str:
    """One of the choices, by one draw."""
    return choices[int(generator.integers(len(choices)))]


def _lexicon(generator: Generator) -> dict[str, list[str]]:
    """Names by type, of one or two syllables and an ending that hints at the type."""
    return {kind: [_name(generator, kind) for _ in range(_NAMES)] for kind in _ENDINGS}


def _name(generator: Generator, kind: str) -> str:
    name = ""
    for _ in range(int(generator.integers(1, 3))):
        name += pick(generator, _ONSETS) + pick(generator, _VOWELS)
        name += pick(generator, _CODAS) if generator.random() < 0.4 else ""
    # three names in ten end as those of any type do
    ending = kind if generator.random() < 0.7 else pick(generator, _KINDS)
    return name + pick(generator, _ENDINGS[ending])


class _Scene:
    """Draws the pieces of one sentence; the order of draws is part of the corpus."""

    def __init__(self, generator: Generator, known: dict, fresh: dict, unseen: float):
        self.generator, self.known, self.fresh, self.unseen = generator, known, fresh, unseen

    def chance(self, probability: float) -> bool:
        return bool(self.generator.random() < probability)

    def word(self, choices: Sequence[str]) -> _Words:
        return [(pick(self.generator, choices), "O")]

    def plain(self, words: str) -> _Words:
        return [(word, "O") for word in words.split()]

    def name(self, kind: str) -> str:
        if self.chance(0.3):
            return pick(self.generator, _AMBIGUOUS[kind])
        source = self.fresh if self.chance(self.unseen) else self.known
        return pick(self.generator, source[kind])

    def maybe(self, probability: float, choices: Sequence[str]) -> list[str]:
        return [pick(self.generator, choices)] if self.chance(probability) else []

    def words_of(self, kind: str) -> list[str]:
        """One to four words of an entity."""
        if kind == "PER":
            title = self.maybe(0.15, ["dr", "mrs"])
            family = [self.name("PER")] if self.chance(0.5) else []
            return [*title, self.name("PER"), *family]
        if kind == "LOC":
            return [*self.maybe(0.25, ["north", "new", "port"]), self.name("LOC")]
        if self.chance(0.2):
            return [pick(self.generator, ["bank", "university"]), "of", self.name("LOC")]
        after = self.maybe(0.35, ["group", "united", "bank"])
        return [self.name("ORG"), *after]

    def entity(self, kind: str = "") -> _Words:
        """A name of a type, or of any, with its tags; the tags are wrong once in fifty."""
        kind = kind or pick(self.generator, _KINDS)
        words = self.words_of(kind)
        if self.chance(_MISLABELLED):
            kind = pick(self.generator, _KINDS)
        capital = [word if word == "of" else word.capitalize() for word in words]
        tags = [f"B-{kind}", *[f"I-{kind}"] * (len(words) - 1)]
        return list(zip(capital, tags, strict=True))

    def noun_phrase(self) -> _Words:
        adjective = self.word(_ADJECTIVES) if self.chance(0.5) else []
        return self.word(_DETERMINERS) + adjective + self.word(_NOUNS)


def _speech(s: _Scene) -> _Words:
    who = s.entity("PER" if s.chance(0.7) else "ORG")
    return who + s.word(_SPEECH) + (s.entity() if s.chance(0.4) else s.noun_phrase())


def _trade(s: _Scene) -> _Words:
    who = s.entity("ORG" if s.chance(0.7) else "PER")
    goods = s.entity("ORG") if s.chance(0.4) else s.noun_phrase()
    action = s.word(_ACTIONS)
    price = s.plain(f"for {s.generator.integers(2, 3000)}") if s.chance(0.3) else []
    return who + action + goods + price


def _journey(s: _Scene) -> _Words:
    who = s.noun_phrase() if s.chance(0.5) else s.entity()
    return who + s.plain("moved to") + s.entity("LOC")


def _ordinary(s: _Scene) -> _Words:
    return s.noun_phrase() + s.word(_ACTIONS) + s.noun_phrase() + s.word(_ADVERBS)


def _vague(s: _Scene) -> _Words:
    """A context that fits every type."""
    return s.plain("it was about") + s.entity() + s.plain("and") + s.noun_phrase()


_CLAUSES = (_speech, _trade, _journey, _ordinary, _ordinary, _vague)


def _clause(scene: _Scene) -> _Words:
    clause = _CLAUSES[int(scene.generator.integers(len(_CLAUSES)))](scene)
    return clause + (scene.plain("in") + scene.entity("LOC") if scene.chance(0.2) else [])


def _sentence(scene: _Scene) -> Sentence:
    words = _clause(scene)
    while scene.chance(0.35) and len(words) < 18:
        words += scene.plain(pick(scene.generator, ["and", "while", "but", ", because"]))
        words += _clause(scene)
    words += scene.plain(".") if scene.chance(0.9) else []
    if scene.chance(_LOWER_CASED):
        words = [(word.lower(), tag) for word, tag in words]
    else:
        words[0] = (words[0][0][:1].upper() + words[0][0][1:], words[0][1])
    return Sentence(*zip(*words, strict=True))
