"""The ledger of comparisons: how often scores were looked at while they grew."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError, argument, parsing
from jaxeval.report import text
from jaxeval.runs.scores import OVERLAPPING
from jaxeval.stats import over_runs, power, results
from jaxeval.stats.pairs import Pair
from jaxeval.stats.study import Study, with_pairs

_OTHERS = (
    "tests of spread of these pairs, of failed runs, over items and over data sets hold for a "
    "single look: they claim nothing now"
)
_AND = " | "  # between the parts of a key


class _Entry(NamedTuple):
    """What the ledger knows of two models on a data set."""

    scores: str  # hash of those seen last
    looks: int
    tests: int  # comparisons of its family in the ledger, by its last look


def with_looks(study: Study, path: Path) -> Study:
    """Returns the study; pairs that grew between looks are judged by tests that hold at any look.

    Pairs that did not grow keep their tests: all p-values are valid at every look, and corrected
    together with the pairs of earlier looks that are left out now.

    Args:
      path: file of hashes of the scores seen last, and of numbers of looks.

    Raises:
      ConfigError: it is another kind of file.
      RunError: it cannot be written, or another process works with it.
    """
    families = [[pair for pair in of if pair.scores] for of in (study.pairs, study.overall)]
    if any(pair.scores and pair.scores.overlap for of in families for pair in of):
        raise ConfigError(f"{argument('ledger', path)}: {OVERLAPPING}")
    busy, looked = f"{path}: another process works with this ledger", dict[str, _Entry]()
    with files.locked(files.lock_of(path, "ledger"), busy):
        seen = _seen(path)
        for of in families:
            looked |= _looks(of, seen)
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    if not looked:
        return study
    pairs, overall = (_judged(of, looked, study) for of in families)
    study = with_pairs(study, pairs, overall, *(_left_out(of, looked) for of in families))
    lines = [line for of in families for line in _earlier(of, looked, seen)]
    if grown := [pair for pair in (*study.pairs, *study.overall) if pair.looks > 1]:
        study = _without_other_tests(study)
        lines += *(_warning(pair, looked[_key(pair)].tests) for pair in grown), _OTHERS
    return dataclasses.replace(study, warnings=(*study.warnings, *lines))


def _key(pair: Pair) -> str:
    """Names a pair, also if its table has another name later."""
    return _AND.join([*filter(None, (pair.data_set, pair.metric)), *sorted(pair.names)])


def _looks(of: Sequence[Pair], seen: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Returns the entries of a family after this look, which counts where it sees other scores."""
    known = {_key(pair): seen.get(_key(pair), _Entry("", 0, 0)) for pair in of}
    tests = len(known.keys() | _family(of, seen))
    tests, found = max([tests, *(last.tests for last in known.values())]), {}
    for pair, (key, last) in zip(of, known.items(), strict=True):
        assert pair.scores is not None
        models = sorted(zip(pair.names, (pair.scores.first, pair.scores.second), strict=True))
        dumped = json.dumps([sorted(map(float, scores)) for _, scores in models])
        scores = hashlib.sha256(dumped.encode()).hexdigest()[:16]  # whatever their order
        found[key] = _Entry(scores, last.looks + (scores != last.scores), tests)
    return found


def _family(of: Sequence[Pair], seen: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Returns the entries of one kind with these pairs, on data sets or in the mean over them."""
    parts = {_key(pair).count(_AND) for pair in of}
    return {key: last for key, last in seen.items() if key.count(_AND) in parts}


def _earlier(
    of: Sequence[Pair], looked: Mapping[str, _Entry], seen: Mapping[str, _Entry]
) -> Iterator[str]:
    """Says what candidates that were compared one after the other lack."""
    others = [last for key, last in _family(of, seen).items() if key not in looked]
    tests = looked[_key(of[0])].tests if of else 0
    if any(last.tests < tests for last in others):
        together = f"compare all models in one table, with {argument('control', 'BASE')}"
        yield (
            f"corrected over {tests} comparisons, {len(others)} of them of earlier looks, whose "
            f"claims were corrected over fewer: to see which still hold, {together}"
        )


def _without_other_tests(study: Study) -> Study:
    """Leaves out the tests of failed runs and over data sets."""
    design, failed = study.run_design, study.failures
    assert design is not None
    if (across := design.across) is not None:
        across = dataclasses.replace(across, ranking=None, signed_rank=None)
    return dataclasses.replace(
        study,
        run_design=dataclasses.replace(design, across=across),
        failures=failed and dataclasses.replace(failed, tests=()),
    )


def _left_out(of: Sequence[Pair], looked: Mapping[str, _Entry]) -> int:
    """The number of comparisons of earlier looks that a family lacks now."""
    return looked[_key(of[0])].tests - len(of) if of else 0


def _judged(of: Sequence[Pair], looked: Mapping[str, _Entry], study: Study) -> Sequence[Pair]:
    """Returns a family of pairs with verdicts that hold after their looks."""
    left_out, scores = _left_out(of, looked), [pair.scores for pair in of if pair.scores]
    looks = [looked[_key(pair)].looks for pair in of]
    if not left_out and {*looks} <= {1}:
        return of
    ranks = power.by_ranks(scores, study.rules.alpha, left_out)
    scores = [
        dataclasses.replace(runs, looks=n, by_ranks=ranks and n == 1)
        for runs, n in zip(scores, looks, strict=True)
    ]
    found, _ = over_runs.compared(scores, study.rules, study.scores, left_out)
    sets = (pair.data_set for pair in of)  # None: the mean
    return [dataclasses.replace(pair, data_set=on) for pair, on in zip(found, sets, strict=True)]


def _warning(pair: Pair, tests: int) -> str:
    among = f" (corrected over {tests} comparisons)" if tests > 1 else ""
    where = " in the mean over data sets" if pair.data_set is None else results.on(pair.data_set)
    no = f"looked at {pair.looks} times: the fixed-n p-value and the CI no longer hold"
    return f"{pair.a}, {pair.b}{where}: {no}; anytime p {text.p_value(pair.p_adjusted)}{among}"


def _seen(path: Path) -> dict[str, _Entry]:
    if not path.exists():
        return {}
    with parsing("not a ledger of comparisons", path, error=ConfigError, passing=(MemoryError,)):
        known = json.loads(path.read_text(encoding="utf-8"))
        each = known.items()
        return {key: _Entry(str(scores), int(n), int(m)) for key, (scores, n, m) in each}
