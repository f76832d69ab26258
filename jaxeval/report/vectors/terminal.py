"""Similarity and analogies of word vectors in the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from jaxeval.report import tables, text
from jaxeval.stats.results import Interval
from jaxeval.vectors.accuracy import Accuracy, OnQuestions
from jaxeval.vectors.baseline import Made
from jaxeval.vectors.differences import Difference, LeftOut
from jaxeval.vectors.similarity import OnSet

_ALPHA = 0.05
_FEW = 20  # questions; resamples of 10 cover a share of .8 in 86 % of the cases, of 5 in 65 %
_HOW = "; paired bootstrap, p by Holm's method over all of them"
_RULES = {
    "skip": "on the pairs that all files cover",
    "zero": "on all pairs, similarity 0 where a word has no vector",
}


def print_similarity(results: Sequence[OnSet], missing: str, zeros: Mapping[str, int]) -> None:
    """A row a set and file, then the differences."""
    console = tables.console()
    head = ["pairs of words", "vectors", "covered", "rho of covered", "rho, missing 0"]
    where = 4 if missing == "skip" else 5
    head.insert(where, "95 % CI")
    rows = []
    for result in results:
        for name, score in result.scores.items():
            cells = (result.name, name, f"{score.covered} of {result.pairs}")
            rhos = [_number(score.skip), _number(score.zero)]
            rhos.insert(where - 3, text.bounds(score.interval, 3))
            rows.append((*cells, *rhos))
    tables.print_table(console, head, rows, words=(0, 1))
    for result in results:
        without = _without_interval({n: s.interval for n, s in result.scores.items()})
        left_out = _left_out(result.left_out, "pairs")
        for line in (*without, *left_out, *_differences(result.differences)):
            console.print(f"{result.name}: {line}", markup=False)
    if any(result.differences for result in results):
        console.print(f"differences of rho {_RULES[missing]}{_HOW}", markup=False, style="dim")
    _print_zeros(zeros)


def print_analogies(
    results: Sequence[OnQuestions], zeros: Mapping[str, int], details: bool = False
) -> None:
    """A row a set, method and file, perhaps with every section; then the differences."""
    console = tables.console()
    head = ("questions", "method", "vectors", "covered", "right", "of covered", "95 % CI")
    rows = []
    for result in results:
        for name, score in result.scores.items():
            first = (result.name, result.method, name)
            rows.append(_row(first, score.overall, score.interval))
            parts: Mapping[str, Accuracy] = score.sections if details else score.groups
            rows += [_row((f"  {part}", *first[1:]), a, None) for part, a in parts.items()]
    tables.print_table(console, (*head, "of all"), rows, words=(0, 1, 2))
    for result in results:
        few = _few(result)
        left_out = _left_out(result.left_out, "questions")
        without = _without_interval({n: s.interval for n, s in result.scores.items()})
        for line in (*few, *without, *left_out, *_differences(result.differences)):
            console.print(f"{result.name}, {result.method}: {line}", markup=False)
    if any(result.differences for result in results):
        note = f"differences of shares of the questions that all files cover{_HOW}"
        console.print(note, markup=False, style="dim")
    _print_zeros(zeros)


def _print_zeros(zeros: Mapping[str, int]) -> None:
    """A line a file with vectors of zeros."""
    for name, count in zeros.items():
        if count:
            words = text.counted(count, "word has", "words have")
            print(f"{name}: {words} a vector of zeros, which counts as none")


def print_baseline(summary: Made, out: str) -> None:
    """What was counted and written, and how long it took."""
    spent = (f"{step} {text.duration(seconds)}" for step, seconds in summary.seconds.items())
    print(f"{out}: {summary.words} words of {summary.tokens} tokens in all")
    print(
        f"{summary.pairs} pairs of words, {summary.positive} of them with positive association; "
        f"{', '.join(spent)}"
    )


def _row(first: tuple[str, ...], accuracy: Accuracy, interval: Interval | None) -> tuple[str, ...]:
    covered = f"{accuracy.covered} of {accuracy.total}"
    shares = (_number(accuracy.of_covered), text.bounds(interval, 3), _number(accuracy.of_all))
    return (*first, covered, str(accuracy.right), *shares)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _few(result: OnQuestions) -> Iterator[str]:
    """A line where the bootstrap of some intervals had little to draw from."""
    counted = [(f"of {n}", s.overall.covered, s.interval) for n, s in result.scores.items()]
    gaps = [d.effect.interval for d in result.differences]
    counted += [("of the differences", result.compared_on, gap) for gap in gaps]
    few = [of for of, n, ends in counted if n < _FEW and ends is not None and not ends.absent]
    if few:
        named = text.listed([*dict.fromkeys(few)])
        yield f"fewer than {_FEW} questions: the 95 % CIs {named} are too narrow"


def _without_interval(intervals: Mapping[str, Interval | None]) -> Iterator[str]:
    """A line a file whose score has no interval, with the reason."""
    for name, interval in intervals.items():
        if interval is not None and interval.absent:
            yield f"{name}: no 95 % CI: {interval.absent}"


def _left_out(files: Sequence[LeftOut], items: str) -> Iterator[str]:
    """A line a file that is not compared, with the reason."""
    for file, on in files:
        why = f"no score on the {on} {items} that it and the others cover"
        yield f"{file} is left out of the differences: {why}"


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    """A line a pair of files, with what can be said of it."""
    for difference in differences:
        effect, p = difference.effect, difference.p_adjusted
        better = {1: difference.a, -1: difference.b, 0: ""}[difference.test.direction or 0]
        verdict = f"{better} is better" if p < _ALPHA and better else "no difference shown"
        absent = effect.interval.absent
        ends = f" (no CI: {absent})" if absent else f" {text.bounds(effect.interval, 4)}"
        yield (
            f"{difference.a} - {difference.b} = {effect.estimate:+.4f}{ends}, "
            f"p {text.p_value(p)}, n = {effect.n[0]}: {verdict}"
        )
