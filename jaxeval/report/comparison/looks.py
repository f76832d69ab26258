"""The ledger of comparisons: how often scores were looked at while they grew."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.errors import ConfigError, parsing
from jaxeval.report import text
from jaxeval.stats import results, sequential
from jaxeval.stats.pairs import Pair, RunScores
from jaxeval.stats.study import Study, with_pairs

_OTHERS = (
    "tests of spread, of failed runs, over items and over data sets hold for a single look: they "
    "claim nothing now"
)


class _Entry(NamedTuple):
    """What the ledger knows of two models on a data set."""

    scores: str  # hash of those seen last
    looks: int
    tests: int  # the most comparisons that this one was made with: others may be left out later


def with_looks(study: Study, path: Path) -> Study:
    """Returns the study; pairs that grew between looks are judged by tests that hold at any look.

    Args:
      path: file of hashes of the scores seen last, and of numbers of looks.

    Raises:
      ConfigError: it is another kind of file.
      RunError: it cannot be written, or another process works with it.
    """
    families = [[pair for pair in of if pair.scores] for of in (study.pairs, study.overall)]
    busy = f"{path}: another process works with this ledger"
    with files.locked(files.lock_of(path, "ledger"), busy):
        seen = _seen(path)
        looked = {_key(pair): _look(pair, seen, len(of)) for of in families for pair in of}
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    found = [[_judged(pair, looked[_key(pair)], study) for pair in of] for of in families]
    if grown := [pair for of in found for pair in of if pair.looks > 1]:
        study = _without_other_tests(study)
        lines = *(_warning(pair, looked[_key(pair)].tests) for pair in grown), _OTHERS
        study = dataclasses.replace(study, warnings=(*study.warnings, *lines))
    return with_pairs(study, *found) if looked else study


def _key(pair: Pair) -> str:
    """Names a pair, also if its table has another name later."""
    return " | ".join([*filter(None, (pair.data_set, pair.metric)), *sorted(pair.names)])


def _look(pair: Pair, seen: Mapping[str, _Entry], tests: int) -> _Entry:
    """Returns the entry of a pair after this look, which counts if it sees other scores."""
    scores, last = _hash(pair), seen.get(_key(pair), _Entry("", 0, 0))
    return _Entry(scores, last.looks + (scores != last.scores), max(tests, last.tests))


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


def _judged(pair: Pair, entry: _Entry, study: Study) -> Pair:
    """Returns the pair with verdicts that hold after so many looks, by Bonferroni over tests."""
    _, looks, tests = entry
    if looks == 1:
        return pair
    assert pair.scores is not None
    alpha, margin = study.rules.alpha, study.rules.margin
    p, equal, higher = _anytime(pair.scores, margin)
    p, equal = min(1.0, tests * p), min(1.0, tests * equal)
    enough = pair.scores.units >= pair.scores.fewest
    shown = higher if enough and p <= alpha else 0
    of_looks: dict[str, Any] = {"p_adjusted": p, "shown": shown, "wider": 0, "looks": looks}
    of_looks["plan"] = None  # of a single look
    of_looks["against"] = pair.scores.contradicting(shown)
    if margin is not None:
        of_looks["equivalent"] = enough and equal <= alpha
        of_looks["adjusted"] = {**pair.adjusted, "tost": equal}
    return dataclasses.replace(pair, **of_looks)


def _warning(pair: Pair, tests: int) -> str:
    among = f" (Bonferroni, {tests} comparisons)" if tests > 1 else ""
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


def _hash(pair: Pair) -> str:
    """Returns a hash of the scores of both models, whatever their order."""
    assert pair.scores is not None
    models = sorted(zip(pair.names, (pair.scores.first, pair.scores.second), strict=True))
    known = json.dumps([sorted(map(float, scores)) for _, scores in models])
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _anytime(of: RunScores, margin: float | None) -> tuple[float, float, int]:
    """Returns p of equal means, p of a difference of the margin or more, and whose mean is higher.

    They are of all scores, whose order cannot change them: 1, 1 and 0 where there are too few.
    """
    x, y = of.compared
    seen = sequential.looks(results.gaps(x, y)) if of.by_pairs else sequential.looks(x, y)
    if not len(seen.scores):
        return 1.0, 1.0, 0
    gap, end = seen.estimate, margin or 0.0
    below = sequential.e_process(seen._replace(estimate=gap - end), alternative="less")
    above = sequential.e_process(seen._replace(estimate=gap + end), alternative="greater")
    equal = min(1.0, math.exp(-min(below[-1], above[-1])))
    return float(sequential.p_values(seen)[-1]), equal, int(np.sign(gap[-1]))
