"""Corpora as padded arrays: rows lie in buckets of equal shape, words in one table.

Labels that train lacks, and items of train in dev or test, are mistakes or worth a remark.
Notation: N rows of a bucket, F word forms, V rows of the word table, D size of a vector, J word
tables, P parts, B buckets.
"""

import dataclasses
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.contracts import GIVEN_SPLIT, Corpus, Findings, Split
from jaxeval.data import splits, word_table
from jaxeval.data.buckets import BucketedRows
from jaxeval.data.word_table import WordTable
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json

_MANY = 0.5  # fraction of repeated items from which on there is a warning
_EXAMPLES = 5  # symbols in a remark
_LABELS = 12  # in a message
_LONGEST = 60  # characters of a label or text in a message
_HEADER = {"label", "gold_label", "class", "category", "sentiment", "polarity", "target"}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A corpus as arrays, ready for training, with its description."""

    corpus: Corpus
    given_split: splits.Rows  # the split that the files give
    name: str  # of the files, or of the generated corpus
    fingerprint: str
    facts: Mapping[str, Any]  # what plans show
    # bucket b: [N_b] place of each row in the data, train, dev and test in turn; -1: no item
    positions: Sequence[Any]
    findings: Findings = dataclasses.field(default_factory=Findings)
    pretrained: str = ""  # fingerprint of other files, such as word vectors

    def split(self, number: int) -> Split:
        """Returns split `number` (0: the given one)."""
        return splits.to_split(splits.split_rows(self.given_split, number), ())

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
    """A corpus of words."""

    table: WordTable
    # names of the label numbers; gold labels that no model predicts come last
    labels: Sequence[str]
    saved: Mapping[str, Json]  # the saved vocabulary without the words, as JSON
    settings: Any
    forms: Sequence[str] = ("forms",)  # names of the arrays of a bucket that hold word forms
    # rows that random splits keep together, if any; then `sizes` [P, B] are the numbers of rows of
    # each part and bucket in all splits
    groups: splits.Groups | None = None
    sizes: np.ndarray | None = None

    @classmethod
    def from_rows(
        cls,
        settings: Any,
        table: WordTable,
        rows: Mapping[str, Sequence[Any]],
        bucketed: BucketedRows,
        noun: str,
        items: Mapping[str, Any],
        shared: Mapping[str, np.ndarray] | None = None,
        **more: Any,
    ) -> "WordCorpus":
        """Returns a corpus of rows in buckets.

        Args:
          rows, noun: rows of each part, which lie in the order train, dev, test; what they are.
          shared: arrays beside those of the table.
          items: of each part, what is hashed.
          more: the other attributes.
        """
        sizes = {part: len(rows[part]) for part in splits.PARTS}
        widths = [shape.width for shape in bucketed.shapes]
        return cls(
            settings=settings,
            table=table,
            pretrained=table.fingerprint,
            name=settings.source.path or f"generated, seed {settings.source.seed}",
            fingerprint=splits.fingerprint(items),
            corpus=Corpus(tuple(bucketed.columns), {**table.shared(), **(shared or {})}),
            given_split=splits.given(rows, bucketed.rows),
            positions=bucketed.rows,
            **{**more, "facts": {noun: sizes, **more["facts"], "padded_widths": widths}},
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
            rows = splits.split_rows(self.given_split, number)
            train = rows["train"]
        else:
            rows = self.given_split if number == GIVEN_SPLIT else self.groups.split_rows(number)
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
        split = splits.to_split(rows, {"known": known, "once": seen == 1, **own})
        in_blocks = self.groups is not None and self.groups.blocks is not None
        return split._replace(padded=in_blocks and self.settings.vocabulary == "all")


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


def classes(
    items: Mapping[str, Sequence[tuple[str, str, int]]],
    files: Mapping[str, str | Path],
    columns: str,
) -> list[str]:
    """Returns the classes of a corpus: the sorted labels of train.

    Raises DataError: train has one class; an item has another label than these; a header.

    Args:
      items: part -> label, text and line (0: unknown) of each item.
      files, columns: file of each part, and meaning of tab-separated columns, for errors.
    """
    labels = sorted(known := {label for label, _, _ in items["train"]})
    if len(labels) < 2:
        raise DataError(
            f"the only label of train is {labels[0]!r}: nothing to learn", files["train"]
        )
    counts = Counter(label for own in items.values() for label, _, _ in own)
    for part, own in items.items():
        for label, text, line in own:
            # once in each file at most
            named = line == 1 and label.lower() in _HEADER and len(text.split()) == 1
            if named and counts[label] <= len(items):
                found = f"line 1 looks like a header, with the label {label!r}"
                raise DataError(f"{found}; expected an item", files[part], line)
            if label not in known:
                shown = ", ".join(label[:_LONGEST] for label in labels[:_LABELS])
                more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
                found = f"{part}: label {label[:_LONGEST]!r} of {text[:_LONGEST]!r}"
                expected = f"those of train: {shown}{more} (of tab-separated lines {columns})"
                raise DataError(f"{found}; expected {expected}", files[part], line or None)
    return labels


def repeats(parts: Mapping[str, Sequence[Hashable]], path: str | None, items: str) -> list[str]:
    """Returns warnings about dev and test items that also occur in train, and a dev that is test.

    Also about one item that begins all parts. `items` is a plural noun for messages. Raises
    DataError: test holds the same items as train.
    """
    counts = {part: Counter(own) for part, own in parts.items()}
    if counts["test"] == counts["train"]:
        raise DataError(
            f"train and test hold the same {items} ({len(parts['test'])}): test would score the "
            "training data; expected different files",
            path or "generated corpus",
        )
    warnings = []
    for part in ("dev", "test"):
        again = sum(n for item, n in counts[part].items() if item in counts["train"])
        fraction = again / max(len(parts[part]), 1)
        if fraction >= _MANY:
            warnings.append(f"{100 * fraction:.0f} % of the {items} of {part} also occur in train")
    if counts["dev"] == counts["test"]:
        warnings.append(f"dev and test hold the same {items}: models are selected on test")
    first = {item for own in parts.values() for item in own[:1]}
    if len(first) == 1 and all(own[item] == 1 for own in counts.values() for item in first):
        begin = f"train, dev and test begin with the same one of the {items}"
        warnings.append(f"{begin}: if line 1 is a header, delete it from the files")
    return warnings


def unseen(symbols: Mapping[str, Counter[str]]) -> tuple[dict[str, Json], list[str]]:
    """Returns how many symbols (part -> frequency) train lacks, as plain data and as lines."""
    facts: dict[str, Json] = {}
    lines = []
    for part, counts in symbols.items():
        lacking = Counter({s: n for s, n in counts.items() if s not in symbols["train"]})
        if not lacking:
            continue
        times, total = lacking.total(), counts.total()
        facts[part] = {"types": len(lacking), "tokens": times}
        most = [f"{symbol!r} ({n})" for symbol, n in lacking.most_common(_EXAMPLES)]
        most += ["..."] if len(lacking) > _EXAMPLES else []
        lines.append(
            f"{part} has {len(lacking)} that train lacks, {times} of its {total} "
            f"({100 * times / total:.2f} %): {', '.join(most)}"
        )
    return facts, lines
