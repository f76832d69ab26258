"""Classified text in JSON lines: `text`, `label`, and `target` or `span` where it has one.

Lines of NewsMTSC (Hamborg & Donnay 2021) are read too: `sentence_normalized` and `targets`, each
with `from`, `to`, `mention` and `polarity` (2, 4, 6: negative, neutral, positive). So are those of
its later form, on Hugging Face: a target a line, its keys beside `sentence`; -1, 0, 1.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic

from jaxeval.config import reading
from jaxeval.data import labelled_text, text
from jaxeval.data.labelled_text import LabelledTexts, Target
from jaxeval.errors import DataError, parsing

_KEYS = ("text", "label", "target", "span")
_NEWS = ("sentence_normalized", "targets")
_FLAT_NEWS = ("sentence", "from", "to", "polarity")
_CLASSES = ("negative", "neutral", "positive")
_POLARITIES = dict(zip((2, 4, 6, -1, 0, 1), _CLASSES * 2, strict=True))  # of NewsMTSC
_EXPECTED = 'such as {"text": "...", "target": "...", "label": "..."}, or span: [0, 4]'
_Place = Annotated[int, pydantic.Field(ge=0)]


@reading.settings
class Line:
    """What a line may hold; other keys are not read."""

    text: str
    label: str | int = ""
    target: str | None = None
    span: tuple[_Place, _Place] | None = None

    @property
    def targeted(self) -> bool:
        """Whether its label is of a target."""
        return self.target is not None or self.span is not None


_LINE = pydantic.TypeAdapter(Line)
_KINDS = {
    "text": "a text",
    "label": "a text or a whole number",
    "target": "a text",
    "span": "two whole numbers, the first character and the first behind",
}


def read(path: str | Path, labelled: bool = True) -> LabelledTexts:
    """The texts of a file: with targets, equal texts are one.

    `span` is where the target stands: its first character, and the first behind it. Without it
    every mention of `target` is a target of its own: those that are whole words or, where there
    are none, any.

    Raises:
      DataError: a line that is no such JSON, an empty text, a target that is not in its text, or
        lines with and without targets.
    """
    lines = [*_lines(path, labelled)]
    targeted = lines[0][1].targeted
    targets: list[tuple[str, Target]] = []
    for number, line in lines:
        if line.targeted != targeted:
            expected = "a target or a span" if targeted else "neither target nor span"
            raise DataError(f"expected {expected}, as in the lines before", path, number)
        spans = _spans(line, path, number) if targeted else []
        targets += [(line.text, Target(*span, str(line.label))) for span in spans]
    if targeted:
        return LabelledTexts(labelled_text.by_text(targets), targeted=True, tokenised=False)
    return labelled_text.whole(((line.text, str(line.label)) for _, line in lines), False)


def _lines(path: str | Path, labelled: bool) -> Iterator[tuple[int, Line]]:
    """Number and content of each line that is not blank; of NewsMTSC a line a target."""
    for number, raw in enumerate(text.iterate_lines(path), 1):
        if not raw.strip():
            continue
        with parsing(f"expected a JSON object {_EXPECTED}", path, number):
            tree = json.loads(raw)
        if not isinstance(tree, dict):
            raise DataError(f"expected a JSON object {_EXPECTED}", path, number)
        if all(key in tree for key in _FLAT_NEWS):
            tree = {"sentence_normalized": tree["sentence"], "targets": [tree]}
        news = all(key in tree for key in _NEWS)
        for known in _of_news(tree, path, number) if news else (tree,):
            line = _line(known, path, number)
            if not line.text.strip() or (labelled and not str(line.label).strip()):
                raise DataError("expected a text and a label that are not empty", path, number)
            yield number, dataclasses.replace(line, label=str(line.label).strip())


def _line(tree: Mapping[str, Any], path: str | Path, number: int) -> Line:
    """A line of the keys that are read.

    Raises:
      DataError: naming the key of a value that it cannot have.
    """
    known = {key: tree[key] for key in _KEYS if key in tree}
    try:
        return _LINE.validate_json(json.dumps(known))
    except pydantic.ValidationError as error:
        key = str([*error.errors()[0]["loc"], "text"][0])  # none: half a character
        found = json.dumps(known[key])[:40] if key in known else "none"
        expected = f"expected {_KINDS.get(key, 'no such key')}, found {found}"
        raise DataError(f"{key}: {expected}; {_EXPECTED}", path, number) from None


def _of_news(tree: Mapping[str, Any], path: str | Path, number: int) -> Iterator[dict[str, Any]]:
    """The targets of a line of NewsMTSC, as lines of their own."""
    targets = tree["targets"]
    if not isinstance(targets, list) or not targets:
        raise DataError("targets: expected a list of one or more", path, number)
    for target in targets:
        try:
            place = [target["from"], target["to"]]
            label = _POLARITIES[target["polarity"]]
        except (KeyError, TypeError):
            expected = "from, to, mention and polarity, which is 2, 4, 6 or -1, 0, 1"
            raise DataError(f"targets: expected {expected}", path, number) from None
        words = {"target": target["mention"]} if "mention" in target else {}
        yield {"text": tree["sentence_normalized"], "span": place, "label": label, **words}


def _spans(line: Line, path: str | Path, number: int) -> list[tuple[int, int]]:
    """Where a line's targets stand."""
    if line.span is None:
        spans = mentions(line.text, line.target or "")
    else:
        words = line.text[slice(*line.span)]
        inside = line.span[1] <= len(line.text)
        spans = [line.span] if inside and words.strip() and line.target in (None, words) else []
    if not spans:
        where = "its text" if line.span is None else f"characters {line.span[0]} to {line.span[1]}"
        if line.span is not None and line.span[1] > len(line.text):
            where += f" (it has {len(line.text)})"
        expected = "a target" if line.target is None else repr(line.target)
        raise DataError(f"expected {expected} in {where}: {line.text[:60]!r}", path, number)
    return spans


def mentions(content: str, target: str) -> list[tuple[int, int]]:
    """Where a target stands in a text: as whole words or, if nowhere so, in any place."""
    words = re.escape(target)
    for pattern in (rf"(?<!\w){words}(?!\w)", words):
        spans = [match.span() for match in re.finditer(pattern, content) if target.strip()]
        if spans:
            return spans
    return []
