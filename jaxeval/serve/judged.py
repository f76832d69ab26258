"""What a board computes of uploads, each function in a process of its own (`confined`).

Arguments and results are JSON; `page` is what the template of a page needs. The folder of each
submission of vectors gets result.json, as `vectors judge --json` writes it for one file;
leaderboards and comparisons are made of these.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import errors, files
from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.report import Block, Document, Link, Table, render, to_csv, to_json
from jaxeval.report.comparison import tables, words
from jaxeval.report.vectors import JudgedVectors
from jaxeval.stats import describe, judgement
from jaxeval.stats.judgement import Judgement

_RESULT = "result.json"
_MOST_PAIRS = 2_000  # of models on a data set: comparing them takes 30 CPU s, their page 4 MB


def plan(baseline: str, settings: Mapping[str, Any]) -> None:
    """Reads all corpora and the baseline, and trains nothing."""
    from jaxeval import judge, parameters
    from jaxeval.vectors import short_names

    with errors.called_from(errors.flag):  # `serve board` has the same ones
        named = short_names([baseline], "vectors")
        seeds, modes = parameters.numbers(settings["seeds"]), judge.MODES[settings["modes"]]
        judge.plan(named, settings["data"], modes, seeds, settings["changes"])


def check(file: str) -> dict[str, int]:
    """Reads a file of vectors; returns the number of its words and of the numbers of each."""
    from jaxeval.data import vectors

    os.chdir(Path(file).parent)  # messages name the file alone
    words, dimension = vectors.read(Path(file).name).table.shape
    if not words:
        raise DataError("no vectors found; expected one word and its numbers per line")
    return {"words": words, "dimension": dimension}


def judge(file: str, settings: Mapping[str, Any]) -> None:
    """Trains models on the vectors of a file."""
    from jaxeval.judge import vectors_judge

    os.chdir(Path(file).parent)
    found = vectors_judge(Path(file).name, **settings, out="runs", quiet=True)
    files.write_json(_RESULT, found.to_dict())


def table(file: str, options: Mapping[str, Any], **page: Any) -> None:
    """Compares the models in a table of scores, as `compare` does; writes page, JSON and CSV.

    It is read as text alone: no runs of a tracker, and no database. The CSV has its models.
    """
    from jaxeval import sources
    from jaxeval.compare import compare
    from jaxeval.runs import columns, tables

    os.chdir(Path(file).parent)
    with errors.called_from(_of_form):
        read = columns.read(Path(file).name)
        scores = tables.from_table(read, sources.layout(**options))
        pairs = math.comb(len(scores.models), 2) * len(scores.data_sets)
        if pairs > _MOST_PAIRS:
            most = f"expected at most {_MOST_PAIRS:,}; jaxeval compare has no limit"
            raise DataError(f"{pairs:,} pairs of models on data sets; {most}", scores.source)
        found = compare(scores)
        document = found.document()
    rows: list[dict[str, Json]] = []
    for data_set, model, of in words.described(found.study):
        row: dict[str, Json] = {"model": model, "data_set": data_set, "n": of.n}
        row |= {"mean": of.mean, "sd": of.sd, "low": None, "high": None}
        row |= dict(zip(("low", "high"), of.mean_interval or (), strict=False))
        rows.append(row)
    _write("page", document, found.to_dict(), rows, **page)


def _of_form(name: str, value: object) -> str:
    """Names an argument as the form of tables has it, others with the command that has them."""
    if isinstance(value, Mapping) and [*value] == ["score"]:
        return f'column of scores "{value["score"]}"'
    known = name == "lower_is_better" and value  # a box cannot say no
    return '"lower is better"' if known else errors.of_command("compare")(name, value)


def show(
    folder: str, names: Mapping[str, str], baseline: str, target: str, mode: str, **page: Any
) -> None:
    """Writes page and JSON of `vectors judge` for some submissions, and a CSV of their scores.

    Args:
      folder: has a folder of each submission.
      names: id -> name.
      baseline: the name of one of them, or "".
      target: the files without their endings.
      mode: "" for both.
    """
    found = _judged(_results(folder, names), baseline, mode)
    rows: list[dict[str, Json]] = [
        {"vectors": name, "mode": of.mode, "task": task, "seed": seed, "score": to_json(score)}
        for of in found.modes
        for name, by_task in of.scores.items()
        for task, by_seed in zip(of.tasks, by_task, strict=True)
        for seed, score in zip(of.seeds, by_seed, strict=True)
    ]
    _write(target, found.document(), found.to_dict(), rows, **page)


def _write(
    target: str,
    document: Document,
    data: Mapping[str, object],
    rows: Sequence[Mapping[str, Json]],
    **page: Any,
) -> None:
    html = render.to_page(document, "served.html.jinja", **page)
    files.write_text(Path(target).with_suffix(".html"), html)
    files.write_json(str(Path(target).with_suffix(".json")), data)
    lines = to_csv([[*rows[0]], *([*row.values()] for row in rows)])
    files.write_text(Path(target).with_suffix(".csv"), lines)


def leaderboard(
    folder: str, names: Mapping[str, str], baseline: str, target: str, mode: str, **page: Any
) -> None:
    """Writes page, JSON and CSV of the leaderboard of a mode; arguments as of `show`.

    Raises:
      DataError: most trainings of each file failed.
    """
    results = _results(folder, names)
    kept = {name: of for name, of in results.items() if _is_whole(of)}
    left_out = [name for name in results if name not in kept]
    if not kept:
        raise DataError(f"most trainings of {', '.join(left_out)} failed")
    whole = _judged(kept, baseline if baseline in kept else "", mode)
    (found,) = whole.modes
    ids = {name: key for key, name in names.items()}
    document = JudgedVectors({}, whole.metrics, {}, [found], ()).document()
    notes = [f"{name} is left out: most of its trainings failed" for name in left_out]
    document = document._replace(
        blocks=[_linked(block, ids) for block in document.blocks],
        notes=[*notes, *document.notes],
        details=None,
        figures=tuple,
        title="Leaderboard of word vectors",
    )
    rows = _rows(found, ids)
    about: dict[str, object] = {"mode": mode, "metrics": whole.metrics, "seeds": found.seeds}
    about |= {"baseline": found.baseline, "rows": rows, "left_out": left_out}
    _write(target, document, about, rows, mode=mode, compare="/vectors/compare", **page)


def _linked(block: Block, ids: Mapping[str, str]) -> Block:
    """Makes the names in the first column of a table lead to their pages."""
    if not isinstance(block, Table):
        return block
    box = "v" if judgement.MEAN in block.columns else ""
    rows = [
        (Link(name, f"/vectors/{ids[name]}", box) if name in ids else name, *cells)
        for name, *cells in block.rows
    ]
    return block._replace(rows=rows)


def _rows(mode: Judgement, ids: Mapping[str, str]) -> list[dict[str, Json]]:
    """Returns the numbers of each file on a leaderboard, the best first."""
    board = mode.study and mode.study.main
    rows = []
    places = {row.model: row for row in board.rows} if board else {}
    for name, by_task in mode.scores.items():
        place = places.get(name)
        means = by_task.mean(axis=0)
        mean = describe.summarize(means[~np.isnan(means)])
        interval = place.mean.interval if place else mean.interval
        row: dict[str, Json] = {"id": ids[name], "name": name, "mean": mean.mean}
        row |= {"low": interval and interval.low, "high": interval and interval.high}
        row |= {"rank": place and place.rank, "tied": tables.tied(place.groups) if place else ""}
        row |= {"best_rank": place and place.low, "worst_rank": place and place.high}
        reduced = mode.reductions.get(name, {}).get("mean")
        row |= {"error_reduction": reduced.estimate if reduced else None}
        row |= {t: float(np.nanmean(of)) for t, of in zip(mode.tasks, by_task, strict=True)}
        rows.append(row)
    return rows


def _results(folder: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns what result.json holds of each submission, by name."""
    paths = {name: Path(folder) / key / _RESULT for key, name in names.items()}
    return {name: json.loads(path.read_text()) for name, path in paths.items()}


