"""Sets prepared by tensorflow-datasets: tagged sentences and texts, read without TensorFlow."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow_datasets as tfds

from jaxeval.data import language, text
from jaxeval.data import tfds as sets
from jaxeval.data.conll import Sentence
from jaxeval.errors import DataError

EXAMPLES = {
    "train": [
        (["Zoë", "runs"], ["B-PER", "O"], "Zoë runs\n\nshe  left"),
        (["Hi"], ["O"], "closed\n"),
        ([], [], "a\u2028b\r\nc"),
    ],
    "validation": [(["Bo"], ["B-PER"], "Bo")],
    "test": [(["She", "left"], ["O", "O"], "so\n\n")],
}


class TinyTags(tfds.core.GeneratorBasedBuilder):
    """Three parts, the last training sentence empty, as tfds' own CoNLL reader leaves it."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> Any:
        names = ["O", "B-PER", "I-PER"]
        words = tfds.features.Sequence(tfds.features.Text())
        tags = tfds.features.Sequence(tfds.features.ClassLabel(names=names))
        features = {"tokens": words, "chunks": words, "ner": tags}
        features["sentence"] = tfds.features.Text()
        named = tfds.features.FeaturesDict(features)
        return tfds.core.DatasetInfo(builder=self, features=named, disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> Any:
        return {name: self._generate_examples(name) for name in EXAMPLES}

    def _generate_examples(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, (tokens, tags, content) in enumerate(EXAMPLES[name]):
            chunks = [token.lower() for token in tokens]
            yield key, {"tokens": tokens, "chunks": chunks, "ner": tags, "sentence": content}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> str:
    dataset = TinyTags(data_dir=tmp_path_factory.mktemp("tfds"), file_format="array_record")
    dataset.download_and_prepare()
    return f"tfds:{dataset.data_dir}"


def test_a_prepared_folder_without_tensorflow(prepared: str) -> None:
    """Dies if words stay bytes, tags stay numbers, an empty sentence stays, or TF is loaded."""
    parts = sets.sentences(prepared)
    assert parts["train"] == [Sentence(("Zoë", "runs"), ("B-PER", "O")), Sentence(("Hi",), ("O",))]
    assert parts["dev"] == [Sentence(("Bo",), ("B-PER",))]
    assert parts["test"] == [Sentence(("She", "left"), ("O", "O"))]
    assert "tensorflow" not in sys.modules


def test_lines_of_texts(prepared: str) -> None:
    """Dies if validation is not dev, an example's lines run together, or a newline is doubled."""
    parts = language._pieces(language.LanguageData(path=prepared))
    lines = {part: [*text.iterate_lines(name, raw)] for part, (name, raw) in parts.items()}
    assert lines == {
        "train": ["Zoë runs", "", "she  left", "closed", "a\u2028b", "c"],
        "dev": ["Bo"],
        "test": ["so", ""],
    }


def test_a_missing_feature_names_those_there(prepared: str) -> None:
    """Dies if a KeyError reaches the user, or another feature is taken instead."""
    with pytest.raises(DataError, match=r"no feature.*among pos; it has .*chunks"):
        sets.sentences(prepared, "pos")


@pytest.mark.timeout(30)
def test_not_prepared_fails_at_once_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a download is tried, or conll2003, hidden without TensorFlow, is not found."""
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"not prepared.*run: python -c .*download_and_prepare"):
        sets.sentences("tfds:conll2003")


def test_blocks_leave_no_trace(prepared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if examples at the border of two blocks are lost, doubled or out of order."""
    whole = sets.sentences(prepared)
    monkeypatch.setattr(sets, "_BLOCK", 1)
    assert sets.sentences(prepared) == whole
