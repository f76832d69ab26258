"""What the pages say: documents of the report, live states, and the same as plain data."""

import csv
import io
import json
import time
import urllib.parse
from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxeval.errors import JaxevalError
from jaxeval.files import Json
from jaxeval.report import runs as report
from jaxeval.report import scores, text
from jaxeval.report.document import Document, Figure, Result, Table, to_json
from jaxeval.report.runs import figures, summary
from jaxeval.report.runs.summary import ExperimentSummary
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs import native
from jaxeval.runs.following import Followed, Following, Point
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import trials
from jaxeval.serve import searches
from jaxeval.settle import tables

KINDS = ("index", "e", "compare", "sweep", "tune")
_BESIDE = (("sweep", "sweep", "Sensitivity"), ("tuning", "tune", "Search"))  # key of a config
_ALPHA = 0.05
_COLUMNS = (
    *("experiment", "task", "state", "score", "median (quartiles)", "n"),
    *("ended", "training", "failed", "time left"),
)


class Asked(NamedTuple):
    """A page that is asked for: its kind, one of KINDS, and the ids of its experiments."""

    kind: str
    experiments: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path without .json or .csv."""
        return "/".join(["", self.kind, *(self.experiments if self.kind != "compare" else ())])

    @property
    def query(self) -> str:
        """The query of a comparison, "" of another page."""
        pairs = [("e", e) for e in self.experiments if self.kind == "compare"]
        return f"?{urllib.parse.urlencode(pairs)}" if pairs else ""


class Page(NamedTuple):
    """A page's document, and the same numbers as plain data and as rows."""

    document: Document
    context: dict[str, object]  # what the template needs beside it
    data: dict[str, Json]
    rows: Sequence[Sequence[object]]  # of the CSV, its head first

    def csv(self) -> str:
        """Returns the rows as CSV."""
        out = io.StringIO()
        csv.writer(out).writerows(self.rows)
        return out.getvalue()


