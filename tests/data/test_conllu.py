"""CoNLL-U tags and GUM's entity mentions; what all readers share stands in test_malformed.py."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxeval.data import conllu, schemes
from jaxeval.errors import DataError

SENTENCE = """# sent_id = 1
# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\tPRP\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t1\txcomp\t_\t_

"""


def _write(folder: Path, content: str) -> Path:
    path = folder / "corpus.conllu"
    path.write_text(content, encoding="utf-8")
    return path


def _entities(folder: Path, fields: Sequence[str], header: str = "") -> tuple[str, ...]:
    """Tags of one sentence, given the last column of each word."""
    lines = [f"{i}\tw{i}" + "\t_" * 7 + f"\t{misc}\n" for i, misc in enumerate(fields, 1)]
    return conllu.read(_write(folder, header + "".join(lines)), "entity")[0].tags


def test_ranges_empty_nodes_and_comments_are_left_out(tmp_path: Path) -> None:
    """Dies if 1-2 or 2.1 is a word, or upos and xpos are swapped."""
    path = _write(tmp_path, SENTENCE + SENTENCE)
    first, second = conllu.read(path)
    assert first.words == second.words == ("Do", "n't", "go")
    assert first.tags == ("AUX", "PART", "VERB")
    assert (first.lines, second.lines) == ((4, 5, 7), (12, 13, 15))
    assert conllu.read(path, "xpos")[0].tags == ("VB", "RB", "VB")


def test_the_twelve_universal_tags(tmp_path: Path) -> None:
    """Dies if a tag of UD that Petrov et al. (2012) lack stays, or another changes."""
    twelve = {
        **{"ADJ": "ADJ", "ADP": "ADP", "ADV": "ADV", "AUX": "VERB", "CCONJ": "CONJ"},
        **{"DET": "DET", "INTJ": "X", "NOUN": "NOUN", "NUM": "NUM", "PART": "PRT"},
        **{"PRON": "PRON", "PROPN": "NOUN", "PUNCT": ".", "SCONJ": "CONJ", "SYM": "X"},
        **{"VERB": "VERB", "X": "X"},
    }
    lines = [f"{i}\tw\tw\t{tag}" + "\t_" * 6 + "\n" for i, tag in enumerate(twelve, 1)]
    path = _write(tmp_path, "".join(lines))
    assert conllu.read(path, "universal")[0].tags == tuple(twelve.values())
    assert conllu.read(path)[0].tags == tuple(twelve)
    assert len({*twelve.values()}) == 12


def test_outermost_mentions(tmp_path: Path) -> None:
    """Dies if a mention inside another wins, or one that opens and closes at a word is lost."""
    fields = [
        "Entity=(1-person-new-x(2-place-new-x)",
        "SpaceAfter=No",
        "Entity=(3-time-new-x)1)",
        "_",
        "Discourse=a:1->2:3|Entity=(4-event-giv:act-x-9)|XML=<w>",
    ]
    assert _entities(tmp_path, fields) == ("B-person", "I-person", "I-person", "O", "B-event")


def test_a_mention_inside_one_of_the_same_group(tmp_path: Path) -> None:
    """Dies if a closing bracket closes the outer of two open mentions of one group."""
    fields = ["Entity=(1-person-x", "Entity=(1-person-x", "Entity=1)", "Entity=1)", "_"]
    assert _entities(tmp_path, fields) == ("B-person", "I-person", "I-person", "I-person", "O")


def test_neighbours_stay_apart(tmp_path: Path) -> None:
    """Dies if mentions that touch become one."""
    fields = ["Entity=(1-person-x", "Entity=1)", "Entity=(2-person-x)"]
    assert _entities(tmp_path, fields) == ("B-person", "I-person", "B-person")


def test_several_brackets_at_one_word(tmp_path: Path) -> None:
    """Dies if only the first or the last bracket of a word is read."""
    fields = [
        "Entity=(1-person-x)(2-place-x)",
        "Entity=(3-time-x(4-plant-x)",
        "Entity=(5-act-x)3)",
    ]
    assert _entities(tmp_path, fields) == ("B-person", "B-time", "I-time")


def test_an_unclosed_mention_ends_with_its_sentence(tmp_path: Path) -> None:
    """Dies if it is dropped, refused, or goes on in the next sentence."""
    fields = ["_", "Entity=(1-person-x", "_"]
    assert _entities(tmp_path, fields) == ("O", "B-person", "I-person")
    line = "\t_" * 7 + "\t"
    content = f"1\ta{line}Entity=(1-person-x\n\n1\tb{line}_\n"
    assert conllu.read(_write(tmp_path, content), "entity")[1].tags == ("O",)


def test_crossing_mentions(tmp_path: Path) -> None:
    """Dies if a mention that crosses an earlier one overwrites its end."""
    fields = ["Entity=(1-person-x", "Entity=(2-place-x", "Entity=1)", "Entity=2)"]
    assert _entities(tmp_path, fields) == ("B-person", "I-person", "I-person", "O")


def test_parts_of_an_interrupted_mention(tmp_path: Path) -> None:
    """Dies if the part's number is taken for a type, or parts do not close."""
    fields = ["Entity=(5[1/2]-place-x)", "_", "Entity=(5[2/2]-place-x", "Entity=5[2/2])"]
    assert _entities(tmp_path, fields) == ("B-place", "O", "B-place", "I-place")


def test_the_header_says_where_the_type_stands(tmp_path: Path) -> None:
    """Dies if the type is always the second field."""
    header = "# global.Entity = GRP-infstat-etype\n"
    assert _entities(tmp_path, ["Entity=(1-new-person)"], header) == ("B-person",)


@pytest.mark.parametrize(
    ("content", "tag", "line", "message"),
    [
        ("1\ta\t_\tX\t_\t_\t_\t_\t_\n", "upos", 1, "expected 10 columns.*found 9"),
        (SENTENCE + SENTENCE.replace("PART", "_"), "upos", 13, "no upos tag"),
        (SENTENCE.replace("n't\tnot", "\tnot"), "upos", 5, "the word is empty"),
        (SENTENCE.replace("3\tgo", "x\tgo"), "upos", 7, "a word's number.*found 'x'"),
        (SENTENCE[:-3] + "Entity=1)\n", "entity", 7, "mention '1' closes but never opened"),
        (SENTENCE[:-3] + "Entity=(1)\n", "entity", 7, "no type"),
        ("# global.Entity = GRP-kind\n" + SENTENCE, "entity", 1, "names no etype"),
        ("# only a comment\n", "upos", None, "no sentence"),
    ],
)
def test_refused(
    content: str, tag: conllu.Tag, line: int | None, message: str, tmp_path: Path
) -> None:
    """Dies if a damaged line is skipped or its number is that of the sentence."""
    with pytest.raises(DataError, match=message) as caught:
        conllu.read(_write(tmp_path, content), tag)
    assert caught.value.line == line


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
def test_gum_dev() -> None:
    """Dies if sentences or mentions are lost: 1,341 sentences, all with legal BIO tags."""
    folder = Path(os.environ["JAXEVAL_DATA"]) / "ud_english_gum"
    read = conllu.read(folder / "en_gum-ud-dev.conllu", "entity")
    assert len(read) == 1341
    kinds = {span.kind for s in read for span in schemes.to_spans(s.tags, "bio")}
    assert kinds == {
        *("abstract", "animal", "event", "object", "organization"),
        *("person", "place", "plant", "substance", "time"),
    }
