"""Classified text in JSON lines: `text`, `label`, and `target` or `span` where it has one.

Lines of NewsMTSC (Hamborg & Donnay 2021) are read too: `sentence_normalized` and `targets`, each
with `from`, `to`, `mention` and `polarity` (2, 4, 6: negative, neutral, positive). So are those of
its later form, on Hugging Face: a target a line, its keys beside `sentence`; -1, 0, 1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval.data import labelled_text, text
from jaxeval.data.labelled_text import LabelledTexts, Target
from jaxeval.errors import DataError, parsing

_NEWS = ("sentence_normalized", "targets")
_FLAT_NEWS = ("sentence", "from", "to", "polarity")
_CLASSES = ("negative", "neutral", "positive")
_POLARITIES = dict(zip((2, 4, 6, -1, 0, 1), _CLASSES * 2, strict=True))  # of NewsMTSC
_HALF = re.compile("[\ud800-\udfff]")  # of a character, which JSON can hold
_EXPECTED = 'such as {"text": "...", "target": "...", "label": "..."}, or span: [0, 4]'


class _Line(NamedTuple):
    """What is read of a line."""

    number: int
    text: str
    label: str
    target: str | None
    span: tuple[int, int] | None

    @property
    def targeted(self) -> bool:
        """Whether its label is of a target."""
        return self.target is not None or self.span is not None


def read(path: str | Path, labelled: bool = True) -> LabelledTexts:
    """The texts of a file: with targets, equal texts are one.

    `span` is where the target stands: its first character, and the first behind it. Without it
    every mention of `target` is a target of its own: those that are whole words or, where there
    are none, any.

    Args:
      labelled: whether each must have a label.

    Raises:
      DataError: a line that is no such JSON, an empty text, a target that is not in its text, or
        lines with and without targets.
    """
    lines = [*_lines(path, labelled)]
    targeted = lines[0].targeted
    for line in lines:
        if line.targeted != targeted:
            expected = "a target or a span" if targeted else "neither target nor span"
            raise DataError(f"expected {expected}, as in the lines before", path, line.number)
    if not targeted:
        return labelled_text.whole((line[:3] for line in lines), False)
    targets = [
        (line.number, line.text, Target(*span, line.label))
        for line in lines
        for span in _spans(line, path)
    ]
    return LabelledTexts(labelled_text.by_text(targets), targeted=True, tokenised=False)


def _lines(path: str | Path, labelled: bool) -> Iterator[_Line]:
    """The lines that are not blank; of NewsMTSC a line a target."""
    for number, raw in enumerate(text.iterate_lines(path), 1):
        if not raw.strip():
            continue
        with parsing(f"expected a JSON object {_EXPECTED}", path, number):
            tree = json.loads(raw)
        if not isinstance(tree, dict):
            raise DataError(f"expected a JSON object {_EXPECTED}", path, number)
        if all(key in tree for key in _FLAT_NEWS):
            tree = {_NEWS[0]: tree["sentence"], "targets": [tree]}
        news = all(key in tree for key in _NEWS)
        for each in _of_news(tree, path, number) if news else (tree,):
            yield _line(each, labelled, path, number)


def _line(tree: Mapping[str, Any], labelled: bool, path: str | Path, number: int) -> _Line:
    """The keys that are read of a line; raises DataError, naming the one that is wrong."""
    content, label, target, span = (tree.get(key) for key in ("text", "label", "target", "span"))
    is_label = isinstance(label, str | int) and not isinstance(label, bool) and str(label).strip()
    places = isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
    right = {
        "text": isinstance(content, str) and content.strip() and _HALF.search(content) is None,
        "label": is_label or not labelled,
        "target": target is None or isinstance(target, str),
        "span": span is None or (places and min(span) >= 0),
    }
    for key in (key for key, is_right in right.items() if not is_right):
        found = json.dumps(tree.get(key))[:40]
        raise DataError(f"{key}: found {found}; expected a line {_EXPECTED}", path, number)
    name = str(label).strip() if is_label else ""
    return _Line(number, str(content), name, target, None if span is None else (span[0], span[1]))


def _of_news(tree: Mapping[str, Any], path: str | Path, number: int) -> Iterator[dict[str, Any]]:
    """The targets of a line of NewsMTSC, as lines of their own."""
    targets = tree["targets"]
    if not isinstance(targets, list) or not targets:
        raise DataError("targets: expected a list of one or more", path, number)
    for target in targets:
        try:
            place, label = [target["from"], target["to"]], _POLARITIES[target["polarity"]]
        except (KeyError, TypeError):
            expected = "from, to, mention and polarity, which is 2, 4, 6 or -1, 0, 1"
            raise DataError(f"targets: expected {expected}", path, number) from None
        mention = target.get("mention")
        yield {"text": tree[_NEWS[0]], "span": place, "label": label, "target": mention}


def _spans(line: _Line, path: str | Path) -> list[tuple[int, int]]:
    """Where a line's targets stand."""
    length, where = len(line.text), "its text"
    if line.span is None:
        spans = _mentions(line.text, line.target or "")
    else:
        words = line.text[slice(*line.span)]
        where = f"characters {line.span[0]} to {line.span[1]} of {length}"
        inside = line.span[1] <= length and words.strip() and line.target in (None, words)
        spans = [line.span] if inside else []
    if not spans:
        expected = "a target" if line.target is None else repr(line.target)
        found = f"expected {expected} in {where}: {line.text[:60]!r}"
        raise DataError(found, path, line.number)
    return spans


def _mentions(content: str, target: str) -> list[tuple[int, int]]:
    """Where a target stands in a text: as whole words or, if nowhere so, in any place."""
    words = re.escape(target)
    for pattern in (rf"(?<!\w){words}(?!\w)", words):
        spans = [match.span() for match in re.finditer(pattern, content) if target.strip()]
        if spans:
            return spans
    return []
