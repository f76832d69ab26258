"""From a corpus to a file of vectors by counting: what `jaxeval vectors svd` does."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError, DataError
from jaxeval.vectors import corpus, counts, ppmi, writing
from jaxeval.vectors.counts import Windows

if TYPE_CHECKING:
    from scipy import sparse

Told = Callable[[str], AbstractContextManager[None]]


@dataclasses.dataclass(frozen=True)
class Options:
    """How vectors are made of a corpus; the names in brackets are hyperwords'.

    Attributes:
      min_count: of a word in the corpus [thr].
      smoothing, shift: of `ppmi.ppmi` [cds, neg].
      exponent, add_contexts: of `ppmi.embed` [eig, w+c].
    """

    windows: Windows
    min_count: int = 100
    lower_case: bool = False
    smoothing: float = 0.75
    shift: float = 1.0
    dimension: int = 100
    exponent: float = 0.5
    add_contexts: bool = False


class Made(NamedTuple):
    """What was counted, and how long it took."""

    tokens: int
    words: int
    pairs: int  # distinct pairs of word and context
    positive: int  # of them, those with positive association
    seconds: Mapping[str, float]  # by step


def make(
    path: str | Path,
    out: str | Path,
    options: Options,
    processes: int = 1,
    scratch: str | None = None,
    told: Told = lambda doing: nullcontext(),
) -> Made:
    """Writes the vectors of a corpus.

    Args:
      scratch: as of `counts.count_pairs`.
      told: is entered with what is being done, step by step.

    Raises:
      DataError: the corpus cannot be read, or holds too little.
      ConfigError: as many dimensions as words, or more; the vectors would replace the corpus.
      RunError: the file, or the scratch folder, cannot be written; the SVD fails.
    """
    _check_places(Path(path), Path(out), scratch)
    seconds: dict[str, float] = {}
    step = functools.partial(_step, path, told, seconds)
    lower = options.lower_case
    with step("words"):
        words = corpus.count_words(path, options.min_count, lower_case=lower, processes=processes)
    if options.dimension >= len(words.counts):
        message = f"--dimension: expected fewer than the {len(words.counts)} words that stand in "
        raise ConfigError(f"{message}{path} {options.min_count} times, found {options.dimension}")
    with step("pairs"):
        matrix = counts.count_pairs(
            path, words, options.windows, lower_case=lower, processes=processes, scratch=scratch
        )
    with step("SVD"):
        associated = _associated(matrix, options, path)
        factors = _factors(associated, options, path)
    with step("writing"):
        table = ppmi.embed(factors, options.exponent, options.add_contexts)
        writing.write(Path(out), [*words.counts], table)
    return Made(words.tokens, len(words.counts), matrix.nnz, associated.nnz, seconds)


@contextmanager
def _step(path: str | Path, told: Told, seconds: dict[str, float], name: str) -> Iterator[None]:
    """Tells a step that begins, and notes how long it took."""
    begin = time.perf_counter()
    with told(f"{path}: {name}"):
        yield
    seconds[name] = time.perf_counter() - begin


def _check_places(path: Path, out: Path, scratch: str | None) -> None:
    """Raises ConfigError where the vectors would replace the corpus, by whatever name, RunError
    where they, or what is counted, cannot be written."""
    if path.exists() and out.exists() and path.samefile(out):
        raise ConfigError(f"--out {out} is the corpus; expected another file")
    files.refuse_unwritable(out)
    if scratch is not None:
        files.refuse_unwritable(Path(scratch), folder=True)


def _associated(
    matrix: "sparse.csr_array", options: Options, path: str | Path
) -> "sparse.csr_array":
    """Positive associations [V, V] of counts; raises DataError where there is none."""
    positive = ppmi.ppmi(matrix, options.smoothing, options.shift)
    if not positive.nnz:
        raise DataError(f"no pair has positive association; expected {_more(options)}", path)
    return positive


def _factors(associated: "sparse.csr_array", options: Options, path: str | Path) -> ppmi.Factors:
    """Of positive associations [V, V]; ConfigError where their rank is too low, RunError."""
    try:
        return ppmi.factors(associated, options.dimension)
    except ConfigError as error:
        raise ConfigError(f"{path}: --{error}; or give {_more(options)}") from None


def _more(options: Options) -> str:
    """What has more positive associations."""
    return "a lower --shift" if options.shift > 1 else "a larger corpus"
