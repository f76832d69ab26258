"""Small sets of texts, prepared with tensorflow-datasets in the order in which they stand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import tensorflow_datasets as tfds


class TinyTexts(tfds.core.GeneratorBasedBuilder):
    """Examples of several lines, closed by a newline, empty, with other ends of lines."""

    VERSION = tfds.core.Version("1.0.0")
    parts: ClassVar[dict[str, list[str | bytes]]] = {
        "train": ["Zoë runs\n\nshe  left", "closed\n", "", "a\u2028b\r\nc"],
        "validation": ["Bo"],
        "test": ["so\n\n"],
    }

    def _info(self) -> Any:
        features = {
            "label": tfds.features.ClassLabel(names=["no", "yes"]),
            "article": tfds.features.Text(),
            "sentence": tfds.features.Text(),
        }
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(features),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: Any) -> Any:
        return {name: self._generate_examples(name) for name in self.parts}

    def _generate_examples(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, text in enumerate(self.parts[name]):
            yield key, {"label": key % 2, "sentence": text, "article": f"About {key}"}


def prepare(builder: type[TinyTexts], folder: Path) -> str:
    """Writes a set under a folder; its name for jaxeval."""
    prepared = builder(data_dir=folder, file_format="array_record")
    prepared.download_and_prepare()
    return f"tfds:{prepared.data_dir}"
