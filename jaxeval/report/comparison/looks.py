"""The ledger of comparisons: how often scores were looked at while they grew."""

import dataclasses
import hashlib
import json
from pathlib import Path

from jaxeval import files
from jaxeval.errors import ConfigError, parsing
from jaxeval.report import text
from jaxeval.stats import results, sequential
from jaxeval.stats.pairs import RunScores
from jaxeval.stats.study import Study


def with_looks(study: Study, path: Path) -> Study:
    """Returns the study, with a warning for each pair that was looked at before it had grown.

    Args:
      path: file of hashes of the scores seen last, and of numbers of looks.

    Raises:
      ConfigError: it is another kind of file.
      RunError: it cannot be written, or another process works with it.
    """
    of = [pair.scores for pair in study.pairs if pair.scores is not None]
    busy = f"{path}: another process works with this ledger"
    with files.locked(path.with_name(f".{path.name}.lock"), busy):
        seen = _seen(path)
        looked = {}
        for pair in of:
            where = study.scores.source, pair.data_set, study.scores.metric
            key = " | ".join([*filter(None, where), *sorted((pair.a, pair.b))])
            scores = _hash(pair)
            last, looks = seen.get(key, ("", 0))
            looked[key] = scores, looks + (scores != last)
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    numbers = [looks for _, looks in looked.values()]
    warnings = [_warning(*each, len(of)) for each in zip(of, numbers, strict=True) if each[1] > 1]
    return dataclasses.replace(study, warnings=(*study.warnings, *warnings))


def _seen(path: Path) -> dict[str, tuple[str, int]]:
    if not path.exists():
        return {}
    with parsing("not a ledger of comparisons", path, error=ConfigError, passing=(MemoryError,)):
        known = json.loads(path.read_text(encoding="utf-8"))
        return {str(key): (str(scores), int(looks)) for key, (scores, looks) in known.items()}


def _hash(pair: RunScores) -> str:
    """Returns a hash of the scores of both models, whatever their order."""
    models = sorted([(pair.a, pair.first), (pair.b, pair.second)], key=lambda model: model[0])
    known = json.dumps([sorted(map(float, scores)) for _, scores in models])
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _warning(pair: RunScores, looks: int, comparisons: int) -> str:
    """Says what still holds: an anytime p-value of all scores, which their order cannot change."""
    x, y = pair.compared
    seen = sequential.looks(results.gaps(x, y)) if pair.by_pairs else sequential.looks(x, y)
    p = float(sequential.p_values(seen)[-1]) if len(seen.scores) else 1.0
    names = f"{pair.a}, {pair.b}{results.on(pair.data_set)}"
    among = f" (Bonferroni, {comparisons} comparisons)" if comparisons > 1 else ""
    return (
        f"{names}: looked at {looks} times: the fixed-n p-value no longer holds; "
        f"anytime p {text.p_value(min(1.0, comparisons * p))}{among}"
    )
