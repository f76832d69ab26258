"""Columns: CoNLL, CoNLL-U with GUM's mentions, TempEval-3; damage stands in test_malformed.py."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxeval.data import conll, tagging
from jaxeval.data.conll import Sentence

CONLL2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""


def _write(folder: Path, content: str) -> Path:
    path = folder / "corpus"
    path.write_text(content, encoding="utf-8")
    return path


def test_conll2003_layout(tmp_path: Path) -> None:
    """Dies if a -DOCSTART- line becomes a word, or line numbers skip the lines left out."""
    assert conll.read_columns(_write(tmp_path, CONLL2003)) == [
        Sentence(("EU", "rejects"), ("B-ORG", "O"), (3, 4)),
        Sentence(("Peter",), ("B-PER",), (8,)),
    ]


@pytest.mark.parametrize("blank", ["\t", " "])
@pytest.mark.parametrize("comment", ["# text = # 1", "# id 7", "# id f-9\tdomain=en", "# a b"])
def test_comments_above_a_sentence(tmp_path: Path, comment: str, blank: str) -> None:
    """Dies if a comment is a word, or the word # is none, at the beginning or behind it."""
    rows = ["# _ _ O", "a _ _ B-X", "# _ _ O"]
    sentence = "\n".join(row.replace(" ", blank) for row in rows)
    read = conll.read_columns(_write(tmp_path, f"{comment}\n# b\n{sentence}\n\n{sentence}\n"))
    words, tags = ("#", "a", "#"), ("O", "B-X", "O")
    assert read == [Sentence(words, tags, (3, 4, 5)), Sentence(words, tags, (7, 8, 9))]


def test_blanks(tmp_path: Path) -> None:
    """Dies if only an empty line ends a sentence (WNUT-17), two make an empty one, a line with
    tabs is split at blanks, or one with blanks at U+00A0."""
    read = conll.read_columns(_write(tmp_path, "New York\tO\n\t\t\n \n\nb c\tO\n  \nd\tO"))
    assert [sentence.words for sentence in read] == [("New York",), ("b c",), ("d",)]
    assert conll.read_columns(_write(tmp_path, "10\u00a0000   CD\n"))[0].words == ("10\u00a0000",)


SENTENCE = """# sent_id = 1
# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\tPRP\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t1\txcomp\t_\t_

"""


def _write_conllu(folder: Path, content: str) -> Path:
    path = folder / "corpus.conllu"
    path.write_text(content, encoding="utf-8")
    return path


def _entities(folder: Path, fields: Sequence[str], header: str = "") -> tuple[str, ...]:
    """Tags of one sentence, given the last column of each word."""
    lines = [f"{i}\tw{i}" + "\t_" * 7 + f"\t{misc}\n" for i, misc in enumerate(fields, 1)]
    return conll.read_conllu(_write_conllu(folder, header + "".join(lines)), "entity")[0].tags


def test_ranges_empty_nodes_and_comments_are_left_out(tmp_path: Path) -> None:
    """Dies if 1-2 or 2.1 is a word, or upos and xpos are swapped."""
    path = _write_conllu(tmp_path, SENTENCE + SENTENCE)
    first, second = conll.read_conllu(path)
    assert first.words == second.words == ("Do", "n't", "go")
    assert first.tags == ("AUX", "PART", "VERB")
    assert (first.lines, second.lines) == ((4, 5, 7), (12, 13, 15))
    assert conll.read_conllu(path, "xpos")[0].tags == ("VB", "RB", "VB")


def test_the_twelve_universal_tags(tmp_path: Path) -> None:
    """Dies if a tag of UD that Petrov et al. (2012) lack stays, or another changes."""
    twelve = {
        **{"ADJ": "ADJ", "ADP": "ADP", "ADV": "ADV", "AUX": "VERB", "CCONJ": "CONJ"},
        **{"DET": "DET", "INTJ": "X", "NOUN": "NOUN", "NUM": "NUM", "PART": "PRT"},
        **{"PRON": "PRON", "PROPN": "NOUN", "PUNCT": ".", "SCONJ": "CONJ", "SYM": "X"},
        **{"VERB": "VERB", "X": "X"},
    }
    lines = [f"{i}\tw\tw\t{tag}" + "\t_" * 6 + "\n" for i, tag in enumerate(twelve, 1)]
    path = _write_conllu(tmp_path, "".join(lines))
    assert conll.read_conllu(path, "universal")[0].tags == tuple(twelve.values())
    assert conll.read_conllu(path)[0].tags == tuple(twelve)
    assert len({*twelve.values()}) == 12


def test_outermost_mentions(tmp_path: Path) -> None:
    """Dies if a mention inside another wins, or one at a single word or without an end is lost."""
    fields = [
        "Entity=(1-person-new-x(2-place-new-x)",
        "SpaceAfter=No",
        "Entity=(3-time-new-x)1)",
        "_",
        "Discourse=a:1->2:3|Entity=(4-event-giv:act-x-9)|XML=<w>",
    ]
    assert _entities(tmp_path, fields) == ("B-person", "I-person", "I-person", "O", "B-event")
    assert _entities(tmp_path, ["_", "Entity=(1-person-x", "_"]) == ("O", "B-person", "I-person")
    header = "# global.Entity = GRP-infstat-etype\n"
    assert _entities(tmp_path, ["Entity=(1-new-person)"], header) == ("B-person",)


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
def test_gum_dev() -> None:
    """Dies if sentences or mentions are lost: 1,341 sentences, all with legal BIO tags."""
    folder = Path(os.environ["JAXEVAL_DATA"]) / "ud_english_gum"
    read = conll.read_conllu(folder / "en_gum-ud-dev.conllu", "entity")
    assert len(read) == 1341
    kinds = {span.kind for s in read for span in conll.lenient_spans(s.tags)}
    assert kinds == {
        *("abstract", "animal", "event", "object", "organization"),
        *("person", "place", "plant", "substance", "time"),
    }


EVENTS = "The\tDT\tO\nwar\tNN\tB-EVENT\nended\tVBD\tB-EVENT\n\nNow\tRB\tO\n"
CLASSES = "He\tPRP\tO\nsaid\tVBD\tREPORTING\nfighting\tNN\tOCCURRENCE\nended\tVBD\tOCCURRENCE\n"


def _read_events(folder: Path, content: str, *columns: int) -> list:
    path = folder / "train.txt"
    path.write_text(content)
    return conll.read_tempeval3(path, *columns)


def test_classes_become_events_of_one_word(tmp_path: Path) -> None:
    """Dies if classes stay plain classes (scored by accuracy), or neighbours become one event."""
    (sentence,) = _read_events(tmp_path, CLASSES)
    assert sentence.tags == ("O", "B-REPORTING", "B-OCCURRENCE", "B-OCCURRENCE")
    for part in ("dev", "test"):
        (tmp_path / f"{part}.txt").write_text(CLASSES)
    source = tagging.SentenceSource(path=str(tmp_path), format="tempeval3")
    parts, entities = tagging.read(tagging.TaggingData(source=source, scheme="iobes"))
    assert entities and parts["dev"][0].tags[1:] == ("S-REPORTING", "S-OCCURRENCE", "S-OCCURRENCE")
