"""Pages of logs: the answers of two models to the same items, side by side, with their texts."""

import asyncio
import functools
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from jaxeval.report import Document, text, to_json
from jaxeval.runs import cells, metrics
from jaxeval.runs import logs as evaluations
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs.records import Text
from jaxeval.runs.normal import Rows
from jaxeval.runs.scores import Status
from jaxeval.serve import app

_ON_A_PAGE = 20
_RIGHT = 0.5  # the least mean score of a right answer


class _Query(NamedTuple):
    """The two models, the task, the metric, and the items that are shown."""

    a: str
    b: str
    task: str
    metric: str
    show: str = "a"
    page: int = 1

    def address(self, **changes: object) -> str:
        """Returns the address of a page that differs in some fields."""
        return f"/logs?{urllib.parse.urlencode({**self._asdict(), **changes})}"


class _Answer(NamedTuple):
    """The answers of a model to an item: in the first log that has one, and the mean of all."""

    log: str
    item: str
    score: float | None  # None if no answer has one
    answers: int  # how many: of all runs and samples


class Pairs(NamedTuple):
    """The items that two models answered, and which of them each choice shows."""

    items: Sequence[tuple[_Answer, _Answer]]
    chosen: Mapping[str, tuple[str, Sequence[int]]]  # choice -> title, places in `items`
    notes: Sequence[str]


def part(paths: Sequence[str | Path], nav: app.Nav, at_once: bool) -> app.Part:
    """Returns the pages of logs; errors as of `evaluations.read_rows`.

    Args:
      at_once: read the logs now, else when a page is asked for.
    """
    read = functools.cache(lambda: _Logs(evaluations.read_rows(paths, Layout())))
    reading = asyncio.Lock()
    if at_once:
        read()

    async def page(request: Request) -> app.Page:
        async with reading:  # once for all who ask
            logs = await anyio.to_thread.run_sync(read)
        asked = logs.parse(request.query_params)
        any_page = asked._replace(show="", page=1)
        pairs = await anyio.to_thread.run_sync(logs.pairs, any_page)
        if app.form(request) == "html":
            return await anyio.to_thread.run_sync(_page, logs, asked, pairs, nav)
        of = {k: choice for choice, (_, places) in pairs.chosen.items() for k in places}
        rows = [(a.item, a.score, b.score, of[k]) for k, (a, b) in enumerate(pairs.items)]
        titles = {choice: title for choice, (title, _) in pairs.chosen.items()}
        data = {**asked._asdict(), "items": rows, "titles": titles, "notes": pairs.notes}
        head = ("item", *asked[:2], "choice")
        return app.Page(Document(()), to_json(data), [head, *rows])

    return app.Part({"/logs": page}, [Route("/", lambda _: RedirectResponse("/logs", 303))])


