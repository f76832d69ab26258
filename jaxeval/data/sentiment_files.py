"""Classified texts of the files that a config names, with drawn parts; unlabelled texts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.data import checks, generated, labelled_text, splits, text, words
from jaxeval.data.labelled_text import LabelledText, LabelledTexts, Target
from jaxeval.errors import DataError

_READERS: Mapping[str, Callable[[Path], LabelledTexts]] = {
    "semeval": labelled_text.read_semeval,
    "three_line": labelled_text.read_three_line,
    "json": labelled_text.read_json,
    "tsv": labelled_text.read_tsv,
    "sst": labelled_text.read_sst,
    "trec": labelled_text.read_trec,
}
_SUFFIXES = {
    **{".xml": "semeval", ".raw": "three_line", ".seg": "three_line"},
    **{".json": "json", ".jsonl": "json", ".tsv": "tsv"},
}
_PatternIfAny = Annotated[str | None, about("file name pattern; absent: drawn from train")]


@reading.settings
class SentimentSource:
    """Files, or the generated corpus."""

    path: fields.CorpusPath = None
    format: Annotated[
        Literal["auto", "semeval", "three_line", "json", "tsv", "sst", "trec"],
        about("auto: by .xml, .raw, .seg, .json, .jsonl, .tsv"),
    ] = "auto"
    train: fields.FilePattern = "*[Tt]rain*"
    dev: _PatternIfAny = "*[Dd]ev*"
    test: _PatternIfAny = "*[Tt]est*"
    seed: Annotated[fields.Natural, about("of the generated corpus, of drawn parts")] = 1
    sentences: Annotated[fields.Count, about("generated: of train; dev and test have half")] = 400


class Sentence(NamedTuple):
    """Words, and targets with positions in words."""

    words: tuple[str, ...]
    targets: tuple[Target, ...]


class TextParts(NamedTuple):
    """Texts by part, and the file that each part was read or drawn from."""

    parts: Mapping[str, Sequence[LabelledText]]
    targeted: bool  # whether labels are of targets
    tokenised: bool  # whether words are separated by blanks
    files: Mapping[str, str | Path]
    findings: checks.Findings  # drawn parts, targets left out


def read(source: SentimentSource, fractions: splits.Fractions) -> TextParts:
    """Returns the texts of train, dev and test.

    If the files have no test, it is a fraction of train's texts; dev is then drawn from the rest.
    Raises DataError: a file that cannot be read; files with and without targets; too few texts to
    draw from; a folder without train, or with a file that no pattern fits.
    """
    if source.path is None:
        parts = generated.texts(source.seed, source.sentences)
        named = dict.fromkeys(splits.PARTS, "generated corpus")
        return TextParts(parts, True, True, named, checks.Findings())
    files = text.find_parts(source, "data.source", ("train",), alone=True)
    found = {
        part: _READERS[text.detect_format(file, source.format, _SUFFIXES, _READERS)](file)
        for part, file in files.items()
    }
    train, remarks = found["train"], list[str]()
    texts = {part: [*own.texts] for part, own in found.items()}
    for part, own in found.items():
        if own.targeted != train.targeted:
            raise DataError(f"train and {part} differ: one has targets, one has none", source.path)
        if dropped := ", ".join(f"{n} {why}" for why, n in own.dropped.items()):
            remarks.append(f"{part}: targets dropped: {dropped}")
    for part in ("test", "dev"):
        if part not in files:
            fraction = getattr(fractions, part)
            texts["train"], texts[part] = _draw(source, texts["train"], part, fraction)
            drawn = f"{fraction:.0%} of train's texts, drawn by data.source.seed {source.seed}"
            remarks.insert(0, f"{part}: the files have none; it is {drawn}")
    facts = {part: dict(own.dropped) for part, own in found.items() if own.dropped}
    return TextParts(
        {part: texts[part] for part in splits.PARTS},
        train.targeted,
        train.tokenised,
        {part: files.get(part, files["train"]) for part in splits.PARTS},
        checks.Findings({"dropped_targets": facts} if facts else {}, remarks),
    )


def _draw(
    source: SentimentSource, texts: Sequence[LabelledText], part: str, fraction: float
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Draws a fraction of the different texts for a part; returns the other texts and these."""
    different = [*dict.fromkeys(each.text for each in texts)]
    size = int(fraction * len(different))
    if not size or size == len(different):
        message = f"{len(different)} texts are too few to draw {part} from"
        raise DataError(message, source.path)
    generator = np.random.default_rng([source.seed, splits.PARTS.index(part)])
    drawn = {different[k] for k in generator.permutation(len(different))[:size]}
    return [t for t in texts if t.text not in drawn], [t for t in texts if t.text in drawn]


def read_unlabelled(
    source: SentimentSource, path: Path, labels: Sequence[str], targeted: bool, tokenised: bool
) -> list[LabelledText]:
    """Reads the texts of a file: JSON or tab-separated lines as in training, else one text a line.

    Labels are optional and ignored. A file is tab-separated if it is named `*.tsv`, or if
    `source.format` says so. `labels, targeted, tokenised` are the classifier's. Raises DataError:
    a line without a text, or without a target if one is needed; labels in place of texts.
    """
    suffix = text.suffix(path)
    if _SUFFIXES.get(suffix) == "json":
        read_texts = labelled_text.read_json(path, labelled=False)
        if read_texts.targeted != targeted:
            needs = "a target in every line" if targeted else "texts without targets"
            raise DataError(f"expected {needs}, as the classifier was trained on", path)
        return [*read_texts.texts]
    if targeted:
        raise DataError("expected a file of JSON lines (.json, .jsonl) with text and target", path)
    lines = [(n, line) for n, line in enumerate(text.iterate_lines(path), 1) if line.strip()]
    separated = suffix == ".tsv" or source.format == "tsv"
    columns = [line.split("\t") for _, line in lines]
    for at in (1, 0, -1):
        if 2 * sum(len(own) > 1 and own[at].strip() in labels for own in columns) > len(columns):
            if separated and at == 1:
                break
            raise DataError(
                "a column holds labels in most lines; expected the text in column 1 and its label "
                "in column 2 of a file named *.tsv, or texts alone",
                path,
            )
    if separated:
        lines = [(n, text.values(line, {"text": 1}, path, n)["text"]) for n, line in lines]
    rows = ((n, line, "") for n, line in lines)
    return [*labelled_text.without_targets(rows, tokenised).texts]


def in_words(
    parts: Mapping[str, Sequence[LabelledText]], tokenised: bool
) -> dict[str, list[Sentence]]:
    """Splits texts into words; the ends of targets are ends of words.

    Equal texts have the same words: they are cut at the targets of all.
    """
    borders: dict[str, set[int]] = {}
    for each in (each for texts in parts.values() for each in texts):
        ends = {end for target in each.targets for end in target[:2]}
        borders.setdefault(each.text, set()).update(ends)
    spans = {t: words.cut(words.split(t, tokenised), at) for t, at in borders.items()}
    return {
        part: [_sentence(each, spans[each.text]) for each in texts]
        for part, texts in parts.items()
    }


def _sentence(each: LabelledText, spans: Sequence[words.Span]) -> Sentence:
    targets = []
    for target in each.targets:
        start, end, label = target
        inside = [n for n, span in enumerate(spans) if start <= span[0] and span[1] <= end]
        targets.append(Target(inside[0], inside[-1] + 1, label) if end else target)
    return Sentence(tuple(each.text[start:end] for start, end in spans), tuple(targets))
