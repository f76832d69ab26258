"""Classified texts that a config names, drawing the parts that they lack; texts of any file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.data import checks, generated_texts, labelled_text, splits, text, words
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
_SUFFIXES = {  # what a file's name tells
    ".xml": "semeval",
    ".raw": "three_line",
    ".seg": "three_line",
    ".json": "json",
    ".jsonl": "json",
    ".tsv": "tsv",
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

    def format_of(self, file: Path) -> str:
        """As named, or as the file's name tells."""
        auto = self.format == "auto"
        return text.format_of(file, _SUFFIXES, _READERS) if auto else self.format


class Sentence(NamedTuple):
    """Words, and targets among them, in words: all, or those that a row asks for."""

    words: tuple[str, ...]
    targets: tuple[Target, ...]


class TextParts(NamedTuple):
    """Texts by part.

    Attributes:
      files: part -> the file that it was read, or drawn, from, for errors.
      findings: parts that were drawn, targets that were left out, files that may have a header.
    """

    parts: Mapping[str, Sequence[LabelledText]]
    targeted: bool  # whether labels are of targets
    tokenised: bool  # whether words are what stands between blanks
    files: Mapping[str, str | Path]
    findings: checks.Findings


def read(source: SentimentSource, fractions: splits.Fractions) -> TextParts:
    """The texts of train, dev and test.

    A test that the files lack is a fraction of train's texts, and then a dev is one of the rest.
    Raises DataError: what the readers raise; files with and without targets; too few texts to draw
    from; a folder without train, or with a file beside that no pattern fits.
    """
    if source.path is None:
        parts = generated_texts.texts(source.seed, source.sentences)
        files: Mapping[str, str | Path] = dict.fromkeys(splits.PARTS, "generated corpus")
        return TextParts(parts, True, True, files, checks.Findings())
    patterns = {part: getattr(source, part) for part in splits.PARTS}
    files = text.parts(source.path, patterns, "data.source", ("train",), alone=True)
    read_files = {part: _READERS[source.format_of(file)](file) for part, file in files.items()}
    train, texts, remarks = read_files["train"], {}, list[str]()
    for part, of_part in read_files.items():
        texts[part] = [*of_part.texts]
        if of_part.targeted != train.targeted:
            raise DataError(f"train and {part} differ: one has targets, one has none", source.path)
        if dropped := ", ".join(f"{n} {why}" for why, n in of_part.dropped.items()):
            remarks.append(f"{part}: targets dropped: {dropped}")
    for part in ("test", "dev"):
        if part not in files:
            fraction = getattr(fractions, part)
            texts["train"], texts[part] = _draw(source, texts["train"], part, fraction)
            drawn = f"{fraction:.0%} of train's texts, drawn by data.source.seed {source.seed}"
            remarks.insert(0, f"{part}: the files have none; it is {drawn}")
    facts = {part: dict(of.dropped) for part, of in read_files.items() if of.dropped}
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
    """Texts that stay and texts that become a part: a fraction of the different ones, by seed."""
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
    """The texts of a file: JSON lines or tab-separated lines as in training; else one text a line.

    Labels need not be there, and are not read. A file is tab-separated if it is named `*.tsv`, or
    if `source.format` says so. `labels, targeted, tokenised` are the classifier's. Raises
    DataError: a line without a text, or without a target where one is needed; labels for texts.
    """
    suffix = text.suffix_of(path)
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
        holds = sum(len(of) > 1 and of[at].strip() in labels for of in columns)
        if 2 * holds <= len(columns):
            continue
        if separated and at == 1:
            break
        raise DataError(
            "a column holds labels in most lines; expected the text in column 1 and its label in "
            "column 2 of a file named *.tsv, or texts alone",
            path,
        )
    if separated:
        lines = [(n, text.values(line, {"text": 1}, path, n)["text"]) for n, line in lines]
    return [*labelled_text.whole(((n, line, "") for n, line in lines), tokenised).texts]


def in_words(
    parts: Mapping[str, Sequence[LabelledText]], tokenised: bool
) -> dict[str, list[Sentence]]:
    """Texts in words; a target's borders are borders of words.

    A text that stands several times is cut at the targets of all, so that it has the same words.
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
