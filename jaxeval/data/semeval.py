"""Targets of SemEval's XML: 2014 (aspectTerm), also without sentence ids, and 2015/16 (Opinion).

Task 4 of 2014 (Pontiki et al.), task 12 of 2015, task 5 of 2016; MAMS (Jiang et al. 2019) is
written as 2014 is.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from jaxeval.data import labelled_text, text
from jaxeval.data.labelled_text import LabelledTexts, Target
from jaxeval.errors import DataError

_POLARITIES = ("positive", "negative", "neutral")
_DROPPED = "conflict"
_NO_TARGET = "NULL"
_TERMS = {"aspectTerm": "term", "Opinion": "target"}  # element -> attribute that holds the words


class _Sentence(NamedTuple):
    """A sentence's element, and where it stands for messages."""

    element: Element
    path: str | Path
    line: int

    def fail(self, message: str) -> NoReturn:
        """Raises DataError, naming file, line and the sentence's id if it has one."""
        name = self.element.get("id")
        raise DataError(f"sentence {name!r}: {message}" if name else message, self.path, self.line)


def read(path: str | Path) -> LabelledTexts:
    """The sentences of a file that have targets, each once.

    Targets that are NULL, of 2015/16, or whose polarity is `conflict` are dropped and counted, as
    is custom; so are sentences that have no other.

    Raises:
      DataError: no XML, or with a document type (entities can be bombs); a sentence without text,
        an unknown polarity, a target that is not where it is said to be, no target at all.
    """
    dropped: Counter[str] = Counter()
    texts = []
    for sentence in _sentences(path):
        content = sentence.element.findtext("text") or ""
        if not content.strip():
            sentence.fail("expected a text that is not empty")
        targets = [(sentence.line, target) for target in _targets(sentence, content, dropped)]
        if targets:
            texts.append(labelled_text.with_targets(content, targets))
    if not texts:
        message = "no target found; expected <aspectTerm> or <Opinion> within <sentence>"
        raise DataError(message, path)
    return LabelledTexts(texts, targeted=True, tokenised=False, dropped=dropped)


def _targets(sentence: _Sentence, content: str, dropped: Counter[str]) -> Iterator[Target]:
    """The targets of a sentence, in characters; counts those that it leaves out."""
    for term in (e for e in sentence.element.iter() if e.tag in _TERMS):
        words = term.get(_TERMS[term.tag], _NO_TARGET)
        polarity = term.get("polarity")
        ends = term.get("from", ""), term.get("to", "")
        if words == _NO_TARGET and term.tag == "Opinion":
            dropped[_NO_TARGET] += 1
        elif polarity == _DROPPED:
            dropped[_DROPPED] += 1
        elif polarity not in _POLARITIES:
            expected = f"expected {', '.join(_POLARITIES)} or {_DROPPED}"
            sentence.fail(f"polarity {polarity!r} of {words!r}; {expected}")
        elif not all(end.isdecimal() and len(end) < 10 for end in ends):
            sentence.fail(f"from={ends[0]!r} to={ends[1]!r} of {words!r}; expected whole numbers")
        else:
            start, end = map(int, ends)
            if content[start:end] != words or not words.strip():
                where = f"at characters {start} to {end}, found {content[start:end]!r}"
                sentence.fail(f"expected {words!r} {where}")
            yield Target(start, end, polarity)


def _sentences(path: str | Path) -> Iterator[_Sentence]:
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
    try:
        parser.Parse(text.read_bytes(path), True)
    except expat.ExpatError as error:
        message = f"not well-formed XML ({expat.ErrorString(error.code)})"
        raise DataError(message, path, error.lineno) from None
    except DataError:
        raise
    except (LookupError, ValueError) as error:  # of the encoding that the file names
        raise DataError(f"cannot be read ({error}); expected UTF-8", path, 1) from None
    for element in builder.close().iter("sentence"):
        yield _Sentence(element, path, lines[element])
