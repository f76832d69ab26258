"""Corpora as padded arrays: rows lie in buckets of equal shape, words in one table.

Every shape is one more compiled branch of the training step, and every padded position costs time.
Shapes are found exactly, by dynamic programming over the lengths that occur.

Notation: N rows of a bucket, T their width, F word forms, V rows of the word table, D size of a
vector, J word tables, P parts, B buckets.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.contracts import GIVEN_SPLIT, Corpus, Split
from jaxeval.data import checks, splits, word_table
from jaxeval.data.word_table import SavedWords, WordSettings, WordTable
from jaxeval.errors import ConfigError
from jaxeval.files import Json

# a compiled shape costs about as much as training so many padded positions in each of ten epochs
_SHAPE_COST = 3000.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A corpus as arrays, ready for training, with its description.

    Attributes:
      given_split: the split that the files give.
      name: of the files, or of the generated corpus.
      facts: what plans show.
      positions: bucket b: [N_b] place of each row in the data, train, dev and test in turn; -1: no
        item.
      pretrained: fingerprint of other files, such as word vectors.
    """

    corpus: Corpus
    given_split: splits.Rows
    name: str
    fingerprint: str
    facts: Mapping[str, Any]
    positions: Sequence[Any]
    findings: checks.Findings = dataclasses.field(default_factory=checks.Findings)
    pretrained: str = ""

    def split(self, number: int) -> Split:
        """Returns split `number` (0: the given one)."""
        return splits.to_split(splits.deal(self.given_split, number), ())

    def vocabulary(self, number: int) -> Mapping[str, Any]:
        """Returns the meaning of the arrays' numbers as JSON.

        A model that was trained on split `number` needs it to read other data.
        """
        return {}

    def tables(self, config: Any) -> Mapping[str, np.ndarray]:
        """Returns the arrays that a model reads beside its parameters, by name."""
        return {}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WordCorpus(Source):
    """A corpus of words.

    Attributes:
      labels: names of the label numbers; gold labels that no model predicts come last.
      saved: the saved vocabulary without the words, as JSON.
      forms: names of the arrays of a bucket that hold word forms.
      groups: rows that random splits keep together, if any; then `sizes` [P, B] are the numbers
        of rows of each part and bucket in all splits.
    """

    table: WordTable
    labels: Sequence[str]
    saved: Mapping[str, Json]
    settings: Any
    forms: Sequence[str] = ("forms",)
    groups: splits.Groups | None = None
    sizes: np.ndarray | None = None

    @classmethod
    def described(
        cls, settings: Any, table: WordTable, items: Mapping[str, Any], rows: str, **more: Any
    ) -> "WordCorpus":
        """Returns a corpus with its description.

        Args:
          items: of each part, what is hashed; `rows`: the plural noun for a row of the arrays.
          more: the other attributes.
        """
        source, sizes = (
            settings.source,
            {p: sum(map(len, r)) for p, r in more["given_split"].items()},
        )
        return cls(
            settings=settings,
            table=table,
            pretrained=table.fingerprint,
            name=source.path or f"generated, seed {source.seed}",
            fingerprint=splits.fingerprint(items),
            **{**more, "facts": {rows: sizes, **more["facts"]}},
        )

    def tables(self, config: Any) -> Mapping[str, np.ndarray]:
        """Returns the vectors if a model reads some that it does not train."""
        outside = len(self.table.vectors) > self.table.vocabulary
        return {"vectors": self.table.vectors} if outside or not config.model.words.trained else {}

    def vocabulary(self, number: int) -> dict[str, Any]:
        """Returns the saved vocabulary of a member of split `number`."""
        known = self.split(number).tables["known"]
        folded = {word: row for word, row in self.table.folded.items() if known[row]}
        return {**self.saved, "vectors": dict(self.table.named), "words": folded}

    def split(self, number: int) -> Split:
        """Returns split `number` (0: the given one) with the tables known and once, each [V] bool.

        A word is known if it has a pretrained vector or occurs `min_count` times in train, and
        once if it occurs there once. Each group counts once. Rows may end in -1 (padding).

        Raises ConfigError: a random split of a corpus with the vocabulary of the given one, or a
        split in which a part is empty.
        """
        if number != GIVEN_SPLIT and self.settings.vocabulary != "all":
            raise ConfigError(
                f"split {number}: this corpus has the vocabulary of the given split; random ones "
                "need data.vocabulary=all (prepare it with random_splits)"
            )
        if self.groups is None or self.sizes is None:
            rows = splits.deal(self.given_split, number)
            train = rows["train"]
        else:
            rows = self.given_split if number == GIVEN_SPLIT else self.groups.deal(number)
            train = [
                chosen[np.unique(group[chosen], return_index=True)[1]]
                for group, chosen in zip(self.groups.row_groups, rows["train"], strict=True)
            ]
            rows = splits.pad(rows, self.sizes)
        seen = np.zeros(len(self.table.vectors), np.int64)
        for bucket, chosen in zip(self.corpus.buckets, train, strict=True):
            for name in self.forms:
                of_forms = self.table.row[bucket[name][chosen]].ravel()
                seen += np.bincount(of_forms, minlength=len(seen))
        known = self.table.pretrained | (seen >= self.settings.min_count)
        known[: word_table.FIRST] = True
        own = {} if self.table.number is None else {"table": np.int32(self.table.number)}
        return splits.to_split(rows, {"known": known, "once": seen == 1, **own})


