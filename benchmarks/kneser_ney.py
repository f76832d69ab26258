"""What perplexity do n-gram counts reach on the tokens that our language models are scored on?

An interpolated modified Kneser-Ney model (Chen & Goodman 1998) of a text: the figure that a
neural model has to beat. Prints dev and test perplexity (of bytes also bits) as one JSON line.

    python benchmarks/kneser_ney.py --data wikitext2
    python benchmarks/kneser_ney.py --data wikitext2 --order 3
    python benchmarks/kneser_ney.py --data enwik8.head2MB --unit byte --order 6

Vocabulary, unknown words, ends of lines and the cut of a byte file are those of
`jaxeval.data.language`. Every token of dev and test is predicted once; contexts run on across
ends of lines, and a part stands after ends of lines only. Nothing is tuned on dev, nothing learnt
from it.

Notation: n the order, N tokens of a part, V words of the vocabulary, C contexts and G n-grams
(different ones) of one order. An order's contexts are numbered: the number of "u v" comes from
that of "v" and from u, so that a key of 64 bits, number * V + word, stands for a whole n-gram, and
the key of a context // V is the number of its context in the order below.
"""

import argparse
import resource
import time
from typing import Any, NamedTuple

import common
import numpy as np

from jaxeval.data import language


class Order(NamedTuple):
    """What one order adds to the order below. Place -1 of `mass` and `back` is the unseen.

    Attributes:
      contexts: [C] sorted keys, (context of the order below) * V + word on its left.
      grams: [G] sorted keys, context * V + word.
      mass: [G + 1] discounted relative frequency of a word after its context; the unseen: 0.
      back: [C + 1] weight of the order below after a context; the unseen: 1.
      discounts: D1, D2 and D3+.
    """

    contexts: np.ndarray
    grams: np.ndarray
    mass: np.ndarray
    back: np.ndarray
    discounts: tuple[float, float, float]


def rows(part: np.ndarray, order: int) -> np.ndarray:
    """Every token of a part [N] behind its n - 1 predecessors [N, n]; ends of lines come first."""
    padded = np.concatenate([np.zeros(order - 1, np.int64), part])
    return np.lib.stride_tricks.sliding_window_view(padded, order)


def fit(ngrams: np.ndarray, vocabulary: int) -> list[Order]:
    """A model of the n-grams of train (modified Kneser-Ney of Chen & Goodman 1998).

    The highest order has the counts of train. A lower one counts the different words that stand
    on the left of its n-grams (Kneser & Ney 1995).

    Args:
      ngrams: [N, n] from `rows`.
      vocabulary: V.

    Returns:
      Orders 1 to n.
    """
    contexts, grams, counts = _count(ngrams, vocabulary)
    orders = []
    for level in reversed(range(len(grams))):
        orders.append(_smooth(contexts[level], grams[level], counts, vocabulary))
        if level:
            context, word = np.divmod(grams[level], vocabulary)
            shorter = contexts[level][context] // vocabulary * vocabulary + word
            counts = np.bincount(_find(grams[level - 1], shorter))
    return orders[::-1]


def probabilities(orders: list[Order], ngrams: np.ndarray, vocabulary: int) -> np.ndarray:
    """Probability of the last word of each n-gram after the others.

    p_k(w | h) = mass_k(h w) + back_k(h) p_{k-1}(w | h without its first word), p_0 = 1 / V.

    Args:
      orders: from `fit`.
      ngrams: [N, n], seen or not.
      vocabulary: V.

    Returns:
      [N]; all are positive, and sum to one over the last word.
    """
    word = ngrams[:, -1]
    probability = np.full(len(ngrams), 1.0 / vocabulary)
    context = np.zeros(len(ngrams), np.int64)
    for level, order in enumerate(orders):
        if level:  # a key made of -1 is negative, so what is longer than unseen is unseen
            context = _find(order.contexts, context * vocabulary + ngrams[:, -1 - level])
        gram = _find(order.grams, context * vocabulary + word)
        probability = order.mass[gram] + order.back[context] * probability
    return probability


def discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """D1, D2 and D3+ from n_c, the n-grams with count c (Chen & Goodman 1998, equation 26).

    Y = n1 / (n1 + 2 n2), D_c = c - (c + 1) Y n_{c+1} / n_c. Where one of n1 to n4 is zero, or an
    estimate is not positive, all three are Y (Ney, Essen & Kneser 1994), and 1/2 without any n1:
    a discount of zero would leave unseen words a probability of zero.

    Args:
      counts: [G] positive.
    """
    n1, n2, n3, n4 = (int((counts == c).sum()) for c in range(1, 5))
    if not n1:
        return 0.5, 0.5, 0.5
    single = n1 / (n1 + 2 * n2)
    if n2 and n3 and n4:
        two, three = 2 - 3 * single * n3 / n2, 3 - 4 * single * n4 / n3
        if two > 0 and three > 0:
            return single, two, three  # D1 = 1 - 2 Y n2 / n1 is Y itself
    return single, single, single


def measure(path: str, unit: language._Unit, order: int) -> dict[str, Any]:
    """Fits train of a text, and scores its dev and test."""
    text = language.build(language.LanguageData(path=path, unit=unit), 1, 1)
    stream, part, begin = text.corpus.shared["tokens"], {}, 0
    for name, size in text.tokens.items():
        part[name] = stream[begin + 1 : begin + 1 + size]  # each stands after an end of line
        begin += 1 + size
    orders = fit(rows(part["train"], order), len(text.symbols))
    bits = {
        name: -np.log2(probabilities(orders, rows(part[name], order), len(text.symbols))).mean()
        for name in ("dev", "test")
    }
    measures: dict[str, Any] = {f"{k}_perplexity": round(float(2**v), 4) for k, v in bits.items()}
    if unit == "byte":
        measures |= {f"{name}_bits_per_byte": round(float(v), 4) for name, v in bits.items()}
    return {
        **measures,
        "tokens": dict(text.tokens),
        "vocabulary": len(text.symbols),
        "ngrams": [len(order.grams) for order in orders],
        "discounts": [[round(d, 4) for d in order.discounts] for order in orders],
        "fingerprint": text.fingerprint,
    }


def main() -> None:
    """Measures, prints."""
    args = _parser().parse_args()
    begin = time.perf_counter()
    measures = measure(args.data, args.unit, args.order)
    common.report(
        benchmark="kneser_ney",
        data=args.data,
        unit=args.unit,
        order=args.order,
        **measures,
        seconds=round(time.perf_counter() - begin, 1),
        peak_gigabytes=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        numpy=np.__version__,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of a text, or one file of bytes")
    parser.add_argument("--unit", choices=("word", "byte"), default="word", help="a token (word)")
    parser.add_argument("--order", type=_order, default=5, help="longest n-gram, in tokens (5)")
    return parser


def _order(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: an order is a whole number from 1")
    return int(text)


def _count(
    ngrams: np.ndarray, vocabulary: int
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Keys of contexts and of n-grams of orders 1 to n, and the counts of the longest n-grams."""
    word = ngrams[:, -1]
    context = np.zeros(len(ngrams), np.int64)  # the empty context, number 0, has the key 0
    contexts, grams = [np.zeros(1, np.int64)], []
    for left in range(1, ngrams.shape[1]):
        grams.append(np.unique(context * vocabulary + word))
        keys = context * vocabulary + ngrams[:, -1 - left]
        known, context = np.unique(keys, return_inverse=True)
        contexts.append(known)
    longest, counts = np.unique(context * vocabulary + word, return_counts=True)
    return contexts, [*grams, longest], counts


def _smooth(contexts: np.ndarray, grams: np.ndarray, counts: np.ndarray, vocabulary: int) -> Order:
    """Discounts one order; what its n-grams lose is what the order below shares out."""
    discount = discounts(counts)
    lost = np.array([0.0, *discount])[np.minimum(counts, 3)]
    context = grams // vocabulary
    total = np.bincount(context, counts)
    mass = (counts - lost) / total[context]
    back = np.bincount(context, lost) / total
    return Order(contexts, grams, np.append(mass, 0.0), np.append(back, 1.0), discount)


def _find(keys: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Places of wanted keys among sorted ones; -1 where there is none."""
    position = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[position] == queries, position, -1)


if __name__ == "__main__":
    main()