class _Logs:
    """The scores of all logs; texts are read when a page shows them."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.models = [*rows.model.names]
        self.pairs = functools.lru_cache(maxsize=4)(self._pairs)
        keys = np.unique(np.stack([rows.dataset.codes, rows.metric.codes], 1), axis=0)
        self.metrics: dict[str, list[str]] = {}
        for task, metric in keys.tolist():
            known = self.metrics.setdefault(rows.dataset.names[task], [])
            known += [rows.metric.names[metric]] if metric >= 0 else []

    def parse(self, query: Mapping[str, str]) -> _Query:
        """Returns what is asked for; HTTPException if there is no such model, task or metric."""

        def choice(name: str, known: Sequence[str], default: int = 0) -> str:
            given = query.get(name) or "".join(known[min(default, len(known) - 1) :][:1])
            if given not in known:
                raise HTTPException(404, f"{name}: the logs have none of this name")
            return given

        a = choice("a", self.models)
        b = choice("b", self.models, 1)
        task = choice("task", [*self.metrics])
        given = query if query.get("metric") in self.metrics[task] else {}
        metric = given.get("metric") or choice("metric", self.metrics[task])
        page = query.get("page", "1")
        number = int(page) if page.isdecimal() and len(page) < 7 else 1
        return _Query(a, b, task, metric, query.get("show", "a"), max(1, number))

    def _pairs(self, asked: _Query) -> Pairs:
        """Returns the items of two models; DataError if they cannot be paired."""
        rows = self.rows
        both = (asked.a, asked.b)
        notes: list[str] = []
        models = [rows.model.names.index(name) for name in both]
        metric = rows.metric.names.index(asked.metric)
        where = np.flatnonzero(
            (rows.dataset.codes == rows.dataset.names.index(asked.task))
            & np.isin(rows.metric.codes, (metric, -1))
            & np.isin(rows.model.codes, models)
        )
        wrong = cells.disagreeing(rows, Layout(mismatched="drop"), asked.task, where, notes)
        where = where[~wrong]
        first, second = (
            self._answers(where[rows.model.codes[where] == model]) for model in models
        )
        items = [(first[key], second[key]) for key in first if key in second]
        if alone := len(first.keys() ^ second.keys()):
            notes.append(f"{text.counted(alone, 'item')} of one of them alone left out")
        recorded = rows.recorded.get((asked.task, asked.metric))
        higher = metrics.higher_is_better(asked.metric) if recorded is None else recorded
        chosen = _choices(items, both, higher is not False)
        if "both" in chosen and any(0 < (x.score or 0) < 1 for pair in items for x in pair):
            notes.append(f"right: a mean score of at least {_RIGHT:g}")
        return Pairs(items, chosen, notes)

    def _answers(self, where: np.ndarray) -> dict[int, _Answer]:
        rows = self.rows
        found: dict[int, list[int]] = {}
        for k, key in zip(where.tolist(), rows.item.codes[where].tolist(), strict=True):
            found.setdefault(key, []).append(k)
        answers = {}
        for key, places in found.items():
            first = places[0]
            scored = [k for k in places if rows.status[k] == Status.SCORED]
            score = float(np.mean(rows.score[scored])) if scored else None
            log = rows.file.name(first) if rows.file else rows.source
            answers[key] = _Answer(log, rows.item.name(first), score, len(places))
        return answers


def _choices(
    items: Sequence[tuple[_Answer, _Answer]], both: tuple[str, str], higher: bool
) -> dict[str, tuple[str, list[int]]]:
    """Returns choice -> its title, and the places of its items.

    Answers are right or wrong if all scores are from 0 to 1; else one is better than the other,
    and the largest difference comes first. An answer without a score is wrong, or the worse one.
    """
    a, b = both
    worst, sign = (-np.inf, 1.0) if higher else (np.inf, -1.0)
    each = [[worst if x.score is None else x.score for x in pair] for pair in items]
    scores = sign * np.reshape(each, (-1, 2))
    known = scores[np.isfinite(scores)]
    if higher and len(known) and known.min() >= 0 and known.max() <= 1:
        first, second = (scores >= _RIGHT).T.astype(float)
        masks = {
            "a": (f"{a} right, {b} wrong", first > second),
            "b": (f"{b} right, {a} wrong", second > first),
            "neither": ("both wrong", first + second == 0),
            "both": ("both right", first + second == 2),
        }
    else:
        first, second = scores.T
        masks = {
            "a": (f"{a} better", first > second),
            "b": (f"{b} better", second > first),
            "equal": ("equal", first == second),
        }
    with np.errstate(invalid="ignore"):
        order = np.argsort(-np.nan_to_num(np.abs(first - second)), kind="stable")
    return {name: (title, order[mask[order]].tolist()) for name, (title, mask) in masks.items()}


def _page(logs: _Logs, asked: _Query, pairs: Pairs, nav: app.Nav) -> app.Page:
    show = asked.show if asked.show in pairs.chosen else "a"
    _, places = pairs.chosen[show]
    last = max(1, -(-len(places) // _ON_A_PAGE))
    asked = asked._replace(show=show, page=min(asked.page, last))
    begin = (asked.page - 1) * _ON_A_PAGE
    shown = [pairs.items[k] for k in places[begin : begin + _ON_A_PAGE]]
    listed = [f"{title}: {len(of)}" for title, of in pairs.chosen.values()]
    document = Document(
        [f"{text.counted(len(pairs.items), 'item')}. {'; '.join(listed)}."],
        notes=[*pairs.notes, "jaxeval compare logs says whether one is better on other items too"],
        title=f"{asked.a} and {asked.b}, item by item",
        signature=" | ".join(filter(None, [logs.rows.source, *asked[2:4], text.versions()])),
    )
    steps = {"previous": asked.page - 1, "next": asked.page + 1}
    context = {
        **{"nav": nav, "path": "/logs", "also": ("json", "csv")},
        "query": asked.address().removeprefix("/logs"),
        "asked": asked,
        "known": {"models": logs.models, "metrics": logs.metrics},
        "choices": [
            (asked.address(show=name, page=1), title, len(of), name == show)
            for name, (title, of) in pairs.chosen.items()
        ],
        "items": _with_texts(shown),
        "place": f"page {asked.page} of {last}",
        "steps": [(asked.address(page=n), name) for name, n in steps.items() if 1 <= n <= last],
    }
    return app.Page(document, context=context, template="logs.html.jinja")


def _with_texts(
    shown: Sequence[tuple[_Answer, _Answer]],
) -> list[tuple[str, Text, list[tuple[Text, _Answer]]]]:
    """Returns item, question and expected answer, and the text of each model's first answer."""
    wanted: dict[str, set[str]] = {}
    for answer in (answer for pair in shown for answer in pair):
        wanted.setdefault(answer.log, set()).add(answer.item)
    read = {log: evaluations.read_texts(Path(log), found) for log, found in wanted.items()}
    both = [[(read[x.log].get(x.item, Text()), x) for x in pair] for pair in shown]
    return [(pair[0].item, of[0][0], of) for pair, of in zip(shown, both, strict=True)]
