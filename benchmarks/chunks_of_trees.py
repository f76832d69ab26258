"""Base phrases of a UD treebank in columns, for the task `chunk` where CoNLL-2000 is not at hand.

    python benchmarks/chunks_of_trees.py en_gum --out chunks     # train.txt, dev.txt, test.txt

A word belongs to the phrase of its head where its relation is one that stands inside base phrases
(determiners, adjectives, compounds, possessors, auxiliaries, degree adverbs), and heads a phrase
otherwise. A run of neighbours with one head is a phrase, whose type is its head's tag: NP, VP,
PP, ADJP, ADVP, SBAR. The phrases resemble CoNLL-2000's, which were made of the Penn Treebank's
constituents; scores on one say nothing of scores on the other.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

_PHRASES = {
    **dict.fromkeys(("NOUN", "PROPN", "PRON", "NUM", "DET", "SYM", "X"), "NP"),
    **{"VERB": "VP", "AUX": "VP", "ADP": "PP", "SCONJ": "SBAR"},
    **{"ADJ": "ADJP", "ADV": "ADVP", "PART": "ADVP"},
}
_NOMINAL = {"NOUN", "PROPN", "PRON", "NUM", "SYM", "X"}
_OF_NOMINAL = {"det", "amod", "nummod", "compound", "nmod:poss", "flat", "det:predet"}
_OF_VERB = {"aux", "aux:pass"}
_PARTICLES = {"mark", "advmod"}  # of verbs: "to go", "not go"
_ANY = {"fixed", "goeswith"}


class Word(list[str]):
    """The ten columns of a word."""

    tag = property(lambda self: self[3])
    head = property(lambda self: int(self[6]) - 1)
    relation = property(lambda self: self[7])


def sentences(file: Path) -> Iterator[list[Word]]:
    """The words of each sentence, without ranges and empty nodes."""
    for sentence in file.read_text(encoding="utf-8").split("\n\n"):
        columns = (line.split("\t") for line in sentence.splitlines() if line[:1].isdecimal())
        words = [Word(row) for row in columns if row[0].isdecimal()]
        if words:
            yield words


def tags(words: Sequence[Word]) -> list[str]:
    """BIO tags of base phrases."""
    heads = [_phrase_head(words, position) for position in range(len(words))]
    tags = []
    for head, places in itertools.groupby(range(len(words)), heads.__getitem__):
        phrase = _PHRASES.get(words[head].tag)
        tags += [f"{'IB'[n == 0]}-{phrase}" if phrase else "O" for n, _ in enumerate(places)]
    return tags


def _phrase_head(words: Sequence[Word], position: int) -> int:
    """The place of the word that heads a word's base phrase."""
    while _inside(words, position):
        position = words[position].head
    return position


def _inside(words: Sequence[Word], position: int) -> bool:
    """Whether a word belongs to the base phrase of its head."""
    word = words[position]
    if word.head < 0:
        return False
    head = words[word.head]
    if word.relation in _ANY:
        return True
    if head.tag in _NOMINAL:
        possessive = word.relation == "case" and head.relation == "nmod:poss"
        before = word.relation in _OF_NOMINAL and position < word.head
        return possessive or before or word.relation == "flat"
    if head.tag == "VERB":
        particle = word.tag == "PART" and word.relation in _PARTICLES
        return (particle or word.relation in _OF_VERB) and position < word.head
    return head.tag in {"ADJ", "ADV"} and word.relation == "advmod" and position < word.head


def main() -> None:
    """Writes a file a part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", type=Path, help="folder of *train*, *dev*, *test* .conllu")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        (file,) = args.treebank.glob(f"*{part}*.conllu")
        with (args.out / f"{part}.txt").open("w", encoding="utf-8") as out:
            for words in sentences(file):
                rows = zip(words, tags(words), strict=True)
                out.writelines(f"{word[1].replace(' ', '_')}\t{tag}\n" for word, tag in rows)
                out.write("\n")


if __name__ == "__main__":
    main()
