"""Checks of corpora: labels that train lacks, repeated items."""

import types
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json

_MANY = 0.5  # fraction of repeated items from which on there is a warning
_EXAMPLES = 5  # symbols in a remark
_LABELS = 12  # in a message
_LONGEST = 60  # characters of a label or text in a message


class Findings(NamedTuple):
    """Observations about a corpus, beside its sizes."""

    facts: Mapping[str, Json] = types.MappingProxyType({})  # for plans and records
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()  # probable mistakes

    def joined(self, other: "Findings") -> "Findings":
        """Returns these findings and others."""
        lines = ([*own, *more] for own, more in zip(self[1:], other[1:], strict=True))
        return Findings({**self.facts, **other.facts}, *lines)


def classes(
    items: Mapping[str, Sequence[tuple[str, str, int]]],
    files: Mapping[str, str | Path],
    columns: str,
) -> list[str]:
    """Returns the classes of a corpus: the sorted labels of train.

    Raises DataError: train has one class; an item has another label than these.

    Args:
      items: part -> label, text and line (0: unknown) of each item.
      files, columns: file of each part, and meaning of tab-separated columns, for errors.
    """
    labels = sorted(known := {label for label, _, _ in items["train"]})
    if len(labels) < 2:
        raise DataError(
            f"the only label of train is {labels[0]!r}: nothing to learn", files["train"]
        )
    for part, own in items.items():
        for label, text, line in own:
            if label not in known:
                shown = ", ".join(label[:_LONGEST] for label in labels[:_LABELS])
                more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
                found = f"{part}: label {label[:_LONGEST]!r} of {text[:_LONGEST]!r}"
                expected = f"those of train: {shown}{more} (of tab-separated lines {columns})"
                raise DataError(f"{found}; expected {expected}", files[part], line or None)
    return labels


def repeats(parts: Mapping[str, Sequence[Hashable]], path: str | None, items: str) -> list[str]:
    """Returns warnings about dev and test items that also occur in train, and a dev that is test.

    `items` is a plural noun for messages. Raises DataError: test holds the same items as train.
    """
    counts = {part: Counter(own) for part, own in parts.items()}
    if counts["test"] == counts["train"]:
        raise DataError(
            f"train and test hold the same {items} ({len(parts['test'])}): test would score the "
            "training data; expected different files",
            path or "generated corpus",
        )
    warnings = []
    for part in ("dev", "test"):
        again = sum(n for item, n in counts[part].items() if item in counts["train"])
        fraction = again / max(len(parts[part]), 1)
        if fraction >= _MANY:
            warnings.append(f"{100 * fraction:.0f} % of the {items} of {part} also occur in train")
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
        most += ["..."] if len(lacking) > _EXAMPLES else []
        lines.append(
            f"{part} has {len(lacking)} that train lacks, {times} of its {total} "
            f"({100 * times / total:.2f} %): {', '.join(most)}"
        )
    return facts, lines
