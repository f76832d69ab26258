"""`jaxeval compare`: is model A really better than B?"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import cli, files, parameters
from jaxeval.errors import ConfigError, DataError, argument, parsing
from jaxeval.parameters import Count, Natural, Positive, Probability, Quiet
from jaxeval.report.comparison import Comparison
from jaxeval.runs.layout import Layout, Mismatched, Missing
from jaxeval.stats.results import Method
from jaxeval.stats.samples import Unit

if TYPE_CHECKING:
    from jaxeval.runs.scores import Scores
    from jaxeval.stats.pairs import RunScores
    from jaxeval.stats.results import Rules
    from jaxeval.stats.study import Study


@parameters.verb
def compare(
    source: "str | Path | Any",
    *models: "str | Any",
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    lower_is_better: bool | None = None,
    unit: Unit | None = None,
    alpha: Probability = 0.05,
    correction: Method = "holm",
    margin: Positive | None = None,
    control: str | None = None,
    resamples: Count = 9999,
    seed: Natural = 0,
    ledger: str | Path | None = None,
    paired: Quiet = False,
) -> Comparison:
    """Compares the score distributions of two or more models, of any program.

    Args:
      source: a table of scores (CSV, TSV, JSON, JSON lines, Parquet), a runs folder, or
        what W&B, MLflow or TensorBoard keep on this machine; in Python also records, a data
        frame, runs, a sequence of scores or a dict of them.
      models: two or more, all for none; in Python also further runs or sequences.
      column: ROLE=NAME, which column is model, seed, split, dataset, metric, status or dev;
        last=EPOCH or best=DEV: which row of a run counts.
      unit: of replication, within which scores are averaged (dataset where each has one score of
        a model, else split where there are several, else seed, else row).
      correction: over all tests looked at.
      ledger: file that counts how often scores were looked at while they grew; the anytime p-value
        holds then.
      paired: the k-th scores of all sequences belong together.

    Examples:
      jaxeval compare scores.csv lstm transformer
      jaxeval compare runs --save figures --save tables.tex
    """
    from jaxeval import sources
    from jaxeval.stats.results import Rules

    named = [*models]
    if control is not None and named and control not in named:
        named.append(control)
    layout = sources.layout(column, score, metric, missing, lower_is_better)
    with cli.waiting("reading the scores"):
        scores, items = sources.scores([source, *named], layout, paired)
    rules = Rules(alpha, correction, margin, resamples=resamples, seed=seed)
    return _compared(scores, items, rules, bool(named), unit, control, ledger)


def _without_single(scores: "Scores", items: "Scores | None") -> "Scores":
    """Leaves out models of one run on one data set, if two others are left, or have items."""
    from jaxeval.stats import failures

    alone, failed = _single(scores), failures.failed_runs(scores)
    left = [model for model in alone if not (items and items.data_sets) or model in failed]
    if not left or len(scores.models) - len(alone) < 2 or len(scores.data_sets) > 1:
        return scores
    others = scores.only([model for model in scores.models if model not in left])
    note = f"left out, as they have one score each: {', '.join(left)}"
    return dataclasses.replace(others, warnings=(*others.warnings, note))


def _single(scores: "Scores") -> list[str]:
    """The models that have one score on each data set."""
    each = ((m, int(of.finished.sum())) for d in scores.data_sets for m, of in d.models.items())
    several = {model for model, finished in each if finished != 1}
    return [model for model in scores.models if model not in several]


def _compared(
    scores: "Scores",
    items: "Scores | None",
    rules: "Rules",
    named: bool,
    unit: Unit | None = None,
    control: str | None = None,
    ledger: str | Path | None = None,
) -> Comparison:
    """Compares the scores of runs, or items alone where a model has a single run."""
    from jaxeval.runs import records
    from jaxeval.stats import single_models, study

    scores = scores if named or control is not None else _without_single(scores, items)
    alone = _single(scores)
    cells = {(data.name, model) for data in scores.data_sets for model in scores.models}
    if alone and items and cells == {(of.name, m) for of in items.data_sets for m in of.models}:
        if unit or control or ledger or rules.correction != "holm":
            expected = "expected two or more runs of each model"
            raise ConfigError(f"unit, control, correction, ledger: {expected}")
        return _over_items(scores, items, alone, rules)
    if control is not None:  # an id may name it, as it names the models of our own runs
        control = records.find_model(scores.ids, scores.models, control) or control
    with cli.waiting("comparing"):
        found = study.study(scores, rules, unit, control=control)
        single = None if items is None else single_models.compare(items, rules, control)
        by_item = None if items is None else _by_item(items, rules)
    found = found if ledger is None else _with_looks(found, Path(ledger))
    return Comparison(found, single=single, items=by_item)


def _by_item(items: "Scores", rules: "Rules") -> "Study | None":
    """Compares the items of all runs on the data sets where all models have two or more."""
    from jaxeval.stats import study

    several = tuple(
        data
        for data in items.data_sets
        if len(data.models) == len(items.models)
        and min(int(of.finished.sum()) for of in data.models.values()) > 1
    )
    if not several or len(items.models) < 2:
        return None
    of = dataclasses.replace(rules, confidence=1 - rules.alpha)
    return study.study(dataclasses.replace(items, data_sets=several, notes=()), of)


def _over_items(
    scores: "Scores", items: "Scores", alone: Sequence[str], rules: "Rules"
) -> Comparison:
    """Compares items; its warnings have what is known of the scores of runs."""
    from jaxeval.report import text
    from jaxeval.stats import failures
    from jaxeval.stats.study import study

    failed = failures.failed_runs(scores)
    ended = {m: text.statuses(scores.statuses[m]) for m in scores.models if m in failed}
    for model in filter(ended.__contains__, alone):
        raise DataError(
            f"{model}: 1 score, of runs of which others failed ({ended[model]}), which is no fair "
            "sample of them; expected at least 2, better 5 or more (other seeds, splits)",
            scores.source,
        )
    known = [*scores.warnings, *scores.notes, *(f"{m}: {how}" for m, how in ended.items())]
    if len(alone) < len(scores.models):
        only = f"{text.listed(alone)} {'has' if len(alone) == 1 else 'have'} one run"
        known.append(f"{only}: all models are compared over items alone")
    whole = dataclasses.replace(items, warnings=tuple(known), notes=())
    return Comparison(study(whole, dataclasses.replace(rules, confidence=1 - rules.alpha)))


@parameters.verb
def compare_items(
    file: str | Path,
    *models: str,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    alpha: Probability = 0.05,
    margin: Positive | None = None,
    control: str | None = None,
    resamples: Count = 9999,
    seed: Natural = 0,
) -> Comparison:
    """Compares models by their predictions: the scores of their runs, and item by item.

    Args:
      file: a row an item of a run: columns model, seed or run, item (and dataset), and correct, or
        gold and predicted.
      models: two or more, all for none.
      metric: accuracy (the default) or macro_f1.

    Examples:
      jaxeval compare items predictions.csv --metric macro_f1
    """
    from jaxeval.runs import items as predictions
    from jaxeval.stats.results import Rules

    scores, items = predictions.read(file, models, metric, column)
    rules = Rules(alpha, margin=margin, resamples=resamples, seed=seed)
    return _compared(scores, items, rules, bool(models), None, control)


@parameters.verb
def compare_logs(
    *logs: str,
    task: Sequence[str] = (),
    metric: str | None = None,
    column: Mapping[str, str] | None = None,
    cluster: str | None = None,
    missing: Missing = "error",
    mismatched: Mismatched = "error",
    lower_is_better: bool | None = None,
    over: Literal["items", "runs", "items,runs"] | None = None,
    alpha: Probability = 0.05,
    margin: Positive | None = None,
    gate: bool = False,
) -> Comparison:
    """Compares language models item by item, from logs of their evaluations.

    Args:
      logs: of lm-evaluation-harness, Inspect, HELM or openai/evals, or JSON lines or CSV of
        predictions: files or folders; NAME=PATH: all are runs of the model NAME.
      task: only these, or those of a pattern such as 'mmlu_*'.
      metric: of tasks with several.
      column: ROLE=KEY of predictions.
      cluster: items with the same value of this key in their data belong together.
      mismatched: what to do with items that have one id and differ in content or prompt.
      lower_is_better: lower scores are better (as the logs or the metric's name say, else higher).
      over: what is generalised over (all that the logs can say).
      gate: exit with 0 if the first model is better than the second (by more than the margin),
        with 1 if neither was shown, with 3 if it is worse.

    Examples:
      jaxeval compare logs lm_eval_output --metric acc
      jaxeval compare logs new=new.eval old=old.eval --gate --margin 0.01
    """
    from jaxeval.runs import logs as evaluations
    from jaxeval.stats import results
    from jaxeval.stats.results import Rules
    from jaxeval.stats.study import study

    factors = None if over is None else results.parse_over(over)
    complete = gate and missing == "error"
    rules = Rules(alpha, margin=margin, confidence=1 - alpha, over=factors, complete=complete)
    higher = None if lower_is_better is None else not lower_is_better
    asked = Layout(column or {}, (), metric, missing, higher, cluster or "", task, mismatched)
    with cli.waiting("reading the logs"):
        scores = evaluations.read(logs, asked)
    if gate and (found := len(scores.models)) != 2:
        raise ConfigError(f"{argument('gate', True)}: expected two models, found {found}")
    with cli.waiting("comparing"):
        return Comparison(study(scores, rules), gate)


def _with_looks(study: "Study", path: Path) -> "Study":
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


def _hash(pair: "RunScores") -> str:
    """Returns a hash of the scores of both models, whatever their order."""
    models = sorted([(pair.a, pair.first), (pair.b, pair.second)], key=lambda model: model[0])
    known = json.dumps([sorted(map(float, scores)) for _, scores in models])
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _warning(pair: "RunScores", looks: int, comparisons: int) -> str:
    """Says what still holds: an anytime p-value of all scores, which their order cannot change."""
    from jaxeval.report import text
    from jaxeval.stats import results, sequential

    x, y = pair.compared
    seen = sequential.looks(results.gaps(x, y)) if pair.by_pairs else sequential.looks(x, y)
    p = float(sequential.p_values(seen)[-1]) if len(seen.scores) else 1.0
    on = f" on {pair.data_set}" if pair.data_set else ""
    among = f" (Bonferroni, {comparisons} comparisons)" if comparisons > 1 else ""
    return (
        f"{pair.a}, {pair.b}{on}: looked at {looks} times: the fixed-n p-value no longer holds; "
        f"anytime p {text.p_value(min(1.0, comparisons * p))}{among}"
    )
