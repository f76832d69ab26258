"""Prepared sets: blocks of examples, formats and files that cannot be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow_datasets as tfds

from jaxeval.data import tfds_sets
from jaxeval.errors import DataError


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


def _prepare(folder: Path) -> Path:
    prepared = TinyNumbers(data_dir=folder, file_format="array_record")
    prepared.download_and_prepare()
    return Path(prepared.data_dir)


def _read(folder: Path) -> list[int]:
    builder = tfds_sets.open_set(f"tfds:{folder}")
    return [int(e["text"]) for e in tfds_sets.examples(builder, "train", "tfds:tiny")]


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_blocks_leave_no_trace(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if examples at the border of two blocks are lost, doubled or out of order."""
    monkeypatch.setattr(tfds_sets, "_BLOCK", block)
    assert _read(_prepare(tmp_path)) == list(range(7))


def test_a_format_that_needs_tensorflow(tmp_path: Path) -> None:
    """Dies if the error of tfds, of many lines, reaches the user."""
    folder = _prepare(tmp_path)
    info = folder / "dataset_info.json"
    info.write_text(info.read_text().replace("array_record", "tfrecord"))
    for file in folder.glob("*array_record*"):
        file.rename(folder / file.name.replace("array_record", "tfrecord"))
    with pytest.raises(DataError, match=r"prepared as tfrecord, which needs TensorFlow; prepare"):
        _read(folder)


def test_a_file_of_the_set_is_missing(tmp_path: Path) -> None:
    """Dies if the RuntimeError of array_record reaches the user."""
    folder = _prepare(tmp_path)
    next(folder.glob("*array_record*")).unlink()
    with pytest.raises(DataError, match="tfds:tiny: cannot be read"):
        _read(folder)


def test_a_damaged_description_of_the_set(tmp_path: Path) -> None:
    """Dies if an exception of tfds' own parser reaches the user."""
    folder = _prepare(tmp_path)
    info = folder / "dataset_info.json"
    info.write_text(info.read_text()[:-20])
    with pytest.raises(DataError, match=r"not a prepared tfds folder \(Failed to load JSON"):
        _read(folder)
