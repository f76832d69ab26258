"""Classified texts in their file formats: tab-separated, SST, TREC, three lines, JSON, SemEval."""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from jaxeval.data import text, words
from jaxeval.data.text import Line
from jaxeval.errors import DataError, parsing

_CLASSES = ("negative", "neutral", "positive")
_SST = {"0": "negative", "1": "positive"}
_THREE_LINE = dict(zip(("-1", "0", "1"), _CLASSES, strict=True))
_NEWS = dict(zip((2, 4, 6, -1, 0, 1), _CLASSES * 2, strict=True))  # polarities of NewsMTSC
_HOLE = "$T$"
_HALF = re.compile("[\ud800-\udfff]")  # a surrogate, which JSON can hold
_EXPECTED = 'such as {"text": "...", "target": "...", "label": "..."}, or span: [0, 4]'
_TERMS = {"aspectTerm": "term", "Opinion": "target"}  # element -> attribute that holds the words
_NULL, _CONFLICT = "NULL", "conflict"  # opinions without a target, or without one polarity


class Target(NamedTuple):
    """A labelled span: characters or words from start to before end; 0, 0: the whole text."""

    start: int
    end: int
    label: str


class LabelledText(NamedTuple):
    """A text with its targets in order of position, and the line of each (0: unknown)."""

    text: str
    targets: tuple[Target, ...]  # in characters
    lines: tuple[int, ...]

    @property
    def targeted(self) -> bool:
        """Whether the labels are of targets."""
        return self.targets[0].end > 0


class Sentence(NamedTuple):
    """Words, and targets with positions in words."""

    words: tuple[str, ...]
    targets: tuple[Target, ...]


def tokenise(
    parts: Mapping[str, Sequence[LabelledText]], tokenised: bool, files: Mapping[str, str | Path]
) -> dict[str, list[Sentence]]:
    """Splits texts into words; the ends of targets are ends of words.

    Equal texts have the same words: they are cut at the targets of all. Raises DataError, naming
    the part's file: a text or target without words, such as control characters.
    """
    borders: dict[str, set[int]] = {}
    for each in itertools.chain(*parts.values()):
        borders.setdefault(each.text, set()).update(*(target[:2] for target in each.targets))
    spans = {t: words.cut(words.split(t, tokenised), at) for t, at in borders.items()}

    def sentence(each: LabelledText, file: str | Path) -> Sentence:
        targets, own = [], spans[each.text]
        for (start, end, label), line in zip(each.targets, each.lines, strict=True):
            last = end or len(each.text)
            inside = [n for n, span in enumerate(own) if start <= span[0] and span[1] <= last]
            if not inside:
                found = f"found {each.text[start:last][:40]!r}"
                raise DataError(f"expected words, {found}", file, line or None)
            targets.append(Target(*(inside[0], inside[-1] + 1) if end else (0, 0), label))
        return Sentence(tuple(each.text[start:end] for start, end in own), tuple(targets))

    return {part: [sentence(each, files[part]) for each in own] for part, own in parts.items()}


def _by_text(targets: Iterable[tuple[int, str, Target]]) -> list[LabelledText]:
    """Collects the targets (line, text, target) of equal texts, in the order of the texts."""
    collected: dict[str, list[tuple[Target, int]]] = {}
    for line, content, target in targets:
        collected.setdefault(content, []).append((target, line))
    ordered = {text: sorted(own, key=lambda each: each[0][:2]) for text, own in collected.items()}
    return [LabelledText(text, *zip(*own, strict=True)) for text, own in ordered.items()]


def without_target(content: str, line: int, label: str = "") -> LabelledText:
    """Returns a text that is labelled as a whole."""
    return LabelledText(content, (Target(0, 0, label),), (line,))


def _read_tsv(path: Path) -> list[LabelledText]:
    """Reads lines of a text, a tab and its label."""
    rows = ((line.number, line.columns({"text": 1, "label": 2})) for line in text.lines(path))
    return [without_target(row["text"], number, row["label"].strip()) for number, row in rows]


def _read_trec(path: Path) -> list[LabelledText]:
    """Reads lines such as `DESC:manner How did ...` in Latin-1 (Li & Roth 2002)."""
    lines = text.lines(path, "latin-1")
    return [_labelled(x, "LABEL:detail", lambda name: name.rpartition(":")[0]) for x in lines]


