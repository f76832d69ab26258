"""Labelled sentences from TensorFlow Datasets, read without TensorFlow."""

from collections.abc import Iterable, Sequence

from jaxeval.data import tfds_sets
from jaxeval.data.sentences import Sentence

_WORDS = ("tokens", "words", "forms", "text")
_TAGS = ("ner", "tags", "upos", "pos")


def read(name: str, tag_feature: str | None = None) -> dict[str, list[Sentence]]:
    """Train, dev and test sentences of `tfds:NAME` or of a prepared folder `tfds:/path`.

    The set must have been prepared on this machine (nothing is downloaded here), in a format that
    reads without TensorFlow (array_record).

    Args:
      name: such as "tfds:conll2003" or "tfds:/data/mine/1.0.0".
      tag_feature: feature of the tags; None takes the first of ner, tags, upos, pos.

    Raises:
      DataError: unknown or not prepared, a part or feature that is not there.
    """
    builder = tfds_sets.open_set(name)
    key = "data.source.tag_feature"
    words = tfds_sets.feature(builder, _WORDS, "words", key, name)
    candidates = (tag_feature,) if tag_feature else _TAGS
    tags = tfds_sets.feature(builder, candidates, "tags", key, name)
    names = getattr(getattr(builder.info.features[tags], "feature", None), "names", None)
    parts = tfds_sets.splits(builder, tuple(tfds_sets.SPLITS), name)
    return {
        part: _sentences(tfds_sets.examples(builder, split, name), words, tags, names)
        for part, split in parts.items()
    }


def _sentences(
    examples: Iterable[tfds_sets.Example], words: str, tags: str, names: Sequence[str] | None
) -> list[Sentence]:
    sentences = []
    for example in examples:
        tokens = tuple(_text(token) for token in example[words])
        labels = tuple(_label(tag, names) for tag in example[tags])
        if tokens:  # tfds' CoNLL reader adds an empty sentence at the end of a file
            sentences.append(Sentence(tokens, labels))
    return sentences


def _text(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _label(value: bytes | str | int, names: Sequence[str] | None) -> str:
    return _text(value) if names is None else names[int(value)]
