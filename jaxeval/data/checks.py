"""What is odd about a corpus: parts that repeat one another, labels that train lacks."""

import types
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json

_MANY = 0.5  # from this fraction of repeated items on a warning
_EXAMPLES = 5  # symbols named in a warning
_LABELS, _LONGEST = 12, 40  # in a message: how many labels, how much of each
_ROWS = 20  # fewer may have a label each
_SHOWN = 60  # characters of a line in a message


class Findings(NamedTuple):
    """What is known of a corpus beside its sizes."""

    facts: Mapping[str, Json] = types.MappingProxyType({})  # plain data, for plans and records
    remarks: Sequence[str] = ()  # what people should see of it, a line each
    warnings: Sequence[str] = ()  # likewise, of what is probably a mistake

    def joined(self, *others: "Findings") -> "Findings":
        """These, then others."""
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
    """The classes of a corpus, in their order.

    Raises DataError: train has one class, or nearly as many as rows; an item has a label that is
    none.

    Args:
      items: part -> its labels, of which text each, and the line where it stands (0: unknown).
      named: what the classes are to be; None: the labels of train, sorted.
      files: part -> where it stands, for errors.
      columns: what the columns of tab-separated files are, for errors.
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
    for part, of_part in items.items():
        for label, text, line in of_part:
            if label not in labels:
                shown = ", ".join(label[:_LONGEST] for label in labels[:_LABELS])
                more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
                expected = f"those of {'train' if named is None else 'data.labels'}: {shown}{more}"
                found = f"{part}: label {label[:_SHOWN]!r} of {text[:_SHOWN]!r}"
                raise DataError(f"{found}; expected {expected}", files[part], line or None)
    return labels


def repeats(parts: Mapping[str, Sequence[Hashable]], path: str, items: str) -> list[str]:
    """Warnings about dev and test items that also occur in train, and a dev that is test.

    Raises DataError: test holds the same items as train.

    Args:
      path, items: the corpus, and what its items are called.
    """
    counts = {part: Counter(of_part) for part, of_part in parts.items()}
    if counts["test"] == counts["train"]:
        raise DataError(
            f"train and test hold the same {items} ({len(parts['test'])}): test scores would be "
            "of what was trained on; expected different files",
            path,
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
    """For dev and test, what they hold and train does not: how much as plain data, and as lines.

    Args:
      symbols: part -> how often each symbol stands in it.
    """
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


def several_labels(items: Mapping[str, Sequence[tuple[Hashable, str, str]]]) -> list[str]:
    """Warnings about equal items with different labels.

    Args:
      items: part -> of each item what it is known by, what it is called, and its label.
    """
    warnings = []
    for part, of_part in items.items():
        labels: dict[Hashable, set[str]] = {}
        names = dict[Hashable, str]()
        for key, name, label in of_part:
            labels.setdefault(key, set()).add(label)
            names.setdefault(key, name)
        apart = [key for key, found in labels.items() if len(found) > 1]
        if apart:
            example = f"{names[apart[0]][:_SHOWN]!r} ({', '.join(sorted(labels[apart[0]]))})"
            warnings.append(f"{part}: {len(apart)} with several labels, such as {example}")
    return warnings


def normalisation(texts: Mapping[str, Iterable[str]]) -> list[str]:
    """A warning where texts are in different Unicode normalisation forms, within parts or not.

    Args:
      texts: part -> its texts. Those that are the same in NFC and NFD tell nothing.
    """
    counts: dict[str, Counter[str]] = {"NFC": Counter(), "NFD": Counter()}
    for part, of_part in texts.items():
        for text in of_part:
            forms = [form for form in ("NFC", "NFD") if unicodedata.is_normalized(form, text)]
            if len(forms) == 1:
                counts[forms[0]][part] += 1
    if not all(counts.values()):
        return []
    shown = " and ".join(
        f"{form} ({', '.join(f'{part} {n}' for part, n in of_form.items())})"
        for form, of_form in counts.items()
    )
    return [
        f"texts are in {shown}: equal letters are different symbols; bring all files into one "
        "Unicode normalisation form (uconv -x any-nfc)"
    ]