def join(corpora: Sequence[WordCorpus]) -> list[WordCorpus]:
    """Gives corpora that differ only in their word tables one set of stacked tables.

    Tables are padded to the size of the largest: row [J, F], vectors [J, V, D], pretrained [J, V].
    The splits of each corpus name its own table.
    """
    first = max(data.table.vocabulary for data in corpora)
    outside = max(len(data.table.vectors) - data.table.vocabulary for data in corpora)
    tables = [_pad(data.table, first, first + outside) for data in corpora]
    each = [table.shared() for table in tables]
    stacked = {name: np.stack([own[name] for own in each]) for name in each[0]}
    corpus = Corpus(corpora[0].corpus.buckets, corpora[0].corpus.shared | stacked)
    return [
        dataclasses.replace(data, corpus=corpus, table=table._replace(number=number))
        for number, (data, table) in enumerate(zip(corpora, tables, strict=True))
    ]


def _pad(table: WordTable, vocabulary: int, rows: int) -> WordTable:
    """Returns a table with more rows, zeros; rows beyond the vocabulary move up."""
    new = np.arange(len(table.vectors), dtype=np.int32)
    new[table.vocabulary :] += vocabulary - table.vocabulary
    padded = np.zeros((rows, table.vectors.shape[1]), np.float32)
    pretrained = np.zeros(rows, bool)
    padded[new], pretrained[new] = table.vectors, table.pretrained
    return table._replace(
        row=new[table.row],
        vectors=padded,
        pretrained=pretrained,
        vocabulary=vocabulary,
        named={name: int(new[row]) for name, row in table.named.items()},
    )


class Encoded(NamedTuple):
    """Items as arrays, by the vocabulary of a trained model."""

    shared: dict[str, np.ndarray]  # of all word forms
    numbers: Sequence[np.ndarray]  # of each bucket the items in it
    columns: Sequence[dict[str, np.ndarray]]  # of each bucket its arrays


class Shape(NamedTuple):
    """The shape to which the rows of a bucket are padded."""

    width: int
    targets: int = 1


_Laid = tuple[list[np.ndarray], list[int], list[dict[str, np.ndarray]]]
_Sentences = Mapping[str, Sequence[Sequence[str]]]  # name -> words of each row


def lay_out_words(
    sentences: _Sentences, forms: Sequence[str], batch_size: int, settings: WordSettings
) -> _Laid:
    """Returns sentences as numbers of their forms in buckets, as `lay_out` does."""
    number = {form: n for n, form in enumerate(forms)}
    numbers = {
        name: [[number[word] for word in sentence] for sentence in own]
        for name, own in sentences.items()
    }
    return lay_out(numbers, batch_size, settings.max_widths)


def encode(
    vocabulary: SavedWords, sentences: _Sentences, batch_size: int, settings: WordSettings
) -> tuple[list[str], Encoded]:
    """Returns the forms of sentences, and these as arrays by the vocabulary of a trained model."""
    found = {word for own in sentences.values() for sentence in own for word in sentence}
    forms = ["", *sorted(found - {""})]
    rows, _, columns = lay_out_words(sentences, forms, batch_size, settings)
    return forms, Encoded({"row": vocabulary.lookup(forms, settings.fold)}, rows, columns)


