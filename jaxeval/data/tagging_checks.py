"""What is odd about tagged sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval.data import checks, vectors, word_table
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

Parts = Mapping[str, Sequence[Sentence]]
_UNSEEN = {  # what becomes of tags that train lacks, by whether a model has rows for them
    False: "they count as errors",
    True: "as the files are split, no model can learn them",
}


def findings(
    parts: Parts,
    where: str,
    pooled: bool,
    read: vectors.Vectors | None,
    vectors_path: str | None,
) -> checks.Findings:
    """What is odd about the parts, and how many of their words have a vector.

    Args:
      where: named in errors.
      pooled: whether the vocabulary is that of all parts.
      read: pretrained vectors.

    Raises:
      DataError: a train set with one tag, or that test repeats; no word of train has a vector.
    """
    tags = {
        part: Counter(t for s in sentences for t in s.tags) for part, sentences in parts.items()
    }
    if len(tags["train"]) < 2:
        only = ", ".join(tags["train"])
        raise DataError(f"the only tag of train is {only!r}: there is nothing to learn", where)
    warnings = checks.repeats(items(parts), where, "sentences")
    facts, remarks, few = word_table.covered(parts, read, vectors_path)
    unseen = checks.unseen(tags)
    facts["unseen_tags"] = checks.counts(unseen)
    warnings += [*few, *(f"tags: {line}; {_UNSEEN[pooled]}" for line in unseen)]
    warnings += checks.normalisation({p: vocabulary(of_part) for p, of_part in parts.items()})
    return checks.Findings(facts, remarks, warnings)


def items(parts: Parts) -> dict[str, list[tuple[Any, ...]]]:
    """Words and tags of each sentence, by part."""
    return {part: [(s.words, s.tags) for s in sentences] for part, sentences in parts.items()}


def vocabulary(sentences: Sequence[Sentence]) -> set[str]:
    """All words of sentences."""
    return {word for sentence in sentences for word in sentence.words}
