"""`jaxeval vectors`: evaluates word vectors intrinsically and in tasks; makes a baseline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, cli, files, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Count, Natural
from jaxeval.vectors.similarity import Unknown

if TYPE_CHECKING:
    from jaxeval.report.vectors import Baseline, VectorScores
    from jaxeval.vectors import Lookup


@parameters.verb
def vectors_similarity(
    vectors: str | Path,
    *pairs: str | Path,
    against: Sequence[str | Path] = (),
    score_column: Count = 3,
    unknown: Unknown = "skip",
    keep_case: bool = False,
    resamples: Count = 9999,
    seed: Natural = 0,
) -> "VectorScores":
    """Correlates cosines of word vectors with human similarity scores.

    Computes coverage, and Spearman's correlation under both rules for pairs with unknown words:
    left out, or similarity 0. A paired bootstrap compares several files on the same pairs.

    Args:
      pairs: files with two words and a score per line.
      score_column: column of the score (4 in SimLex-999 as published).
      unknown: how intervals and differences treat pairs with unknown words: left out, or
        similarity 0.

    Examples:
      jaxeval vectors similarity glove.txt.gz EN-WS-353-ALL.txt EN-MEN-TR-3k.txt
      jaxeval vectors similarity glove.txt SimLex-999.txt --score-column 4
    """
    from jaxeval.report.vectors import VectorScores
    from jaxeval.vectors import short_names, similarity

    if score_column < 3:
        expected = "expected 3 or more; the first two hold the words"
        raise ConfigError(f"{argument('score_column', score_column)}: {expected}")
    named = short_names([vectors, *against], "vectors")
    sets = [
        similarity.read(path, score_column)._replace(name=name)
        for name, path in short_names(pairs, "pairs").items()
    ]
    words = {word for of in sets for word in (*of.first, *of.second)}
    files = dict(_read_files(named, keep_case, words))
    with cli.waiting("resampling"):
        results = similarity.evaluate(sets, files, unknown, resamples=resamples, seed=seed)
    zeros = {name: of.zeros for name, of in files.items()}
    repeated = {name: of.repeated for name, of in files.items()}
    headers = {of.name: of.header for of in sets if of.header}
    lower_case = not keep_case
    return VectorScores(
        named, zeros, repeated, lower_case, resamples, seed, results, unknown, headers
    )


def _read_files(
    named: Mapping[str, str], keep_case: bool, words: Iterable[str] | None = None
) -> "Iterator[tuple[str, Lookup]]":
    from jaxeval import vectors

    for name, path in named.items():
        with cli.waiting(f"reading {path}"):
            read = vectors.read(path, words, lower_case=not keep_case)
        yield name, read
        del read  # before the next is read


@parameters.verb
def vectors_analogies(
    vectors: str | Path,
    *questions: str | Path,
    against: Sequence[str | Path] = (),
    keep_case: bool = False,
    resamples: Count = 9999,
    seed: Natural = 0,
) -> "VectorScores":
    """Answers analogy questions (a is to b as c is to what?) with word vectors.

    Computes the accuracy of 3CosAdd and 3CosMul on covered questions and on all questions. A
    paired bootstrap over the word pairs behind the questions compares files on the questions that
    both cover.

    Args:
      questions: Google's questions-words.txt, or a folder of BATS.

    Examples:
      jaxeval vectors analogies glove.txt questions-words.txt --against svd.txt,w2v.bin
      jaxeval vectors analogies glove.txt BATS_3.0 --json -
    """
    from jaxeval.report.vectors import VectorScores
    from jaxeval.vectors import adjust, analogies, short_names

    named = short_names([vectors, *against], "vectors")
    sets = [
        analogies.read(path)._replace(name=name)
        for name, path in short_names(questions, "questions").items()
    ]
    cases = [(of, method) for of in sets for method in analogies.METHODS]
    answered = [dict[str, analogies.Answered]() for _ in cases]
    zeros: dict[str, int] = {}
    repeated: dict[str, int] = {}
    for name, lookup in _read_files(named, keep_case):  # one file in memory at a time
        zeros[name], repeated[name] = lookup.zeros, lookup.repeated
        for (of, method), answers in zip(cases, answered, strict=True):
            with cli.waiting(f"answering {of.name} with {name}, {method}"):
                answers[name] = analogies.answer(of, lookup, method)
        del lookup
    with cli.waiting("resampling"):
        results = adjust(
            [
                analogies.evaluate(*case, answers, resamples=resamples, seed=seed)
                for case, answers in zip(cases, answered, strict=True)
            ]
        )
    return VectorScores(named, zeros, repeated, not keep_case, resamples, seed, results)


@parameters.verb
def vectors_svd(
    corpus: str | Path,
    *,
    output: str | Path,
    window: Count = 2,
    dimension: Count = 100,
    min_count: Count = 100,
    lower_case: bool = False,
) -> "Baseline":
    """Makes word vectors from the counts of a corpus.

    Computes the truncated singular value decomposition of positive pointwise mutual information
    between nearby words, as hyperwords does (Levy, Goldberg & Dagan 2015): context smoothing .75,
    singular values to the power of .5, vectors of length 1.

    Args:
      corpus: text with one sentence per line and words separated by blanks; plain or gzip.
      output: file of vectors in word2vec's text format; gzip if it ends with .gz.
      window: number of words on either side that count as near.
      dimension: size of the vectors.
      min_count: minimum count of a word in the corpus.
      lower_case: convert words to lower case.

    Examples:
      jaxeval vectors svd corpus.txt --output svd.txt --lower-case
    """
    from jaxeval.report.vectors import Baseline
    from jaxeval.vectors import svd

    if str(output) == "-":
        raise ConfigError(f"{argument('output', '-')}: expected a file")
    files.refuse_unwritable(str(output), reads=[corpus])
    how = {"window": window, "dimension": dimension, "min_count": min_count}
    with cli.waiting(f"counting {corpus}"):
        counted = svd.make(corpus, output, **how, lower_case=lower_case, processes=backend.cores())
    return Baseline(str(output), **how, lower_case=lower_case, counted=counted)
