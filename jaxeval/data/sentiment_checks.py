"""What is odd about classified texts, and which classes they have."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval.data import checks, splits, text, vectors, word_table
from jaxeval.data.group_splits import Fractions
from jaxeval.data.sentiment_sources import SentimentSource, TextParts
from jaxeval.data.targeted import TargetedSentence
from jaxeval.errors import DataError

Parts = Mapping[str, Sequence[TargetedSentence]]


def classes(
    parts: Parts,
    named: Sequence[str] | None,
    where: str,
    file_of: Callable[[str], Path | None] = lambda part: None,
) -> list[str]:
    """The classes in their order.

    Args:
      parts: the texts.
      named: what the classes are to be; None: the labels of train, sorted.
      where: named in errors.
      file_of: part -> its file, which errors of a row name; None: it has none.

    Raises:
      DataError: train has one class, or nearly as many as rows; a text has a label that is none.
    """
    of_rows = [target.label for sentence in parts["train"] for target in sentence.targets]
    train = {*of_rows}
    if len(train) < 2:
        raise DataError(f"the only label of train is {train.pop()!r}: nothing to learn", where)
    if named is None:
        checks.refuse_own_labels(of_rows, "column 1 is the text, column 2 the label", where)
    labels = sorted(train) if named is None else [*named]
    expected = f"expected those of {'train' if named is None else 'data.labels'}: "
    for part in splits.PARTS:
        for sentence in parts[part]:
            for label in (t.label for t in sentence.targets if t.label not in labels):
                begin = " ".join(sentence.words)[:60]
                found = f"{part}: label {label[:60]!r} of {begin!r}"
                file, values = file_of(part), [label, "".join(sentence.words)]
                raise DataError(
                    f"{found}; {expected}{checks.listed(labels)}",
                    file or where,
                    None if file is None else text.line_with(file, values),
                )
    return labels


def findings(
    parts: Parts,
    targeted: bool,
    where: str,
    read: vectors.Vectors | None,
    vectors_path: str | None,
) -> checks.Findings:
    """Sizes of the parts, how many of their words have a vector, and what is odd about them.

    Raises:
      DataError: test is train, or no word of train has a vector.
    """
    labels = {p: Counter(t.label for s in of for t in s.targets) for p, of in parts.items()}
    facts: dict[str, Any] = {
        "texts": {part: len(of_part) for part, of_part in parts.items()},
        "classes": {part: dict(sorted(counts.items())) for part, counts in labels.items()},
    }
    items = {p: [(s.words, t) for s in of for t in s.targets] for p, of in parts.items()}
    warnings = checks.repeats(items, where, "targets" if targeted else "texts")
    warnings += _contradictions(parts, "targets" if targeted else "texts")
    of_vectors, remarks, few = word_table.covered(parts, read, vectors_path)
    words = {part: {word for s in of_part for word in s.words} for part, of_part in parts.items()}
    warnings += [*few, *checks.normalisation(words)]
    return checks.Findings({**facts, **of_vectors}, remarks, warnings)


def _contradictions(parts: Parts, items: str) -> list[str]:
    """A warning of each part in which equal texts, or targets in them, have different labels."""
    warnings = []
    for part, of_part in parts.items():
        labels: dict[tuple[tuple[str, ...], int, int], set[str]] = {}
        for sentence in of_part:
            for of in sentence.targets:
                labels.setdefault((sentence.words, of.start, of.end), set()).add(of.label)
        apart = {key: found for key, found in labels.items() if len(found) > 1}
        if apart:
            (words, start, end), found = next(iter(apart.items()))
            shown = " ".join(words[start:end] or words)[:60]
            warnings.append(
                f"{part}: {len(apart)} {items} have several labels, such as {shown!r} "
                f"({', '.join(sorted(found))})"
            )
    return warnings


def of_files(source: SentimentSource, read: TextParts, fractions: Fractions) -> checks.Findings:
    """Parts that were drawn, targets that were left out, first lines that may be headers."""
    remarks = [
        f"{part}: the files have none; it is {getattr(fractions, part):.0%} of train's texts, "
        f"drawn by data.source.seed {source.seed}"
        for part in read.drawn
    ]
    remarks += [
        f"{part}: targets dropped: {', '.join(f'{n} {why}' for why, n in counts.items())}"
        for part, counts in read.dropped.items()
    ]
    facts = {"dropped_targets": {part: dict(counts) for part, counts in read.dropped.items()}}
    return checks.Findings(facts if read.dropped else {}, remarks, read.warnings)