def lay_out(
    sequences: Mapping[str, Sequence[Sequence[int]]],
    batch_size: int,
    most: int,
    tight: bool = False,
) -> _Laid:
    """Pads sequences of numbers to `most` widths or fewer; row n is the n-th of each name.

    Returns the rows, the width, and the arrays NAME [N, T] and NAME_length [N] of each bucket (of
    "forms": length). If `tight`, sequences are padded to the longest of their name in a bucket.
    """
    lengths = [max(map(len, row)) for row in zip(*sequences.values(), strict=True)]
    ones = [1] * len(lengths)
    shapes = choose_shapes(lengths, ones, batch_size, most)
    rows, columns = assign(lengths, ones, shapes), []
    for inside, shape in zip(rows, shapes, strict=True):
        arrays = {}
        for name, each in sequences.items():
            own = [each[row] for row in inside]
            sizes = arrays["length" if name == "forms" else f"{name}_length"] = count(own)
            arrays[name] = pad(own, sizes.max() if tight else shape.width)
        columns.append(arrays)
    return rows, [shape.width for shape in shapes], columns


def choose_shapes(
    lengths: Sequence[int],
    targets: Sequence[int],
    batch_size: int,
    most: int = 12,
    shape_cost: float = _SHAPE_COST,
) -> list[Shape]:
    """Returns the padded shapes of rows with these lengths and numbers of targets, ascending.

    Rows are divided by their number of targets first, and those of each range by length. A bucket
    of n rows costs ceil(n / batch_size) * batch_size * width * targets positions, plus
    `shape_cost`. No other choice of `most` shapes or fewer costs less.
    """
    sizes, numbers = np.asarray(lengths), np.asarray(targets)
    values = np.unique(numbers).tolist()
    # best[j][k]: least cost and shapes of rows with one of the j smallest numbers, in k shapes
    best: list[dict[int, _Choice]] = [{0: (0.0, [])}]
    for last, number in enumerate(values):
        costs: dict[int, _Choice] = {}
        for first in range(last + 1):
            inside = sizes[(numbers >= values[first]) & (numbers <= number)]
            for cost, shapes in _best_shapes(inside, batch_size, most, shape_cost, number):
                for before, own in best[first].values():
                    total, count = before + cost, len(own) + len(shapes)
                    if count <= most and total < costs.get(count, (np.inf, []))[0]:
                        costs[count] = total, [*own, *shapes]
        best.append(costs)
    return min(best[-1].values(), key=lambda choice: choice[0])[1]


_Choice = tuple[float, list[Shape]]


def _best_shapes(
    lengths: np.ndarray, batch_size: int, most: int, shape_cost: float, targets: int
) -> list[_Choice]:
    """Returns the cheapest choice of 1, 2, ... up to `most` widths for rows with `targets`."""
    values, counts = np.unique(lengths, return_counts=True)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # cost[i, j]: of a bucket of the lengths from the i-th up to before the j-th
    rows = -(-(upto[None] - upto[:, None]) // batch_size) * batch_size
    cost = rows * np.concatenate([[0.0], values])[None] * targets + shape_cost
    cost[np.tril_indices(len(upto))] = np.inf
    least, chosen = np.where(upto > 0, np.inf, 0.0), []
    cuts: list[np.ndarray] = []  # of each number of buckets: where the last one begins
    for _ in range(min(most, len(values))):
        total = least[:, None] + cost
        cuts.append(np.argmin(total, axis=0))
        least = np.min(total, axis=0)
        widths, end = [], len(values)
        for cut in reversed(cuts):
            widths.append(int(values[end - 1]))
            end = int(cut[end])
        chosen.append((float(least[-1]), [Shape(width, targets) for width in widths[::-1]]))
    return chosen


def assign(
    lengths: Sequence[int], targets: Sequence[int], shapes: Sequence[Shape]
) -> list[np.ndarray]:
    """Returns the rows of each bucket: fewest targets first, then the narrowest fitting shape."""
    sizes, limits = np.asarray(lengths), sorted({shape.targets for shape in shapes})
    limit = np.searchsorted(limits, np.asarray(targets))
    assigned = []
    for number, most in enumerate(limits):
        inside = np.flatnonzero(limit == number)
        widths = [shape.width for shape in shapes if shape.targets == most]
        bucket = np.searchsorted(widths, sizes[inside])
        assigned += [inside[bucket == b] for b in range(len(widths))]
    return assigned


def pad(sequences: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Returns sequences of numbers, padded with zeros: [N, width] int32."""
    array = np.zeros((len(sequences), width), np.int32)
    for row, sequence in enumerate(sequences):
        array[row, : len(sequence)] = sequence
    return array


def count(sequences: Sequence[Sequence[object]]) -> np.ndarray:
    """Returns the lengths of sequences: [N] int32."""
    return np.array([len(sequence) for sequence in sequences], np.int32)
