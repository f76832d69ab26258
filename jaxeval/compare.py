"""`jaxeval compare`: is model A really better than B?"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from jaxeval import cli, parameters, sources, stats
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Count, Natural, Positive, Probability
from jaxeval.report import comparison, text
from jaxeval.report.comparison import Comparison
from jaxeval.runs import items as predictions
from jaxeval.runs import logs as evaluations
from jaxeval.runs import records
from jaxeval.runs.layout import Mismatched, Missing
from jaxeval.runs.scores import Scores
from jaxeval.stats import Method, Rules, failures, single_models
from jaxeval.stats.samples import Unit
from jaxeval.stats.study import Study, study


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
    paired: Annotated[bool, "python"] = False,
) -> Comparison:
    """Compares the score distributions of two or more models, trained by any program.

    Args:
      source: a table of scores (CSV, TSV, JSON, JSON lines, Parquet), a runs folder, or local
        files of W&B, MLflow or TensorBoard; in Python also records, a data frame, runs, a
        sequence of scores or a dict of them.
      models: names of two or more models (default: all); in Python also further runs or sequences.
      column: ROLE=NAME says which column is the model, seed, split, dataset, metric, status or
        dev. last=EPOCH or best=DEV chooses one row of each run.
      unit: unit of replication; scores within it are averaged (default: dataset if each has one
        score per model, else split if there are several, else seed, else row).
      correction: correction for multiple tests.
      ledger: file that counts your looks at these models, also from other sources. From the second
        look on, p-values that hold at any look decide.
      paired: the k-th scores of all sequences belong together.

    Examples:
      jaxeval compare scores.csv lstm transformer
      jaxeval compare runs --save figures --save tables.tex
    """
    named = [*models]
    if control is not None and named and control not in named:
        named.append(control)
    layout = sources.layout(column, score, metric, missing, lower_is_better)
    with cli.waiting("reading the scores"):
        scores, items = sources.scores([source, *named], layout, paired)
    rules = Rules(alpha, correction, margin, resamples=resamples, seed=seed)
    return _compared(scores, items, rules, unit, control, ledger)


def _compared(
    scores: Scores,
    items: Scores | None,
    rules: Rules,
    unit: Unit | None,
    control: str | None,
    ledger: str | Path | None = None,
) -> Comparison:
    """Compares the scores of runs, or items alone where a model has a single run."""
    if items is not None and (alone := _of_one_run(scores, items)):
        asked: dict[str, object] = {"unit": unit, "control": control, "ledger": ledger}
        asked["correction"] = rules.correction if rules.correction != "holm" else None
        if flags := [argument(name, value) for name, value in asked.items() if value]:
            expected = "expected two or more runs of each model"
            raise ConfigError(f"{', '.join(flags)}: {expected}")
        return Comparison(_over_items(_items_alone(scores, items, alone), rules))
    if control is not None:  # an id may name it, as it names the models of our own runs
        control = records.find_model(scores.ids, scores.models, control) or control
    sizes = [len(data.models) for data in scores.data_sets]
    pairs = sum(n - 1 if control else math.comb(n, 2) for n in sizes)
    with cli.waiting(f"comparing {text.counted(pairs, 'pair')} of models"):
        found = study(scores, rules, unit, control=control)
        if ledger is not None:
            found = comparison.with_looks(found, Path(ledger))
        if items is None or any(pair.looks > 1 for pair in (*found.pairs, *found.overall)):
            single = by_item = None
        else:
            single = single_models.compare(items, rules, control)
            runs = _several_runs(items)
            enough = runs.data_sets and len(items.models) > 1
            by_item = _over_items(runs, rules) if enough else None
    return Comparison(found, single=single, items=by_item)


def _of_one_run(scores: Scores, items: Scores) -> list[str]:
    """Returns the models of a single run; none if a model lacks items on a data set."""
    cells = {(data.name, model) for data in scores.data_sets for model in scores.models}
    if cells != {(data.name, model) for data in items.data_sets for model in data.models}:
        return []
    each = ((m, int(of.finished.sum())) for d in scores.data_sets for m, of in d.models.items())
    several = {*failures.failed_runs(scores), *(m for m, finished in each if finished != 1)}
    return [model for model in scores.models if model not in several]


def _over_items(items: Scores, rules: Rules) -> Study:
    return study(items, dataclasses.replace(rules, confidence=1 - rules.alpha))


def _several_runs(items: Scores) -> Scores:
    """The data sets where all models have two runs or more."""
    several = tuple(
        data
        for data in items.data_sets
        if len(data.models) == len(items.models)
        and min(int(of.finished.sum()) for of in data.models.values()) > 1
    )
    return dataclasses.replace(items, data_sets=several, notes=())


def _items_alone(scores: Scores, items: Scores, alone: Sequence[str]) -> Scores:
    """The items, with what is known of the scores of runs as warnings."""
    failed = failures.failed_runs(scores)
    ended = {m: text.statuses(scores.statuses[m]) for m in scores.models if m in failed}
    known = [*scores.warnings, *scores.notes, *(f"{m}: {how}" for m, how in ended.items())]
    if len(alone) < len(scores.models):
        only = f"{text.listed(alone)} {'has' if len(alone) == 1 else 'have'} one run"
        known.append(f"{only}: all models are compared over items alone")
    return dataclasses.replace(items, warnings=tuple(known), notes=())


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
    """Compares models by their predictions: by the scores of their runs, and item by item.

    Args:
      file: a table with one row for each item of a run. Its columns are model, seed or run, item,
        optionally dataset, and either correct, or gold and predicted.
      models: names of two or more models (default: all).
      metric: accuracy or macro_f1 (default: accuracy).

    Examples:
      jaxeval compare items predictions.csv --metric macro_f1
    """
    scores, items = predictions.read(file, models, metric, column)
    rules = Rules(alpha, margin=margin, resamples=resamples, seed=seed)
    return _compared(scores, items, rules, None, control)


@parameters.verb
def compare_logs(
    *logs: str | Path,
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
    """Compares language models item by item, by their evaluation logs.

    Args:
      logs: files or folders of lm-evaluation-harness, Inspect, HELM or openai/evals, or
        predictions as JSON lines or CSV. NAME=PATH gives all logs in PATH the model name NAME.
      task: use only these tasks, or tasks that match a pattern such as 'mmlu_*'.
      metric: the metric, if tasks have several.
      column: ROLE=KEY, if predictions have other keys.
      cluster: key that groups items: items with the same value form a cluster.
      mismatched: what to do with items of the same id but different content or prompt: stop with
        an error, leave them out, or treat them as equal.
      lower_is_better: lower scores are better (default: by the logs or the metric's name, else
        higher).
      over: what the claim generalises over (default: items and runs, if all models have several
        runs; else items).
      gate: exit with 0 if the first model is better than the second by more than the margin, with
        3 if it is worse, with 1 if neither was shown.

    Examples:
      jaxeval compare logs lm_eval_output --metric acc
      jaxeval compare logs new=new.eval old=old.eval --gate --margin 0.01
    """
    factors = None if over is None else stats.parse_over(over)
    complete = gate and missing == "error"
    rules = Rules(alpha, margin=margin, confidence=1 - alpha, over=factors, complete=complete)
    own: Any = {"cluster": cluster or "", "tasks": task, "mismatched": mismatched}
    asked = sources.layout(column, None, metric, missing, lower_is_better, **own)
    with cli.waiting("reading the logs"):
        scores = evaluations.read(logs, asked)
    if gate and (found := len(scores.models)) != 2:
        raise ConfigError(f"{argument('gate', True)}: expected two models, found {found}")
    with cli.waiting("comparing"):
        return Comparison(study(scores, rules), gate)