def _scores(of_mode: Mapping[str, Any]) -> np.ndarray:
    """Returns the scores [T, S] of the only file in a result; NaN for a training that failed."""
    (scores,) = of_mode["scores"].values()
    return np.array(scores, float)


def _is_whole(result: Mapping[str, Any]) -> bool:
    """Returns whether the means over tasks of one seed, or better two, are known."""
    means = [_scores(mode).mean(axis=0) for mode in result["modes"]]
    return all(np.sum(~np.isnan(of)) >= min(2, len(of)) for of in means)


def _judged(results: Mapping[str, Any], baseline: str, mode: str) -> JudgedVectors:
    """Compares files that were judged one by one."""
    judged: list[Judgement] = []
    first = next(iter(results.values()))
    for number, of in enumerate(first["modes"]):
        if of["mode"] == (mode or of["mode"]):
            scores = {name: _scores(tree["modes"][number]) for name, tree in results.items()}
            judged.append(
                judgement.judge(of["mode"], of["tasks"], of["seeds"], scores, baseline or None)
            )
    coverage: dict[tuple[str, str], Any] = {}
    trainings: list[Mapping[str, object]] = []
    for name, tree in results.items():
        (covered,) = tree["coverage"].values()
        coverage |= {(name, task): share for task, share in covered.items()}
        trainings += [{**training, "vectors": name} for training in tree["trainings"]]
    named = {name: name for name in results}
    return JudgedVectors(named, first["metrics"], coverage, judged, trainings)
