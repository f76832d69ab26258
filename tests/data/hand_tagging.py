"""A hand-made corpus of tagged sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxeval.data import corpora, tagging, words

HAND = {
    "train": "Red S-COL\ndog O\n\nred S-COL\nfox O\nran O\nfar9 O\n",
    "dev": "blue S-COL\ndog O\n",
    "test": "fox O\nowl O\n",
}
VECTORS = "owl 1 2\nred 3 4\n<unk> 5 6\nother 7 8\n"


def settings(folder: Path, parts: Mapping[str, str] = HAND, **changes: Any) -> tagging.TaggingData:
    folder.mkdir(exist_ok=True)
    for part, content in parts.items():
        (folder / part).write_text(content)
    return tagging.TaggingData(source=tagging.SentenceSource(path=str(folder)), **changes)


def vector_file(folder: Path, content: str) -> Path:
    file = folder / "vectors"
    file.write_text(content)
    return file


def with_vectors(folder: Path, content: str = VECTORS, **changes: Any) -> tagging.TaggingData:
    return settings(folder, vectors=str(vector_file(folder.parent, content)), **changes)


def forms(settings: tagging.TaggingData) -> list[str]:
    """The forms by number, as the docstring of the module orders them."""
    parts = tagging.read(settings)[0].values()
    return ["", *sorted({word for part in parts for s in part for word in s.words})]


def named(
    settings: tagging.TaggingData, tagged: corpora.WordCorpus, name: str, split: int = 0
) -> set[str]:
    """The forms whose row is marked in a table of a split."""
    table, row = tagged.split(split).tables[name], tagged.table.row
    numbered = enumerate(forms(settings))
    return {form for f, form in numbered if row[f] > words.UNKNOWN and table[row[f]]}
