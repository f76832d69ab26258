"""Sets prepared by tensorflow-datasets: tagged sentences and texts, read without TensorFlow."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tensorflow_datasets as tfds

from jaxeval.data import tfds as sets
from jaxeval.data.schemes import Sentence
from jaxeval.errors import DataError

EXAMPLES = {
    "train": [(["Zoë", "runs"], ["B-PER", "O"]), (["Hi"], ["O"]), ([], [])],
    "validation": [(["Bo"], ["B-PER"])],
    "test": [(["She", "left"], ["O", "O"])],
}


class TinyTags(tfds.core.GeneratorBasedBuilder):
    """Three parts, the last training sentence empty, as tfds' own CoNLL reader leaves it."""

    VERSION = tfds.core.Version("1.0.0")
    parts: ClassVar = EXAMPLES

    def _info(self) -> Any:
        names = ["O", "B-PER", "I-PER"]
        features = {
            "tokens": tfds.features.Sequence(tfds.features.Text()),
            "chunks": tfds.features.Sequence(tfds.features.Text()),
            "ner": tfds.features.Sequence(tfds.features.ClassLabel(names=names)),
        }
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager: Any) -> Any:
        return {name: self._generate_examples(name) for name in self.parts}

    def _generate_examples(self, name: str) -> Iterator[tuple[int, dict[str, list[str]]]]:
        for key, (tokens, tags) in enumerate(self.parts[name]):
            yield key, {"tokens": tokens, "chunks": [t.lower() for t in tokens], "ner": tags}


def _prepare(builder: type[TinyTags], folder: Path) -> str:
    dataset = builder(data_dir=folder, file_format="array_record")
    dataset.download_and_prepare()
    return f"tfds:{dataset.data_dir}"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _prepare(TinyTags, tmp_path_factory.mktemp("tfds"))


def test_a_prepared_folder_without_tensorflow(prepared: str) -> None:
    """Dies if words stay bytes, tags stay numbers, an empty sentence stays, or TF is loaded."""
    parts = sets.sentences(prepared)
    assert sorted(parts["train"]) == [
        Sentence(("Hi",), ("O",)),
        Sentence(("Zoë", "runs"), ("B-PER", "O")),
    ]
    assert parts["dev"] == [Sentence(("Bo",), ("B-PER",))]
    assert parts["test"] == [Sentence(("She", "left"), ("O", "O"))]
    assert "tensorflow" not in sys.modules


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
