"""What readers of files refuse: the line of each mistake, and what was expected there."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import conll, labelled_text, tagging, vectors
from jaxeval.errors import DataError
from tests.data.test_conll import EVENTS, SENTENCE
from tests.data.test_labelled_text import BLOCKS, BOMB, OLD

READERS: dict[str, Callable[[Path], Any]] = {
    **labelled_text.FORMATS,
    "columns": conll.read_columns,
    "fourth column": functools.partial(conll.read_columns, word_column=3),
    "tag before": functools.partial(conll.read_columns, tag_column=-3),
    "conllu": conll.read_conllu,
    "entities": functools.partial(conll.read_conllu, tag="entity"),
    "tempeval3": conll.read_tempeval3,
    "tagged text": lambda file: tagging.read(
        tagging.TaggingData(
            source=tagging.SentenceSource(
                path=str(file.parent), train=file.name, dev=file.name, test=file.name
            )
        )
    ),
    "vectors": vectors.read,
    "red": functools.partial(vectors.read, words={"red"}),
}
GOOD = {"text": "the bar", "target": "bar", "label": "x"}
FOOD = "expected 'food' at characters"


def _json(line: Any = None, **changes: Any) -> str:
    """A second line."""
    return f"{json.dumps(GOOD)}\n{line or json.dumps({**GOOD, **changes})}"


CASES = {
    "json": [
        (_json('{"text": "a", '), ":2: expected a JSON object in each line, such as"),
        (_json('"text label"'), ":2: expected a JSON object in each line, such as"),
        (_json("[" * 99999), ":2: expected a JSON object"),
        (_json(text=3), ":2: .*text: found 3"),
        (_json(label=None), ":2: .*label: found null"),
        (_json(text="\ud800"), ":2: .*text: found "),
        (_json(span=[1]), r":2: .*span: found \[1\]"),
        (_json(span=[4, 70]), ":2: .*expected 'bar' in characters 4 to 70 of 7"),
        (_json(target="food"), ":2: .*expected 'food' in its text: 'the bar'"),
        (_json(span=[3, 7]), ":2: .*expected 'bar' in characters 3 to 7 of 7: 'the bar'"),
        (_json(target=None, span=[3, 4]), ":2: .*expected a target in characters 3"),
        (_json(target=None), ":2: expected a target or a span, as in"),
    ],
    "tsv": [
        ("a\tb\nc\n", r":2: expected a column 2 \(label\)"),
        ("a\tb\n \tc\n", r":2: column 1 \(text\) is empty"),
    ],
    "sst": [("1 a\n2 b\n", ":2: expected 0 or 1, a blank and a text, found '2 b'; .*format=auto")],
    "trec": [("LOC:x a\nno label\n", ":2: expected LABEL:detail, .*format=auto")],
    "three_line": [
        (BLOCKS + "more $T$\nx\n", ":14: expected three lines"),
        (BLOCKS.replace("saw $T$ and $T$s", "bo"), r":11: expected .*: a text with \$T\$"),
        (BLOCKS.replace("\n-1\n", "\n2\n"), ":10: label '2'; expected -1, 0, 1"),
        (BLOCKS.replace("\nbo\n", "\n  \n"), ":11: expected three lines"),
    ],
    "semeval": [
        (OLD.replace('"negative" from', '"bad" from'), "f:3: sentence '7': polarity 'bad'"),
        (OLD.replace('"27"', '"28"'), f":3: sentence '7': {FOOD} 28 to 31, found 'ood'"),
        (OLD.replace('to="31"', 'to="3100"'), f"{FOOD} 27 to 3100, found 'food"),
        (OLD.replace('"27"', '"-4"'), ":3: sentence '7': from='-4' to='31' of 'food'"),
        (OLD.replace('id="8"', "").replace("Nothing here.", " "), ":13: expected a text that"),
        (OLD.replace("aspectTerm ", "term "), "no target found; expected <aspectTerm>"),
        (BOMB, "^[^(]*f:2: a document type .* is refused"),
        (BOMB.replace("[<!", 'SYSTEM "file:///etc/passwd" [<!'), ":2: a document type"),
        (OLD.replace("utf-8", "klingon"), "not well-formed XML in UTF-8 .unknown encoding"),
        ("plain text", "not well-formed XML.*line 1"),
    ],
    "fourth column": [("a b\nc d\n", ":1: expected a column 3")],
    "tag before": [("a b\nc d\n", ":1: expected a column -3")],
    "columns": [
        ("a\tO\n\tO\n", ":2: column 0 is empty"),
        ("a\tO\nb\t\n", ":2: column -1 is empty"),
        ("a O\n\nb x O\n", ":3: expected 2 columns.*found 3"),
        ("-DOCSTART- O\n\n", "f: no sentence"),
    ],
    "conllu": [
        ("1\ta\t_\tX\t_\t_\t_\t_\t_\n", ":1: expected 10 columns.*found 9"),
        (SENTENCE + SENTENCE.replace("PART", "_"), ":13: .*no upos tag"),
        (SENTENCE.replace("n't\tnot", "\tnot"), ":5: the word is empty"),
        (SENTENCE.replace("3\tgo", "x\tgo"), ":7: .*a word's number.*found 'x'"),
        ("# only a comment\n", "f: no sentence"),
    ],
    "entities": [
        (SENTENCE[:-3] + "Entity=1)\n", ":7: mention '1' closes but never opened"),
        (SENTENCE[:-3] + "Entity=(1)\n", ":7: .*no type"),
        ("# global.Entity = GRP-kind\n" + SENTENCE, ":1: .*names no etype"),
    ],
    "tempeval3": [
        (EVENTS.replace("NN\tB-EVENT", "NN\tB-WAR"), ":2: 'B-WAR' is no"),
        (EVENTS.replace("DT\tO", "DT\tNone"), ":1: 'None' is not an event tag; expected columns"),
        ('<?xml version="1.0" ?>\n<TimeML>\n', ":2: expected 3 columns"),
        ("\n<TimeML>\n", ":2: word and tag are both column 0 of 1"),
    ],
    "tagged text": [("a O\n" * 501, "f:1: the file is one sentence of 501 words")],
    "vectors": [
        ("a 1 2\nb 3\n", ":2: expected a word and 2 numbers, found 1"),
        ("a 1 2\nb 3 4 5\n", ":2: expected a word and 2 numbers, found 3"),
        ("a 1 2\nb 3 x\n", ":2: expected numbers"),
        ("a 1 2\nb nan 4\n", ":2: a vector holds nan"),
        ("a 1 2\nb 3 1e50\n", r":2: a vector holds 1e\+50"),
        ("5 ²\n", ":1: expected numbers"),
        ("2 3\n", "f: no vectors found"),
        ("a,1,2\nb,3,4\n", ":1: expected a word and its numbers behind blanks, found 0"),
        ("a\t1\t2\nb\t3\t4\n", ":1: expected blanks between word and numbers, found a tab"),
        ("a; 1; 2\nb; 3; 4\n", ":1: expected numbers after the word, found '1;'"),
    ],
    "red": [
        ("3 2\nred 1 2\nblue 3 4\n", "f: .*promises 3 vectors, found 2"),
        ("1 2\nred 1 2\nblue 3 4\n", "f: .*promises 1 vectors, found 2"),
    ],
}


@pytest.mark.parametrize("reader", CASES)
def test_refused(reader: str, tmp_path: Path) -> None:
    """Dies if a damaged line is skipped, cut, padded or misread in silence, an entity is expanded,
    a block that lost a line shifts all others, or the error names no line or another's."""
    for content, message in CASES[reader]:
        (tmp_path / "f").write_text(content)
        with pytest.raises(DataError, match=message) as caught:
            READERS[reader](tmp_path / "f")
        assert "\n" not in str(caught.value), content
