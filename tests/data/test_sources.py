"""Where sentences come from: files found by pattern, tfds, the generated corpus; tag schemes."""

from pathlib import Path

import pytest

from jaxeval import studies
from jaxeval.data import generated, sources, tfds_source
from jaxeval.data.sentences import Sentence
from jaxeval.errors import ConfigError, DataError

CONLL = "Ann NNP B-PER\nLee NNP I-PER\nruns VBZ O\n"
CONLLU = "1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tEntity=(1-event-x)\n"


def _folder(folder: Path, content: str, end: str = ".txt") -> sources.SentenceSource:
    for part in ("train", "dev", "test"):
        (folder / f"my_{part}{end}").write_text(content, encoding="utf-8")
    return sources.SentenceSource(path=str(folder))


def _tags(source: sources.SentenceSource) -> tuple[str, ...]:
    return sources.read(source, "iobes").parts["train"][0].tags


def test_entity_tags_are_converted(tmp_path: Path) -> None:
    """Dies if the scheme asked for is ignored."""
    source = _folder(tmp_path, CONLL)
    assert _tags(source) == ("B-PER", "E-PER", "O")
    assert sources.read(source, "bio").parts["dev"][0].tags == ("B-PER", "I-PER", "O")
    assert sources.read(source, "iobes").entities


def test_iobes_files_are_recognised(tmp_path: Path) -> None:
    """Dies if E- and S- do not tell IOBES from BIO."""
    assert _tags(_folder(tmp_path, "Ann S-PER\nruns O\n")) == ("S-PER", "O")


def test_iob1_must_be_named(tmp_path: Path) -> None:
    """Dies if IOB1 is repaired silently, or the message does not name file, line and remedy."""
    source = _folder(tmp_path, "runs O\nAnn I-PER\n")
    with pytest.raises(DataError, match=r"my_train\.txt:2: .*data\.source\.scheme=iob1"):
        sources.read(source, "bio")
    assert _tags(sources.SentenceSource(path=source.path, scheme="iob1")) == ("O", "S-PER")


@pytest.mark.parametrize("content", ["go VERB\non ADP\n", "go O\n", "go S\n"])
def test_other_tags_are_not_entities(content: str, tmp_path: Path) -> None:
    """Dies if part-of-speech tags are parsed, or tags that are all O are spans."""
    source = _folder(tmp_path, content)
    parts, scheme = sources.read(source, "iobes")
    assert parts["train"][0].tags == tuple(content.split()[1::2])
    assert scheme == "none"


def test_the_scheme_none_leaves_entity_tags_alone(tmp_path: Path) -> None:
    """Dies if tags are converted though the config says that they are no entities."""
    source = _folder(tmp_path, "runs O\nAnn I-PER\n").path
    assert _tags(sources.SentenceSource(path=source, scheme="none")) == ("O", "I-PER")


def test_columns_and_formats(tmp_path: Path) -> None:
    """Dies if the columns are not handed on."""
    path = _folder(tmp_path, CONLL).path
    assert _tags(sources.SentenceSource(path=path, tag_column=1)) == ("NNP", "NNP", "VBZ")
    assert sources.read(sources.SentenceSource(path=path, word_column=1), "bio").parts["test"][
        0
    ].words == (*("NNP", "NNP", "VBZ"),)


def test_conllu_by_its_name_or_by_the_config(tmp_path: Path) -> None:
    """Dies if *.conllu is read as columns, or `tag` is ignored."""
    path = _folder(tmp_path, CONLLU, ".conllu").path
    assert _tags(sources.SentenceSource(path=path)) == ("VERB",)
    assert _tags(sources.SentenceSource(path=path, tag="entity")) == ("S-event",)
    (tmp_path / "plain").mkdir()
    plain = _folder(tmp_path / "plain", CONLLU).path
    assert _tags(sources.SentenceSource(path=plain, format="conllu", tag="xpos")) == ("VB",)


