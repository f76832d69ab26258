"""What the pages say: documents of the report, live states, and the same as plain data."""

import dataclasses
import json
import sys
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxeval import space as spaces
from jaxeval.bandits.settling import Settle
from jaxeval.errors import JaxevalError, RunError
from jaxeval.files import Json
from jaxeval.report import runs as report
from jaxeval.report import scores, text
from jaxeval.report.document import Document, Figure, Table, to_json
from jaxeval.report.runs import figures, summary
from jaxeval.report.runs.summary import ExperimentSummary
from jaxeval.runs import native, records
from jaxeval.runs.following import Followed, Following, Point
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import analysis, trials
from jaxeval.settle import tables

if TYPE_CHECKING:
    from jaxeval.report.sensitivity import Sensitivity
    from jaxeval.report.tuning import Tuned

KINDS = ("index", "e", "compare", "sweep", "tune")
_HOME = ("/", "Experiments")
_BESIDE = (("sweep", "sweep", "Sensitivity"), ("tuning", "tune", "Search"))  # key of a config
_ALPHA = 0.05
_SUMMARY = ("experiment", "task", "state", "score", "median (quartiles)", "n")
_COLUMNS = (*_SUMMARY, "ended", "training", "failed", "time left")


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


class Pages:
    """Makes the pages of a runs database."""

    def __init__(self, followed: Following, location: str):
        self._followed, self._location = followed, location
        self._signature = f"{location} | {text.versions()}"
        self._made = dict[tuple[str, str], tuple[int, Any]]()

    def page(self, asked: Asked) -> Page:
        """Returns a page; raises JaxevalError if there is none of this kind."""
        if asked.kind == "index":
            return self._index()
        if asked.kind == "compare":
            return self._compare(asked.experiments)
        known = self._followed.experiments[asked.experiments[0]]
        if asked.kind == "e":
            return self._experiment(known)
        search, nav = asked.kind == "tune", [_HOME, (f"/e/{known.id}", known.name)]
        result = self._search(known) if search else self._once("sweep", known, self._sweep)
        document = result.document()._replace(last=())
        rows = _listed(self._followed.members(known.id))
        return Page(document, {"nav": nav}, result.to_dict(), rows)

    def stamp(self, asked: Asked) -> float:
        """Returns the time of the last change of what is not in the database."""
        file = self._search_file(asked.experiments[0]) if asked.kind == "tune" else None
        return file.stat().st_mtime if file and file.is_file() else 0.0

    def _search_file(self, experiment: str) -> Path:
        """Returns where `tune` keeps the state of a search."""
        return Path(self._location) / "tunings" / f"{experiment}.json"

    def _once(self, kind: str, known: Followed, make: Callable[[Followed], Any]) -> Any:
        """Returns what was made of an experiment; made again when members have ended."""
        version, (made_of, made) = known.version, self._made.get((kind, known.id), (-1, None))
        if made_of != version:
            made = make(known)
            self._made[kind, known.id] = version, made
        return made

    def _summary(self, known: Followed) -> ExperimentSummary | None:
        """Returns the summary of an experiment's members; None before one has ended."""
        if not (members := self._followed.members(known.id)):
            return None
        planned = trials.planned_runs(self._location, known.id)
        return summary.summarize(members, planned)

    def state(self, known: Followed) -> str:
        """Returns "ended", "training" or "stalled"."""
        return known.state(time.time(), self._followed.begun)

    def _left(self, known: Followed) -> str:
        """Returns the time that an experiment still trains in words, or "" if unknown."""
        left = known.seconds_left() if self.state(known) == "training" else None
        return "" if left is None else f"about {text.duration(left)}"

    def _index(self) -> Page:
        """Lists all experiments."""
        every = [*self._followed.experiments.values()]
        rows = [(of.id, self.state(of), self._row(of)) for of in reversed(every)]
        count = text.counted(len(every), "experiment")
        live = f"{sum(state == 'training' for _, state, _ in rows)} of them training"
        head = ("id", *_COLUMNS)
        plain = [(key, *row[:2], state, *row[2:]) for key, state, row in rows]
        return Page(
            Document((f"{count}, {live}",), title="Experiments", signature=self._signature),
            {"listed": Table(_COLUMNS, rows), "nav": [_HOME]},  # type: ignore[arg-type]
            {"experiments": [dict(zip(head, of, strict=True)) for of in plain]},
            [head, *plain],
        )

    def _row(self, known: Followed) -> tuple[str, ...]:
        found: ExperimentSummary | None = self._once("summary", known, self._summary)
        failed = known.statuses["failed"] + known.statuses["diverged"]
        counts = known.statuses.total(), len(known.training), failed
        part, of = [*found.parts.items()][-1] if found else ("dev", None)
        numbers = ["-", "0"]
        if of is not None:
            low, middle, high = (scores.shown(v, known.unit) for v in (of.q1, of.median, of.q3))
            numbers = [f"{middle} ({low} to {high})", str(of.n)]
        label = f"{part} {scores.label(known.metric, known.unit)}"
        left = self._left(known) or "-"
        return (known.name, known.task, label, *numbers, *map(str, counts), left)

    def _experiment(self, known: Followed) -> Page:
        """Shows one experiment as `jaxeval report` does, and what its members do now."""
        found = self._once("summary", known, self._summary)
        none = (f"{known.name} ({known.id}): no member has ended",)
        document = Document(none, title=known.name, signature=self._signature)
        if found is not None:
            groups = [self._followed.members(known.id)]
            document = report.experiments_document(groups, [found], self._location)
        doing = f"{self.state(known)}: {text.counted(known.statuses.total(), 'member')} ended"
        doing += f", {len(known.training)} training"
        doing += f"; {left} left for them" if (left := self._left(known)) else ""
        data: dict[str, Json] = {"state": self.state(known), "summary": to_json(found)}
        page = self._scored(document._replace(notes=(doing,)), [known.id], data)
        keys = json.loads(known.config)
        nav = [(f"/{kind}/{known.id}", name) for key, kind, name in _BESIDE if key in keys]
        return page._replace(context={**page.context, "nav": [_HOME, *nav]})

    def _compare(self, experiments: Sequence[str]) -> Page:
        """Compares experiments with the first: what may be said however often one looks."""
        known = [self._followed.experiments[key] for key in experiments]
        answers, blocks, notes, settled = list[str](), list[Table](), list[str](), list[Json]()
        level = _ALPHA / max(1, len(known) - 1)
        for other in known[1:]:
            members, note = self._comparable(known[0], other)
            notes += note
            try:
                layout = Layout(models=[known[0].id, other.id])
                table = native.scores(members, self._location, layout)
                found = tables.settled(table, Settle(alpha=level, most=sys.maxsize))
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
            signature=f"{self._signature} | the claim holds however often one looks",
        )
        return self._scored(document, experiments, {"settled": settled})

    def _comparable(self, base: Followed, other: Followed) -> tuple[list[MemberRow], list[str]]:
        """Returns the members before the first one that still trains, and notes.

        Members that end early may differ in score from those that do not: only an order that was
        fixed before makes a claim valid.
        """
        members = [*self._followed.members(base.id), *self._followed.members(other.id)]
        axis = "split" if len({row.split for row in members}) > 1 else "seed"
        place = ("seed", "split").index(axis)
        training = [key[place] for of in (base, other) for key in of.training]
        if not training:
            return members, []
        note = f"{axis} {min(training)} still trains: later ones do not count yet"
        return [row for row in members if getattr(row, axis) < min(training)], [note]

    def _scored(
        self, document: Document, experiments: Sequence[str], data: dict[str, Json]
    ) -> Page:
        """Returns a page with the members, curves and figures of some experiments."""
        known = [self._followed.experiments[key] for key in experiments]
        factor, shown = scores.factor(known[0].unit), list[Table]()
        curves: dict[str, Json] = {}
        for of in known:
            points = self._followed.curve(of.id)
            curves[of.id] = [point._asdict() for point in points]
            cells = [[*map(str, p[:2]), *(f"{factor * v:.3f}" for v in p[2:])] for p in points]
            shown.append(Table(Point._fields, cells, of.name))
        rows = _listed([row for key in experiments for row in self._followed.members(key)])
        listed: list[Json] = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
        return Page(
            document._replace(figures=lambda: self._figures(experiments)),
            {
                "nav": [_HOME],
                "names": [(of.id, of.name) for of in known],
                "curves": shown,
                "factor": factor,
                "label": scores.label(known[0].metric, known[0].unit),
            },
            {**data, "members": listed, "curves": curves},
            rows,
        )

    def _figures(self, experiments: Sequence[str]) -> list[Figure]:
        """Draws the figures of `jaxeval report` but the curves, which the page has."""
        every = (self._followed.members(key) for key in experiments)
        groups = [members for members in every if members]
        return figures.draw(groups, None) if groups else []

    def _sweep(self, known: Followed) -> "Sensitivity":
        """Returns what `jaxeval sensitivity --missing drop` says; RunError if it is no sweep."""
        from jaxeval.report.sensitivity import Sensitivity

        if not (members := self._followed.members(known.id)):
            raise RunError(f"{known.name}: no run has ended")
        names, asked = records.dataset_names(members), trials.Request(missing="drop")
        (found,) = trials.read_runs(self._location, members, names, asked)
        analysed = analysis.analyze(found.scores, found.axes, name=found.name)
        return Sensitivity([analysed], {}, "", [], [], [found])

    def _search(self, known: Followed) -> "Tuned":
        """Returns what `jaxeval tune` would say of a search if it ended now.

        Raises:
          JaxevalError: there is no search, or its file cannot be read.
        """
        from jaxeval.report import tuning
        from jaxeval.tuning import running

        path, members = self._search_file(known.id), self._followed.members(known.id)
        if not path.is_file():
            raise RunError(f"{known.name}: expected a search")
        state = running.read(path)
        best, rows = state.best(), list[MemberRow]()
        if best is not None and members:
            keys = dict(spaces.changes(state.search.space, best.values))
            rows = self._trained_again(members[0], keys)
        fresh, failures = tuning.fresh_scores(rows)
        scale = known.metric, known.unit, known.margin
        found = tuning.result(state, *scale, fresh if rows else None, failures)
        left = len(state.history.pending)
        reason = f"{text.counted(left, 'setting')} not ended" if left else state.reason
        return dataclasses.replace(found, reason=reason)

    def _trained_again(self, member: MemberRow, keys: Mapping[str, Any]) -> list[MemberRow]:
        """Returns members with fresh seeds and the best setting of a member's search."""
        from jaxeval.tuning.running import fresh_seeds

        name, rows = f"{json.loads(member.config)['name']}_tuned", list[MemberRow]()
        for members in filter(None, map(self._followed.members, self._followed.experiments)):
            first = members[0]
            config = dict(records.leaves(json.loads(first.config))) if first.name == name else {}
            same = all(config.get(key) == value for key, value in keys.items())
            if config and same and first.data_hash == member.data_hash:
                rows += [row for row in members if row.seed >= fresh_seeds(1)[0]]
        return rows


def _listed(members: Sequence[MemberRow]) -> list[list[Any]]:
    """Returns the columns of members without their config, and a row each."""
    names = [name for name in MemberRow._fields if name not in ("config", "config_hash")]
    return [names, *([getattr(row, name) for name in names] for row in members)]