class Pages:
    """Makes the pages of a runs database."""

    def __init__(self, followed: Following, location: str):
        self._followed, self._location = followed, location
        self._summaries: dict[str, tuple[int, ExperimentSummary | None]] = {}

    def page(self, asked: Asked) -> Page:
        """Returns a page; raises JaxevalError if there is none of this kind."""
        if asked.kind == "index":
            return self._index()
        if asked.kind == "compare":
            return self._compare(asked.experiments)
        known = self._followed.experiments[asked.experiments[0]]
        if asked.kind == "e":
            return self._experiment(known)
        members = self._followed.members(known.id)
        result: Result
        if asked.kind == "sweep":
            result = searches.sweep(known, members, self._location)
        else:
            every = map(self._followed.members, self._followed.experiments)
            result = searches.tune(known, members, filter(None, every), self._location)
        names, rows = _listed(members)
        document = result.document()._replace(last=())
        beside = [(f"/e/{known.id}", known.name)]
        return Page(document, {"beside": beside}, result.to_dict(), [names, *rows])

    def stamp(self, asked: Asked) -> float:
        """Returns the time of the last change of what is not in the database."""
        if asked.kind != "tune":
            return 0.0
        known = self._followed.experiments[asked.experiments[0]]
        file = searches.search_file(known, self._location)
        return file.stat().st_mtime if file.is_file() else 0.0

    def summary(self, experiment: str) -> ExperimentSummary | None:
        """Returns the summary of an experiment's members; None before one has ended."""
        version = self._followed.experiments[experiment].version
        if self._summaries.get(experiment, (-1, None))[0] != version:
            members = self._followed.members(experiment)
            planned = trials.planned_runs(self._location, experiment)
            found = summary.summarize(members, planned) if members else None
            self._summaries[experiment] = version, found
        return self._summaries[experiment][1]

    def state(self, known: Followed) -> str:
        """Returns "ended", "training" or "stalled"."""
        return known.state(time.time(), self._followed.begun)

    def _index(self) -> Page:
        """Lists all experiments."""
        every = [*self._followed.experiments.values()]
        rows = [(of.id, self.state(of), self._row(of)) for of in reversed(every)]
        count = text.counted(len(every), "experiment")
        live = sum(state == "training" for _, state, _ in rows)
        head = ("id", *_COLUMNS)
        plain = [(key, *row[:2], state, *row[2:]) for key, state, row in rows]
        return Page(
            Document(
                (f"{count}, {live} of them training",),
                title="Experiments",
                signature=f"{self._location} | {text.versions()}",
            ),
            {"listed": Table(_COLUMNS, rows), "beside": []},  # type: ignore[arg-type]
            {"experiments": [dict(zip(head, of, strict=True)) for of in plain]},
            [head, *plain],
        )

    def _row(self, known: Followed) -> tuple[str, ...]:
        found = self.summary(known.id)
        failed = known.statuses["failed"] + known.statuses["diverged"]
        counts = known.statuses.total(), len(known.training), failed
        part, of = [*found.parts.items()][-1] if found else ("dev", None)
        numbers = ["-", "0"]
        if of is not None:
            low, middle, high = (scores.shown(v, known.unit) for v in (of.q1, of.median, of.q3))
            numbers = [f"{middle} ({low} to {high})", str(of.n)]
        left = known.seconds_left() if self.state(known) == "training" else None
        label = f"{part} {scores.label(known.metric, known.unit)}"
        shown = "-" if left is None else f"about {text.duration(left)}"
        return (known.name, known.task, label, *numbers, *map(str, counts), shown)

    def _experiment(self, known: Followed) -> Page:
        """Shows one experiment as `jaxeval report` does, and what its members do now."""
        members, found = self._followed.members(known.id), self.summary(known.id)
        groups, summaries = ([members], [found]) if found else ([], [])
        document = report.experiments_document(groups, summaries, self._location)
        if found is None:
            title = f"Score distributions: {known.name}"
            answer = f"{known.name} ({known.id}): no member has ended"
            document = document._replace(title=title, answer=(answer,))
        doing = f"{self.state(known)}: {text.counted(known.statuses.total(), 'member')} ended"
        doing += f", {len(known.training)} training"
        left = known.seconds_left() if self.state(known) == "training" else None
        doing += "" if left is None else f"; about {text.duration(left)} left for them"
        document = document._replace(notes=(doing,))
        data = {"state": self.state(known), "summary": to_json(found)}
        page, keys = self._page(document, [known.id], data), json.loads(known.config)
        beside = [(f"/{kind}/{known.id}", name) for key, kind, name in _BESIDE if key in keys]
        return page._replace(context={**page.context, "beside": beside})

    def _compare(self, experiments: Sequence[str]) -> Page:
        """Compares experiments with the first: what may be said however often one looks."""
        known = [self._followed.experiments[key] for key in experiments]
        answers, blocks, notes, settled = list[str](), list[Table](), list[str](), list[Json]()
        level = _ALPHA / max(1, len(known) - 1)
        for other in known[1:]:
            try:
                found = self._settle(known[0], other, level, notes)
            except JaxevalError as error:
                answers.append(f"{other.name}: not compared with {known[0].name}: {error}")
                continue
            shown = found.document()
            answers += shown.answer
            blocks += [block for block in shown.blocks if isinstance(block, Table)]
            notes += shown.notes
            settled.append(to_json(found.to_dict()))
        if len(known) > 2:
            notes.append(f"each claim has level {level:.3g}: all of them together {_ALPHA:g}")
        document = Document(
            answers,
            blocks,
            [*dict.fromkeys(notes)],
            title=f"Comparison: {', '.join(of.name for of in known)}",
            signature=f"{self._location} | the claim holds however often one looks | "
            f"{text.versions()}",
        )
        return self._page(document, experiments, {"settled": settled})

    def _settle(
        self, base: Followed, other: Followed, level: float, notes: list[str]
    ) -> Settlement:
        """Settles two experiments by the members before the first one that still trains.

        Members that end early may differ in score from those that do not: only an order that was
        fixed before makes the claim valid.
        """
        members = [*self._followed.members(base.id), *self._followed.members(other.id)]
        axis = "split" if len({row.split for row in members}) > 1 else "seed"
        place = ("seed", "split").index(axis)
        training = [key[place] for of in (base, other) for key in of.training]
        if training:
            members = [row for row in members if getattr(row, axis) < min(training)]
            notes.append(f"{axis} {min(training)} still trains: later ones do not count yet")
        layout = Layout(models=[base.id, other.id])
        found = native.scores(members, self._location, layout)
        return tables.settled(found, tables.Asked(alpha=level))

    def _page(self, document: Document, experiments: Sequence[str], data: dict[str, Json]) -> Page:
        known = [self._followed.experiments[key] for key in experiments]
        factor, shown = scores.factor(known[0].unit), list[Table]()
        curves: dict[str, Json] = {}
        for of in known:
            points = self._followed.curve(of.id)
            curves[of.id] = [point._asdict() for point in points]
            cells = [[*map(str, p[:2]), *(f"{factor * v:.3f}" for v in p[2:])] for p in points]
            shown.append(Table(Point._fields, cells, of.name))
        names, rows = _listed([row for key in experiments for row in self._followed.members(key)])
        listed: list[Json] = [dict(zip(names, row, strict=True)) for row in rows]
        return Page(
            document._replace(figures=lambda: self._figures(experiments)),
            {
                "beside": [],
                "names": [(of.id, of.name) for of in known],
                "curves": shown,
                "factor": factor,
                "label": scores.label(known[0].metric, known[0].unit),
            },
            {**data, "members": listed, "curves": curves},
            [names, *rows],
        )

    def _figures(self, experiments: Sequence[str]) -> list[Figure]:
        """Draws the figures of `jaxeval report` but the curves, which the page has."""
        every = (self._followed.members(key) for key in experiments)
        groups = [members for members in every if members]
        return figures.draw(groups, None) if groups else []


def _listed(members: Sequence[MemberRow]) -> tuple[list[str], list[list[Any]]]:
    """Returns the columns of members without their config, and a row each."""
    names = [name for name in MemberRow._fields if name not in ("config", "config_hash")]
    return names, [[getattr(row, name) for name in names] for row in members]