def _labelled(line: Line, expected: str, parse: Callable[[str], str | None]) -> LabelledText:
    """Returns the text of a line of a label, a blank and a text."""
    label, _, content = line.text.partition(" ")
    if (name := parse(label)) and content.strip():
        return without_target(content, line.number, name)
    message = f"expected {expected}, a blank and a text, found {line.text[:40]!r}"
    raise line.error(f"{message}; {text.OTHER_FORMAT}")


def _read_three_line(path: Path) -> list[LabelledText]:
    """Reads blocks of three lines (.raw, .seg): a text with `$T$`, the target, its label.

    The target is the first `$T$`; further ones stand for its words, too. Blocks of equal texts are
    one text with several targets. Raises DataError: an incomplete block, an unknown label.
    """
    targets = []
    for paragraph in text.paragraphs(path):
        for first, *others in (paragraph[k : k + 3] for k in range(0, len(paragraph), 3)):
            before, hole, after = first.text.partition(_HOLE)
            if not hole or len(others) < 2:
                expected = f"three lines: a text with {_HOLE} for its target, the target, a label"
                raise first.error(f"expected {expected}")
            named, label = " ".join(others[0].text.split()), others[1].text.strip()
            if label not in _THREE_LINE:
                raise others[1].error(f"label {label!r}; expected {', '.join(_THREE_LINE)}")
            start = len(" ".join([*before.split(), ""]))
            content = f"{before} {named} {after.replace(_HOLE, f' {named} ')}"
            target = Target(start, start + len(named), _THREE_LINE[label])
            targets.append((others[1].number, " ".join(content.split()), target))
    return _by_text(targets)


def read_json(path: Path, labelled: bool = True) -> list[LabelledText]:
    """Reads JSON lines of `text`, `label`, and `target` or `span`, or of NewsMTSC.

    `span` is the target's first character and the one after its last. Without it, every mention of
    `target` is one target: those that are whole words or, if there are none, any. Equal texts are
    one text with several targets. NewsMTSC: Hamborg & Donnay (2021). Raises DataError: a line is
    no such JSON, or has no label if it must be `labelled`; an empty text; a target that is not in
    its text; lines with and without targets.
    """
    rows: list[tuple[int, str, Target]] = []
    for line in text.lines(path):
        with parsing(f"expected a JSON object in each line, {_EXPECTED}", path, line.number):
            found = [
                (line.number, tree["text"], target)
                for tree in _flat(json.loads(line.text))
                for target in _json_targets(tree, labelled)
            ]
        rows += found
        if (found[0][2].end > 0) != (targeted := rows[0][2].end > 0):
            expected = "a target or a span" if targeted else "neither target nor span"
            raise line.error(f"expected {expected}, as in the lines before")
    if targeted:
        return _by_text(rows)
    return [without_target(content, number, target.label) for number, content, target in rows]


