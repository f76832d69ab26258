"""`jaxeval vectors`: judges word vectors, by themselves and by tasks; makes a baseline."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend, cli, outputs, parameters, parsers
from jaxeval.errors import ConfigError, argument
from jaxeval.judge import vectors_judge
from jaxeval.parameters import Count, Natural
from jaxeval.vectors.similarity import Unknown

if TYPE_CHECKING:
    from jaxeval.report.vectors import Baseline, VectorScores


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
    """Do cosines of word vectors rank pairs of words as people do?

    Spearman's correlation of cosines with the scores that people gave. Coverage is always shown,
    with both rules for pairs of which a word has no vector: left out, or similarity 0. Several
    files are compared on the same pairs, by a paired bootstrap.

    Args:
      vectors: a file of word vectors: text (GloVe, word2vec) or word2vec binary; plain or gzip.
      pairs: files of two words and a score a line.
      against: further files of vectors.
      score_column: that holds the score of a pair (4 in SimLex-999 as published).
      unknown: pairs without a vector, in intervals and differences: left out, or 0.
      keep_case: do not take all words in lower case.
      resamples: of the bootstrap.
      seed: of the resamples.

    Raises:
      ConfigError: a file named twice.
      DataError: a file that cannot be read.

    Examples:
      jaxeval vectors similarity glove.txt.gz EN-WS-353-ALL.txt EN-MEN-TR-3k.txt
      jaxeval vectors similarity glove.txt SimLex-999.txt --score-column 4
    """
    from jaxeval.report.vectors import VectorScores
    from jaxeval.vectors import scored, similarity

    if score_column < 3:
        expected = "expected 3 or more; the first two hold the words"
        raise ConfigError(f"{argument('score_column', score_column)}: {expected}")
    named, sets = scored.named([vectors, *against], "vectors"), list[similarity.Pairs]()
    for name, path in scored.named(pairs, "pairs").items():
        sets.append(similarity.read(path, score_column)._replace(name=name))
    words = {word for of in sets for word in (*of.first, *of.second)}
    looked_up = {}
    for name, path in named.items():
        with cli.waiting(f"reading {path}"):
            looked_up[name] = scored.read(path, words, lower_case=not keep_case)
    with cli.waiting("resampling"):
        results = similarity.evaluate(sets, looked_up, unknown, scored.Resampling(resamples, seed))
    zeros = {name: of.zeros for name, of in looked_up.items()}
    headers = {of.name: of.header for of in sets if of.header}
    return VectorScores(named, zeros, not keep_case, resamples, seed, results, unknown, headers)


@parameters.verb
def vectors_analogies(
    vectors: str | Path,
    *questions: str | Path,
    against: Sequence[str | Path] = (),
    keep_case: bool = False,
    resamples: Count = 9999,
    seed: Natural = 0,
) -> "VectorScores":
    """Do word vectors answer a is to b as c is to what?

    Questions are answered by 3CosAdd and 3CosMul: shares of the questions covered, and of all.
    Several files are compared on the questions that all of them cover, by a paired bootstrap of
    the pairs of words that the questions are made of.

    Args:
      vectors: a file of word vectors: text (GloVe, word2vec) or word2vec binary; plain or gzip.
      questions: Google's questions-words.txt, or a folder of BATS.
      against: further files of vectors.
      keep_case: do not take all words in lower case.
      resamples: of the bootstrap.
      seed: of the resamples.

    Raises:
      ConfigError: a file named twice.
      DataError: a file that cannot be read.

    Examples:
      jaxeval vectors analogies glove.txt questions-words.txt --against svd.txt,w2v.bin
      jaxeval vectors analogies glove.txt BATS_3.0 --json -
    """
    from jaxeval.report.vectors import VectorScores
    from jaxeval.vectors import analogies, scored

    named = scored.named([vectors, *against], "vectors")
    sets = [
        analogies.read(path)._replace(name=name)
        for name, path in scored.named(questions, "questions").items()
    ]
    cases = [
        (of, method, dict[str, analogies.Answered]())
        for of in sets
        for method in analogies.METHODS
    ]
    zeros = {}
    for name, path in named.items():  # one file in memory at a time
        with cli.waiting(f"reading {path}"):
            read = scored.read(path, lower_case=not keep_case)
        zeros[name] = read.zeros
        for of, method, answered in cases:
            with cli.waiting(f"answering {of.name} with {name}, {method}"):
                answered[name] = analogies.answer(of, read, method)
        del read
    with cli.waiting("resampling"):
        how = scored.Resampling(resamples, seed)
        results = scored.adjusted([analogies.evaluate(*case, how) for case in cases])
    return VectorScores(named, zeros, not keep_case, resamples, seed, results)


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
    """Makes word vectors of a corpus by counting.

    Counts of words near one another, positive pointwise mutual information, a truncated singular
    value decomposition, as hyperwords does (Levy, Goldberg & Dagan 2015): contexts smoothed by
    .75, singular values to the power of .5, vectors of length 1.

    Args:
      corpus: text, a sentence a line, words between blanks; plain or gzip.
      output: file of vectors, word2vec's text; gzip where it ends with .gz.
      window: words on either side of a word that count as near.
      dimension: of vectors.
      min_count: of a word in the corpus.
      lower_case: take all words in lower case.

    Raises:
      ConfigError: the output would replace the corpus, or more dimensions than the corpus has.
      DataError, RunError: the corpus cannot be read, or the output not be written.

    Examples:
      jaxeval vectors svd corpus.txt --output svd.txt --lower-case
    """
    from jaxeval.report.vectors import Baseline
    from jaxeval.vectors import svd

    if str(output) == "-":
        raise ConfigError(f"{argument('output', '-')}: expected a file")
    outputs.refuse_unwritable(str(output), reads=[corpus])
    how = {"window": window, "dimension": dimension, "min_count": min_count}
    with cli.waiting(f"counting {corpus}"):
        counted = svd.make(corpus, output, **how, lower_case=lower_case, processes=backend.cores())
    return Baseline(str(output), **how, lower_case=lower_case, counted=counted)


COMMANDS: parsers.Commands = {
    "judge": vectors_judge,
    "similarity": vectors_similarity,
    "analogies": vectors_analogies,
    "svd": vectors_svd,
}
