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


class TinyNumbers(tfds.core.GeneratorBasedBuilder):
    """Seven numbers in order."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> Any:
        features = tfds.features.FeaturesDict({"text": tfds.features.Text()})
        return tfds.core.DatasetInfo(builder=self, features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> Any:
        return {"train": self._generate_examples()}

    def _generate_examples(self) -> Iterator[tuple[int, dict[str, str]]]:
        for key in range(7):
            yield key, {"text": str(key)}


def _prepare_many(folder: Path) -> Path:
    prepared = TinyNumbers(data_dir=folder, file_format="array_record")
    prepared.download_and_prepare()
    return Path(prepared.data_dir)


def _read_many(folder: Path) -> list[int]:
    return [int(line) for line in sets.texts(f"tfds:{folder}")["train"]]


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_blocks_leave_no_trace(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if examples at the border of two blocks are lost, doubled or out of order."""
    monkeypatch.setattr(sets, "_BLOCK", block)
    assert _read_many(_prepare_many(tmp_path)) == list(range(7))


def test_a_format_that_needs_tensorflow(tmp_path: Path) -> None:
    """Dies if the error of tfds, of many lines, reaches the user."""
    folder = _prepare_many(tmp_path)
    info = folder / "dataset_info.json"
    info.write_text(info.read_text().replace("array_record", "tfrecord"))
    for file in folder.glob("*array_record*"):
        file.rename(folder / file.name.replace("array_record", "tfrecord"))
    with pytest.raises(DataError, match=r"prepared as tfrecord, which needs TensorFlow; prepare"):
        _read_many(folder)
