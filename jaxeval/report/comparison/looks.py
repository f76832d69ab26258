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

    Differences that such looks no longer let stand are named in `RunDesign.withdrawn`.

    Args:
      path: file of hashes of the scores seen last, and of numbers of looks.

    Raises:
      ConfigError: it is another kind of file.
      RunError: it cannot be written, or another process works with it.
    """
    pairs = [(pair, pair.scores) for pair in study.pairs if pair.scores is not None]
    busy = f"{path}: another process works with this ledger"
    with files.locked(path.with_name(f".{path.name}.lock"), busy):
        seen = _seen(path)
        looked = {}
        for pair, of in pairs:
            where = study.scores.source, pair.data_set, study.scores.metric
            key = " | ".join([*filter(None, where), *sorted(pair.names)])
            scores = _hash(of)
            last, looks = seen.get(key, ("", 0))
            looked[key] = scores, looks + (scores != last)
        if looked.items() - seen.items():
            files.write_text(path, json.dumps({**seen, **looked}, indent=1) + "\n")
    among = f" (Bonferroni, {len(pairs)} comparisons)" if len(pairs) > 1 else ""
    warnings, withdrawn = list[str](), list[str]()
    for (pair, of), (_, looks) in zip(pairs, looked.values(), strict=True):
        if looks > 1:
            p = min(1.0, len(pairs) * _anytime_p(of))
            names = f"{pair.a}, {pair.b}{results.on(pair.data_set)}"
            anytime, no = f"anytime p {text.p_value(p)}", "the fixed-n p-value no longer holds"
            warnings.append(f"{names}: looked at {looks} times: {no}; {anytime}{among}")
            withdrawn += [f"{names} ({anytime})"] if pair.shown and p > study.rules.alpha else []
    design = study.run_design and dataclasses.replace(study.run_design, withdrawn=(*withdrawn,))
    return dataclasses.replace(study, run_design=design, warnings=(*study.warnings, *warnings))


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


def _anytime_p(pair: RunScores) -> float:
    """Returns what still holds: the p-value of all scores, which their order cannot change."""
    x, y = pair.compared
    seen = sequential.looks(results.gaps(x, y)) if pair.by_pairs else sequential.looks(x, y)
    return float(sequential.p_values(seen)[-1]) if len(seen.scores) else 1.0
