"""What is odd about a corpus: parts that repeat one another, symbols that train lacks."""

import types
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json

_MANY = 0.5  # from this fraction of repeated items on a warning
_EXAMPLES = 5  # symbols named in a warning
_LABELS, _LONGEST = 12, 40  # in a message: how many labels, how much of each
_ROWS = 20  # fewer may have a label each
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


class Findings(NamedTuple):
    """What is told of a corpus beside its sizes.

    Attributes:
      facts: plain data, for plans and records.
      remarks: what people should see of it, a line each.
      warnings: likewise, of what is probably a mistake.
    """

    facts: Mapping[str, Json] = types.MappingProxyType({})
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def joined(self, others: "Findings") -> "Findings":
        """These, then others."""
        return Findings(
            {**self.facts, **others.facts},
            [*self.remarks, *others.remarks],
            [*self.warnings, *others.warnings],
        )


def listed(labels: Sequence[str]) -> str:
    """Labels for a message, cut where they are many or long."""
    shown = ", ".join(label[:_LONGEST] for label in labels[:_LABELS])
    return shown + (f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else "")


def refuse_own_labels(labels: Iterable[str], columns: str, where: str) -> None:
    """Raises DataError if most of many rows have a label that no other row has: it is no class.

    Args:
      labels: of the rows of train.
      columns: what the columns of a file are, for people.
      where: named in the error.
    """
    counts = Counter(labels)
    own = sum(n == 1 for n in counts.values())
    if counts.total() >= _ROWS and own > counts.total() / 2:
        message = f"{len(counts)} labels in {counts.total()} rows of train"
        raise DataError(f"{message}; of tab-separated lines {columns}", where)


def repeats(parts: Mapping[str, Sequence[Hashable]], path: str, items: str) -> list[str]:
    """Warnings about dev and test items that also occur in train, and a dev that is test.

    Args:
      parts: train, dev and test.
      path: named in the error.
      items: what they are called.

    Raises:
      DataError: test holds the same items as train.
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


def same_texts(texts: Mapping[str, Hashable], path: str) -> list[str]:
    """Warnings about a dev that is the text of train or of test.

    Args:
      texts: train, dev and test, whole.
      path: named in the error.

    Raises:
      DataError: test is the text of train.
    """
    if texts["test"] == texts["train"]:
        raise DataError(
            "train and test are the same text: test scores would be scores on training data; "
            "expected different files",
            path,
        )
    warnings = {
        "train": "dev and train are the same text: models are selected on what they learn",
        "test": "dev and test are the same text: models are selected on test",
    }
    return [line for part, line in warnings.items() if texts["dev"] == texts[part]]


class Unseen(NamedTuple):
    """Symbols of a part that train lacks: how often each stands there, and all symbols do."""

    part: str
    counts: Counter[str]
    total: int

    def __str__(self) -> str:
        most = [f"{symbol!r} ({n})" for symbol, n in self.counts.most_common(_EXAMPLES)]
        more = ", ..." if len(self.counts) > _EXAMPLES else ""
        times = sum(self.counts.values())
        return (
            f"{self.part} has {len(self.counts)} that train lacks, {times} of its {self.total} "
            f"({times / self.total:.2%}): {', '.join(most)}{more}"
        )


def unseen(symbols: Mapping[str, Counter[str]]) -> list[Unseen]:
    """For dev and test, what they hold and train does not; parts without any are left out.

    Args:
      symbols: part -> how often each symbol stands in it.
    """
    train = symbols["train"]
    lacking = [
        Unseen(part, Counter({s: n for s, n in counts.items() if s not in train}), counts.total())
        for part, counts in symbols.items()
        if part != "train"
    ]
    return [of_part for of_part in lacking if of_part.counts]


def counts(unseen: Iterable[Unseen]) -> dict[str, dict[str, int]]:
    """The same as plain data: by part how many symbols, and how often they occur."""
    return {u.part: {"types": len(u.counts), "tokens": u.counts.total()} for u in unseen}


def normalisation(texts: Mapping[str, Iterable[str]]) -> list[str]:
    """Warnings if a part mixes Unicode normalisation forms, or has another one than train.

    Args:
      texts: part -> its texts. Those that are the same in NFC and NFD tell nothing; of the others
        the form of most counts.
    """
    forms = {part: _forms(of_part) for part, of_part in texts.items()}
    mend = (
        "equal letters are different symbols; bring all files into one Unicode normalisation form "
        "(uconv -x any-nfc)"
    )
    warnings = [
        f"{part} mixes " + " and ".join(f"{form} ({found[form]})" for form in _FORMS) + f": {mend}"
        for part, found in forms.items()
        if len(found) > 1
    ]
    most = {part: found.most_common(1)[0][0] for part, found in forms.items() if found}
    train = most.pop("train", None)
    differing = [f"{part} in {form}" for part, form in most.items() if train not in (None, form)]
    if differing:
        warnings.append(f"train is written in {train}, {', '.join(differing)}: {mend}")
    return warnings


def _forms(texts: Iterable[str]) -> Counter[str]:
    """Texts that are in one form only."""
    forms: Counter[str] = Counter()
    for text in texts:
        holds = {form for form in _FORMS if unicodedata.is_normalized(form, text)}
        if len(holds) < len(_FORMS):
            forms.update(holds)
    return forms
