"""Classified texts in their file formats: tab-separated, SST, TREC, three lines, JSON, SemEval."""

import json
import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from jaxeval.data import text
from jaxeval.errors import DataError, parsing

_CLASSES = ("negative", "neutral", "positive")
_SST = {"0": "negative", "1": "positive"}
_THREE_LINE = dict(zip(("-1", "0", "1"), _CLASSES, strict=True))
_NEWS = dict(zip((2, 4, 6, -1, 0, 1), _CLASSES * 2, strict=True))  # polarities of NewsMTSC
_HOLE = "$T$"
_HALF = re.compile("[\ud800-\udfff]")  # a surrogate, which JSON can hold
_EXPECTED = 'such as {"text": "...", "target": "...", "label": "..."}, or span: [0, 4]'
_TERMS = {"aspectTerm": "term", "Opinion": "target"}  # element -> attribute that holds the words


class Target(NamedTuple):
    """A labelled span: characters or words from start to before end; 0, 0: the whole text."""

    start: int
    end: int
    label: str


class LabelledText(NamedTuple):
    """A text with its targets in order of position, and the line of each."""

    text: str
    targets: tuple[Target, ...]  # in characters
    lines: tuple[int, ...] = ()  # empty: unknown


class LabelledTexts(NamedTuple):
    """The texts of a file."""

    texts: Sequence[LabelledText]
    targeted: bool  # whether labels are of targets
    tokenised: bool  # whether words are separated by blanks
    dropped: Mapping[str, int] = types.MappingProxyType({})  # reason -> targets left out


class LabelledPair(NamedTuple):
    """Two sentences in words, their relation, and the line in the file (0: unknown)."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str
    line: int = 0


def _by_text(targets: Iterable[tuple[int, str, Target]]) -> list[LabelledText]:
    """Collects the targets (line, text, target) of equal texts, in the order of the texts."""
    collected: dict[str, list[tuple[int, Target]]] = {}
    for line, content, target in targets:
        collected.setdefault(content, []).append((line, target))
    texts = []
    for content, own in collected.items():
        lines, ordered = zip(*sorted(own, key=lambda each: each[1][:2]), strict=True)
        texts.append(LabelledText(content, ordered, lines))
    return texts


def without_targets(rows: Iterable[tuple[int, str, str]], tokenised: bool) -> LabelledTexts:
    """Returns the texts of rows: line, text, label."""
    texts = [LabelledText(content, (Target(0, 0, label),), (n,)) for n, content, label in rows]
    return LabelledTexts(texts, targeted=False, tokenised=tokenised)


def read_tsv(path: str | Path) -> LabelledTexts:
    """Reads lines of a text, a tab and its label."""
    rows = text.columns(path, {"text": 1, "label": 2})
    return without_targets(((n, row["text"], row["label"].strip()) for n, row in rows), False)


def read_sst(path: str | Path) -> LabelledTexts:
    """Reads lines of a label, 0 (negative) or 1, and a tokenised text (Socher et al. 2013)."""
    return without_targets(_after_label(text.iterate_lines(path), path, "0 or 1", _SST.get), True)


def read_trec(path: str | Path) -> LabelledTexts:
    """Reads lines such as `DESC:manner How did ...` in Latin-1 (Li & Roth 2002)."""
    lines = text.read_bytes(path).decode("latin-1").removesuffix("\n").split("\n")
    rows = _after_label(lines, path, "LABEL:detail", lambda name: name.rpartition(":")[0])
    return without_targets(rows, tokenised=True)


def _after_label(
    lines: Iterable[str], path: str | Path, expected: str, parse_label: Callable[[str], str | None]
) -> Iterator[tuple[int, str, str]]:
    """Yields number, text and label of lines of a label, a blank and a text."""
    for number, line in enumerate(lines, 1):
        label, _, content = line.partition(" ")
        if not ((name := parse_label(label)) and content.strip()):
            message = f"expected {expected}, a blank and a text, found {line[:40]!r}"
            raise DataError(f"{message}; {text.OTHER_FORMAT}", path, number)
        yield number, content, name


def read_three_line(path: str | Path) -> LabelledTexts:
    """Reads blocks of three lines (.raw, .seg): a text with `$T$`, the target, its label.

    The target is the first `$T$`; further ones stand for its words, too. Blocks of equal texts are
    one text with several targets. Raises DataError: an incomplete block, an unknown label.
    """
    targets, block, number = [], list[str](), 0
    for number, line in enumerate(text.iterate_lines(path), 1):
        if block or line.strip():  # blank lines may stand between blocks
            block.append(line)
        if len(block) == 3:
            targets.append((number, *_target(block, path, number - 2)))
            block = []
    if block:
        message = "expected three lines: a text with $T$, a target, a label"
        raise DataError(message, path, number - len(block) + 1)
    return LabelledTexts(_by_text(targets), targeted=True, tokenised=True)


def _target(lines: list[str], path: str | Path, number: int) -> tuple[str, Target]:
    """Returns the text of a block, words separated by single blanks, and its target."""
    before, hole, after = lines[0].partition(_HOLE)
    words = " ".join(lines[1].split())
    label = _THREE_LINE.get(lines[2].strip())
    if not hole:
        raise DataError(f"expected a text with {_HOLE} for its target", path, number)
    if not words:
        raise DataError("the target is empty", path, number + 1)
    if label is None:
        message = f"label {lines[2].strip()!r}; expected {', '.join(_THREE_LINE)}"
        raise DataError(message, path, number + 2)
    start = len(" ".join([*before.split(), ""]))
    content = f"{before} {words} {after.replace(_HOLE, f' {words} ')}"
    return " ".join(content.split()), Target(start, start + len(words), label)


def read_json(path: str | Path, labelled: bool = True) -> LabelledTexts:
    """Reads JSON lines of `text`, `label`, and `target` or `span`, or of NewsMTSC.

    `span` is the target's first character and the one after its last. Without it, every mention of
    `target` is one target: those that are whole words or, if there are none, any. Equal texts are
    one text with several targets. NewsMTSC: Hamborg & Donnay (2021). Raises DataError: a line is
    no such JSON, or has no label if it must be `labelled`; an empty text; a target that is not in
    its text; lines with and without targets.
    """
    rows = list[tuple[int, str, Target]]()
    for number, raw in enumerate(text.iterate_lines(path), 1):
        if not raw.strip():
            continue
        with parsing(f"expected a JSON object {_EXPECTED}", path, number):
            found = [
                (number, tree["text"], target)
                for tree in _flat(json.loads(raw))
                for target in _json_targets(tree, labelled)
            ]
        rows += found
        if (found[0][2].end > 0) != (targeted := rows[0][2].end > 0):
            expected = "a target or a span" if targeted else "neither target nor span"
            raise DataError(f"expected {expected}, as in the lines before", path, number)
    if targeted:
        return LabelledTexts(_by_text(rows), targeted=True, tokenised=False)
    return without_targets(((n, content, target.label) for n, content, target in rows), False)


def _flat(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Yields a line, or a line for each target of NewsMTSC; raises ValueError."""
    if not isinstance(tree, dict):
        raise ValueError(f"found {str(tree)[:40]}")
    flat = all(key in tree for key in ("sentence", "from", "to", "polarity"))
    if not flat and not all(key in tree for key in ("sentence_normalized", "targets")):
        yield tree
        return
    targets = [tree] if flat else tree["targets"]
    if not isinstance(targets, list) or not targets:
        raise ValueError("targets: expected a list of one or more")
    content = tree["sentence" if flat else "sentence_normalized"]
    for target in targets:
        try:
            span, label = [target["from"], target["to"]], _NEWS[target["polarity"]]
        except (KeyError, TypeError):
            expected = "from, to, mention and polarity, which is 2, 4, 6 or -1, 0, 1"
            raise ValueError(f"targets: expected {expected}") from None
        yield {"text": content, "span": span, "label": label, "target": target.get("mention")}


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
    name, spans, where = str(label).strip() if is_label else "", [(0, 0)], "its text"
    if span is not None:
        words = content[slice(*span)]
        where = f"characters {span[0]} to {span[1]} of {len(content)}"
        inside = span[1] <= len(content) and words.strip() and target in (None, words)
        spans = [(span[0], span[1])] if inside else []
    elif target is not None:
        spans = _mentions(content, target)
    if not spans:
        expected = "a target" if target is None else repr(target)
        raise ValueError(f"expected {expected} in {where}: {content[:60]!r}")
    return [Target(start, end, name) for start, end in spans]