def _flat(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Yields a line, or a line for each target of NewsMTSC; raises ValueError."""
    if not isinstance(tree, dict):
        raise ValueError(f"found {str(tree)[:40]}")
    if {"sentence", "from", "to", "polarity"} <= {*tree}:
        content, targets = tree["sentence"], [tree]
    elif {"sentence_normalized", "targets"} <= {*tree}:
        content, targets = tree["sentence_normalized"], tree["targets"] or [None]
    else:
        yield tree
        return
    try:
        for target in targets:
            span, label = [target["from"], target["to"]], _NEWS[target["polarity"]]
            yield {"text": content, "span": span, "label": label, "target": target.get("mention")}
    except (KeyError, TypeError, AttributeError):
        expected = "from, to, mention and polarity, which is 2, 4, 6 or -1, 0, 1"
        raise ValueError(f"targets: expected {expected}") from None


def _json_targets(tree: Mapping[str, Any], labelled: bool) -> list[Target]:
    """Returns the targets of a line, or (0, 0); raises ValueError that names the wrong key."""
    content: Any = tree.get("text")
    span: Any = tree.get("span")
    label, target = tree.get("label"), tree.get("target")
    is_label = isinstance(label, str | int) and not isinstance(label, bool) and str(label).strip()
    places = isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
    right = {
        "text": isinstance(content, str) and content.strip() and _HALF.search(content) is None,
        "label": is_label or not labelled,
        "target": target is None or isinstance(target, str),
        "span": span is None or (places and min(span) >= 0),
    }
    for key in (key for key, is_right in right.items() if not is_right):
        raise ValueError(f"{key}: found {json.dumps(tree.get(key))[:40]}")
    name = str(label).strip() if is_label else ""
    spans = [(0, 0)]
    where = "its text"
    if span is not None:
        named = content[slice(*span)]
        where = f"characters {span[0]} to {span[1]} of {len(content)}"
        inside = span[1] <= len(content) and named.strip() and target in (None, named)
        spans = [(span[0], span[1])] if inside else []
    elif target is not None:
        spans = _mentions(content, target)
    if not spans:
        expected = "a target" if target is None else repr(target)
        raise ValueError(f"expected {expected} in {where}: {content[:60]!r}")
    return [Target(start, end, name) for start, end in spans]


def _mentions(content: str, target: str) -> list[tuple[int, int]]:
    """Returns where a target occurs: as whole words or, if it never does, in any place."""
    exact = re.escape(target)
    for pattern in (rf"(?<!\w){exact}(?!\w)", exact):
        spans = [match.span() for match in re.finditer(pattern, content) if target.strip()]
        if spans:
            return spans
    return []


def _read_semeval(path: Path) -> list[LabelledText]:
    """Reads the sentences with targets of SemEval's XML, each once: 2014 to 2016, MAMS.

    Targets that are NULL or have the polarity `conflict` are left out, as is custom. Raises
    DataError: not XML, or with a document type (entities can be bombs); an unknown polarity; a
    target that is not at its position; no target at all.
    """
    texts = []
    for sentence, line in _sentences(path):
        try:
            content = sentence.findtext("text") or ""
            if not content.strip():
                raise ValueError("expected a text that is not empty")
            texts += _by_text((line, content, target) for target in _terms(sentence, content))
        except ValueError as error:
            where = f"sentence {name!r}: " if (name := sentence.get("id")) else ""
            raise DataError(f"{where}{error}", path, line) from None
    if not texts:
        raise DataError("no target found; expected <aspectTerm> or <Opinion>", path)
    return texts


def _terms(sentence: Element, content: str) -> Iterator[Target]:
    """Yields the targets of a sentence; raises ValueError."""
    for term in (e for e in sentence.iter() if e.tag in _TERMS):
        named, polarity = term.get(_TERMS[term.tag], _NULL), term.get("polarity")
        ends = term.get("from", ""), term.get("to", "")
        if polarity == _CONFLICT or (named == _NULL and term.tag == "Opinion"):
            continue
        if polarity not in _CLASSES:
            expected = f"expected {', '.join(_CLASSES)} or {_CONFLICT}"
            raise ValueError(f"polarity {polarity!r} of {named!r}; {expected}")
        if not all(end.isdecimal() and len(end) < 10 for end in ends):
            found = f"from={ends[0]!r} to={ends[1]!r} of {named!r}"
            raise ValueError(f"{found}; expected whole numbers")
        start, end = map(int, ends)
        if end > len(content) or content[start:end] != named or not named.strip():
            where = f"at characters {start} to {end}, found {content[start:end]!r}"
            raise ValueError(f"expected {named!r} {where}")
        yield Target(start, end, polarity)


def _sentences(path: str | Path) -> Iterator[tuple[Element, int]]:
    """Returns the sentence elements with their lines."""
    builder = TreeBuilder()
    lines: dict[Element, int] = {}
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

    def refuse(*_: object) -> None:
        message = "a document type (<!DOCTYPE ...>) is refused, since entities can be bombs"
        raise DataError(f"{message}; expected plain XML", path, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = start, builder.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, refuse
    with parsing("not well-formed XML in UTF-8", path):
        parser.Parse(text.read_bytes(path), True)
    return ((sentence, lines[sentence]) for sentence in builder.close().iter("sentence"))


FORMATS: Mapping[str, Callable[[Path], list[LabelledText]]] = {
    "semeval": _read_semeval,
    "three_line": _read_three_line,
    "json": read_json,
    "tsv": _read_tsv,
    # lines of a label, 0 (negative) or 1, and a tokenised text (Socher et al. 2013)
    "sst": lambda path: [_labelled(line, "0 or 1", _SST.get) for line in text.lines(path)],
    "trec": _read_trec,
}
TOKENISED = ("three_line", "sst", "trec")  # formats whose words are separated by blanks
SUFFIXES = {".xml": "semeval", ".raw": "three_line", ".seg": "three_line", ".tsv": "tsv"}
SUFFIXES |= {".json": "json", ".jsonl": "json"}
