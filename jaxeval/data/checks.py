"""Checks of corpora: labels that train lacks, repeated and contradictory items, Unicode forms."""

import types
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json

_MANY = 0.5  # fraction of repeated items from which on there is a warning
_EXAMPLES = 5  # symbols in a remark
_LABELS = 12  # in a message
_LONGEST = 60  # characters of a label or text in a message
_ROWS = 20  # fewer rows may have a label each


class Findings(NamedTuple):
    """Observations about a corpus, beside its sizes."""

    facts: Mapping[str, Json] = types.MappingProxyType({})  # for plans and records
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()  # probable mistakes

    def joined(self, *others: "Findings") -> "Findings":
        """Returns these findings and others."""
        facts, remarks, warnings = dict(self.facts), [*self.remarks], [*self.warnings]
        for other in others:
            facts |= other.facts
            remarks += other.remarks
            warnings += other.warnings
        return Findings(facts, remarks, warnings)


def classes(
    items: Mapping[str, Sequence[tuple[str, str, int]]],
    named: Sequence[str] | None,
    files: Mapping[str, str | Path],
    columns: str,
) -> list[str]:
    """Returns the classes of a corpus in order.

    Raises DataError: train has one class, or nearly as many as rows; an item has another label.

    Args:
      items: part -> label, text and line (0: unknown) of each item.
      named: the classes; None: the sorted labels of train.
      files, columns: file of each part, and meaning of tab-separated columns, for errors.
    """
    train = Counter(label for label, _, _ in items["train"])
    if len(train) < 2:
        message = f"the only label of train is {next(iter(train))!r}: nothing to learn"
        raise DataError(message, files["train"])
    alone = sum(n == 1 for n in train.values())
    if named is None and train.total() >= _ROWS and alone > train.total() / 2:
        message = f"{len(train)} labels in {train.total()} rows of train"
        raise DataError(f"{message}; of tab-separated lines {columns}", files["train"])
    labels = sorted(train) if named is None else [*named]
    for part, own in items.items():
        for label, text, line in own:
            if label not in labels:
                shown = ", ".join(label[:_LONGEST] for label in labels[:_LABELS])
                more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
                expected = f"those of {'train' if named is None else 'data.labels'}: {shown}{more}"
                found = f"{part}: label {label[:_LONGEST]!r} of {text[:_LONGEST]!r}"
                raise DataError(f"{found}; expected {expected}", files[part], line or None)
    return labels


def repeats(parts: Mapping[str, Sequence[Hashable]], path: str | None, items: str) -> list[str]:
    """Returns warnings about dev and test items that also occur in train, and a dev that is test.

    `items` is a plural noun for messages. Raises DataError: test holds the same items as train.
    """
    counts = {part: Counter(own) for part, own in parts.items()}
    if counts["test"] == counts["train"]:
        raise DataError(
            f"train and test hold the same {items} ({len(parts['test'])}): test scores would be "
            "of what was trained on; expected different files",
            path or "generated corpus",
        )
    warnings = []
    for part in ("dev", "test"):
        again = sum(n for item, n in counts[part].items() if item in counts["train"])
        fraction = again / max(len(parts[part]), 1)
        if fraction >= _MANY:
            warnings.append(f"{fraction:.0%} of the {items} of {part} also occur in train")
    if counts["dev"] == counts["test"]:
        warnings.append(f"dev and test hold the same {items}: models are selected on test")
    return warnings


def unseen(symbols: Mapping[str, Counter[str]]) -> tuple[dict[str, Json], list[str]]:
    """Returns how many symbols (part -> frequency) train lacks, as plain data and as lines."""
    facts, lines = dict[str, Json](), []
    for part, counts in symbols.items():
        lacking = Counter({s: n for s, n in counts.items() if s not in symbols["train"]})
        if not lacking:
            continue
        times, total = lacking.total(), counts.total()
        facts[part] = {"types": len(lacking), "tokens": times}
        most = [f"{symbol!r} ({n})" for symbol, n in lacking.most_common(_EXAMPLES)]
        lines.append(
            f"{part} has {len(lacking)} that train lacks, {times} of its {total} "
            f"({times / total:.2%}): {', '.join(most)}{', ...' * (len(lacking) > _EXAMPLES)}"
        )
    return facts, lines


def several_labels(items: Mapping[str, Iterable[tuple[Hashable, str, str]]]) -> list[str]:
    """Returns warnings about equal items with different labels.

    Args:
      items: part -> key, text for messages and label of each item.
    """
    warnings = []
    for part, own in items.items():
        labels: dict[Hashable, dict[str, str]] = defaultdict(dict)
        for key, text, label in own:
            labels[key][label] = text
        apart = [found for found in labels.values() if len(found) > 1]
        if apart:
            text = next(iter(apart[0].values()))[:_LONGEST]
            example = f"{text!r} ({', '.join(sorted(apart[0]))})"
            warnings.append(f"{part}: {len(apart)} with several labels, such as {example}")
    return warnings


def unicode_forms(texts: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns a warning if some texts (part -> texts) are in NFC and others in NFD."""
    counts: dict[str, Counter[str]] = {"NFC": Counter(), "NFD": Counter()}
    for part, own in texts.items():
        for text in own:
            composed = unicodedata.is_normalized("NFC", text)
            if composed != unicodedata.is_normalized("NFD", text):
                counts["NFC" if composed else "NFD"][part] += 1
    if not all(counts.values()):
        return []
    found = " and ".join(
        f"{form} ({', '.join(f'{part} {n}' for part, n in own.items())})"
        for form, own in counts.items()
    )
    remedy = "bring all files into one Unicode normalisation form (uconv -x any-nfc)"
    return [f"texts are in {found}: equal letters are different symbols; {remedy}"]