def _mentions(content: str, target: str) -> list[tuple[int, int]]:
    """Returns where a target occurs: as whole words or, if it never does, in any place."""
    words = re.escape(target)
    for pattern in (rf"(?<!\w){words}(?!\w)", words):
        spans = [match.span() for match in re.finditer(pattern, content) if target.strip()]
        if spans:
            return spans
    return []


def read_semeval(path: str | Path) -> LabelledTexts:
    """Reads the sentences with targets of SemEval's XML, each once: 2014 to 2016, MAMS.

    Targets that are NULL or have the polarity `conflict` are dropped and counted, as is custom.
    Raises DataError: not XML, or with a document type (entities can be bombs); an unknown
    polarity; a target that is not at its position; no target at all.
    """
    dropped: Counter[str] = Counter()
    texts = []
    for sentence, line in _sentences(path):
        try:
            content = sentence.findtext("text") or ""
            if not content.strip():
                raise ValueError("expected a text that is not empty")
            texts += _by_text((line, content, t) for t in _terms(sentence, content, dropped))
        except ValueError as error:
            name = sentence.get("id")
            where = f"sentence {name!r}: " if name else ""
            raise DataError(f"{where}{error}", path, line) from None
    if not texts:
        raise DataError("no target found; expected <aspectTerm> or <Opinion>", path)
    return LabelledTexts(texts, targeted=True, tokenised=False, dropped=dropped)


def _terms(sentence: Element, content: str, dropped: Counter[str]) -> Iterator[Target]:
    """Yields the targets of a sentence and counts those left out; raises ValueError."""
    for term in (e for e in sentence.iter() if e.tag in _TERMS):
        words, polarity = term.get(_TERMS[term.tag], "NULL"), term.get("polarity")
        ends = term.get("from", ""), term.get("to", "")
        if words == "NULL" and term.tag == "Opinion":
            dropped["NULL"] += 1
        elif polarity == "conflict":
            dropped["conflict"] += 1
        elif polarity not in _CLASSES:
            expected = f"expected {', '.join(_CLASSES)} or conflict"
            raise ValueError(f"polarity {polarity!r} of {words!r}; {expected}")
        elif not all(end.isdecimal() and len(end) < 10 for end in ends):
            found = f"from={ends[0]!r} to={ends[1]!r} of {words!r}"
            raise ValueError(f"{found}; expected whole numbers")
        else:
            start, end = map(int, ends)
            if end > len(content) or content[start:end] != words or not words.strip():
                where = f"at characters {start} to {end}, found {content[start:end]!r}"
                raise ValueError(f"expected {words!r} {where}")
            yield Target(start, end, polarity)


def _sentences(path: str | Path) -> Iterator[tuple[Element, int]]:
    """Returns the sentence elements with their lines."""
    builder, lines, parser = TreeBuilder(), dict[Element, int](), expat.ParserCreate()

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
