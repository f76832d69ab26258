"""Word tables of several vector files over one corpus, so that members of one program read each.

Notation: J files, F word forms, V rows, R of them the vocabulary's, D vector size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval.contracts import Corpus
from jaxeval.data.word_table import WordTable


def joined(of: Sequence[Any]) -> list[Any]:
    """Corpora that differ in their word tables alone, each with its own among those of all.

    All tables get as many rows as the largest has, and stand one after the other in `shared`,
    which is the same for all: row [J, F], vectors [J, V, D], pretrained [J, V]. A member's split
    says which of them is its own. Rows that a table lacks are zeros that no word has.

    Args:
      of: NamedTuples with `corpus` and `table`; equal sentences and D.
    """
    rows = [len(data.table.vectors) for data in of]
    first = max(data.table.vocabulary for data in of)
    outside = max(n - data.table.vocabulary for n, data in zip(rows, of, strict=True))
    tables = [data.table.padded(first, first + outside) for data in of]
    each = [table.shared() for table in tables]
    shared = of[0].corpus.shared | {name: np.stack([t[name] for t in each]) for name in each[0]}
    corpus = Corpus(of[0].corpus.buckets, shared)
    return [
        data._replace(corpus=corpus, table=table._replace(number=number))
        for number, (data, table) in enumerate(zip(of, tables, strict=True))
    ]


def size(of: Any) -> tuple[int, int, int]:
    """R, rows beyond it, and D of a corpus's table."""
    table: WordTable = of.table
    return table.vocabulary, len(table.vectors) - table.vocabulary, table.vectors.shape[1]