def test_no_file_or_several_fit(tmp_path: Path) -> None:
    """Dies if one of several files is taken by chance, or the message does not list them."""
    source = _folder(tmp_path, CONLL)
    (tmp_path / "old_train.txt").write_text(CONLL)
    with pytest.raises(
        DataError, match=r"2 files fit the train .*: my_train\.txt, old_train\.txt; set"
    ):
        sources.read(source, "bio")
    named = sources.SentenceSource(path=source.path, train="my_train.txt")
    assert len(sources.read(named, "bio").parts["train"]) == 1
    missing = sources.SentenceSource(path=source.path, train="old*", test="*gold*")
    with pytest.raises(DataError, match=r"no file fits the test pattern.*data\.source\.test=NAME"):
        sources.read(missing, "bio")


def test_a_missing_folder(tmp_path: Path) -> None:
    """Dies if an OSError reaches the user, also where the path is a file."""
    (tmp_path / "file").write_text(CONLL)
    for name, what in (("none", "no such folder"), ("file", "a file; expected the folder of")):
        with pytest.raises(DataError, match=f"{name}: {what}"):
            sources.read(sources.SentenceSource(path=str(tmp_path / name)), "bio")


def test_without_a_path_the_corpus_is_generated() -> None:
    """Dies if the seed is not handed on, or the tags stay BIO."""
    read = sources.read(sources.SentenceSource(seed=3), "bio")
    assert read.parts == generated.parts(3)
    assert "S-PER" in {
        t for s in sources.read(sources.SentenceSource(), "iobes").parts["dev"] for t in s.tags
    }


def test_tfds_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a tfds name is a folder's, its tag feature is lost, or an error names no part."""
    loaded = []

    def read(name: str, feature: str | None) -> dict[str, list[Sentence]]:
        loaded.append((name, feature))
        return {p: [Sentence(("a",), ("I-X" if p == "dev" else "B-X",))] for p in ("train", "dev")}

    monkeypatch.setattr(tfds_source, "read", read)
    with pytest.raises(DataError, match=r"tfds:my \(dev\): sentence 1, word 1"):
        sources.read(sources.SentenceSource(path="tfds:my", tag_feature="pos"), "bio")
    assert loaded == [("tfds:my", "pos")]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("foo o", r"my_train\.txt:4: tag 'o' is not of scheme bio; .*data\.source\.scheme=none"),
        ("foo 0", "tag '0' is not of scheme bio"),
        ("foo X", "tag 'X' is not of scheme bio"),
        ("foo U-PER", "tag 'U-PER' is not of scheme bio"),
        ("foo B", "tag 'B' is not of scheme bio"),
        ("foo b-PER", "tag 'b-PER' is not of scheme bio"),
    ],
)
def test_an_odd_tag_among_entities_is_refused(last: str, message: str, tmp_path: Path) -> None:
    """Dies if one tag turns the F1 of entities into accuracy, or its line is not named."""
    with pytest.raises(DataError, match=message):
        sources.read(_folder(tmp_path, f"Ann B-PER\nLee I-PER\nruns O\n{last}\n"), "iobes")


def test_bare_prefixes_are_refused(tmp_path: Path) -> None:
    """Dies if B, I and O without a type are scored as three classes; two of them may be words."""
    source = _folder(tmp_path, "Ann B\nLee I\nruns O\n")
    with pytest.raises(DataError, match=r"txt:1: tag 'B' .* expected O, B-TYPE, I-TYPE"):
        sources.read(source, "bio")
    (tmp_path / "c").mkdir()
    assert not sources.read(_folder(tmp_path / "c", "Ann B\nLee I\nruns E\n"), "bio").entities


def test_a_tag_that_looks_like_an_entity_among_classes(tmp_path: Path) -> None:
    """Dies if one odd class makes entities of all tags."""
    tagged = _folder(tmp_path, "go VERB\non ADP\nas S-CONJ\n")
    assert not sources.read(tagged, "bio").entities


def test_an_empty_path(tmp_path: Path) -> None:
    """Dies if it is read as the folder in which the job was started."""
    with pytest.raises(ConfigError, match=r"data\.source\.path: .* at least 1 character"):
        studies.read(None, ['data.source.path=""'])
