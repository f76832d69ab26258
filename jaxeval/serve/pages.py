"""What the pages say: documents of the report, live states, and the same as plain data."""

import dataclasses
import functools
import json
import sys
import time
import urllib.parse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxeval import errors, tuning
from jaxeval.bandits import Settle
from jaxeval.errors import JaxevalError, RunError
from jaxeval.files import Json
from jaxeval.report import Document, Figure, Table, scores, text, to_json
from jaxeval.report import runs as report
from jaxeval.report.runs import experiments
from jaxeval.report.runs.experiments import ExperimentSummary
from jaxeval.runs import native, records
from jaxeval.runs.following import Followed, Following, Point
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import analysis, trials
from jaxeval.serve import index, searches
from jaxeval.serve.app import Nav, Page
from jaxeval.settle import tables

if TYPE_CHECKING:
    from jaxeval.report.sensitivity import Sensitivity

KINDS = ("index", "e", "compare", "sweep", "tune")
_KEYS = {"sweep": "sweep", "tune": "tuning"}  # kind of page -> key of the config
_BESIDE = {"sweep": "Sensitivity", "tune": "Search"}
_COMMANDS = {"compare": "settle table", "sweep": "sensitivity", "tune": "tune"}  # in a shell
_ALPHA = 0.05
_parsing = functools.partial(
    errors.parsing, "cannot be read", error=RunError, passing=(JaxevalError, MemoryError)
)
_LISTED = [name for name in MemberRow._fields if name not in ("config", "config_hash")]


class PageRequest(NamedTuple):
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


class Pages:
    """Makes the pages of a runs database."""

    def __init__(self, followed: Following, location: str, nav: Nav = ()):
        self._followed, self._location, self._nav = followed, location, nav
        self._signature = f"{location} | {text.versions()}"
        self._made: dict[tuple[str, str], tuple[int, Any]] = {}

    def page(self, asked: PageRequest) -> Page:
        """Returns a page; raises JaxevalError if there is none of this kind."""
        called = errors.called_from(errors.of_command(_COMMANDS.get(asked.kind, "report")))
        with called, _parsing(self._location):
            return self._page(asked)

    def _page(self, asked: PageRequest) -> Page:
        if asked.kind == "index":
            latest_first = [*self._followed.experiments.values()][::-1]
            return index.page([*map(self._row, latest_first)], self._signature, nav=self._nav)
        known = [self._followed.experiments[key] for key in asked.experiments]
        names = records.told_apart((of.id, of.name) for of in known)
        known = [dataclasses.replace(of, name=names[of.id]) for of in known]
        if asked.kind == "compare":
            return self._compare(known)
        if asked.kind == "e":
            return self._experiment(*known)
        (of,) = known
        nav = [*self._nav, (f"/e/{of.id}", of.name)]
        if not self._followed.members(of.id) and _KEYS[asked.kind] in json.loads(of.config):
            said = f"{of.name}: no run has ended"
            none = Document((said,), title=of.name, signature=self._signature)
            return Page(none, {"members": []}, self._listed(known), {"nav": nav})
        if asked.kind == "tune":
            result = searches.result(self._followed, self._location, of)
        else:
            result = self._once(self._sweep, of)
        document = result.document()._replace(last=())
        if asked.kind == "tune":
            open_ = result.trials < len(result.evaluations)
            title = f"{document.title}: {of.name}"
            notes = [f"{result.reason}: another may become the best"] * open_
            document = document._replace(title=title, notes=[*notes, *document.notes])
        return Page(document, result.to_dict(), self._listed(known), {"nav": nav})

    def _row(self, of: Followed) -> dict[str, Any]:
        """Returns the row of an experiment, which hides no others if it cannot be read."""
        try:
            with _parsing(of.id):
                return index.row(of, self._once(self._summary, of), self.state(of))
        except JaxevalError:
            return index.row(of, None, "unreadable")

    def stamp(self, asked: PageRequest) -> tuple[float, int]:
        """Returns what changes with a search's file, and with seeds of its best setting."""
        if asked.kind != "tune":
            return 0.0, 0
        file = searches.path(self._location, asked.experiments[0])
        ended = max(of.version for of in self._followed.experiments.values())
        return file.stat().st_mtime if file.is_file() else 0.0, ended

    def state(self, known: Followed) -> str:
        """Returns the state of an experiment in a word."""
        found = known.state(time.time(), self._followed.begun, self._followed.trained)
        if found == "ended" and self._goes_on(known):
            return "begun" if self._followed.trained else "stalled"
        return found

    def _goes_on(self, known: Followed) -> bool:
        """Returns whether runs of a sweep, or settings of a search, have not ended."""
        if (trials.planned_runs(self._location, known.id) or 0) > known.statuses.total():
            return True
        search = searches.path(self._location, known.id)
        try:
            return search.is_file() and bool(tuning.read(search).history.pending)
        except JaxevalError:  # its own page says what is wrong with the file
            return False

    def _once(self, make: Callable[[Followed], Any], known: Followed) -> Any:
        """Returns what was made of an experiment; made again when members have ended."""
        key, version = (make.__name__, known.id), known.version
        if self._made.get(key, (-1, None))[0] != version:
            self._made[key] = version, make(known)
        return self._made[key][1]

    def _summary(self, known: Followed) -> ExperimentSummary | None:
        """Returns the summary of an experiment's members; None before one has ended."""
        members = self._followed.members(known.id)
        planned = trials.planned_runs(self._location, known.id)
        return experiments.summarize(members, planned) if members else None

    def _experiment(self, known: Followed) -> Page:
        """Shows one experiment as `jaxeval report` does, and what its members do now."""
        found: ExperimentSummary | None = self._once(self._summary, known)
        none = (f"{known.name} ({known.id}): no member has ended",)
        document = Document(none, title=known.name, signature=self._signature)
        if found is not None:
            groups = [self._followed.members(known.id)]
            document = report.experiments_document(groups, [found], self._location)
        state = self.state(known)
        left = known.seconds_left() if state == "training" else None
        doing = f"{state}: {text.counted(known.statuses.total(), 'member')}"
        doing += " ended" * (state != "ended")
        left_over = text.counted(len(known.training), "has not", "have not")
        doing += f", {left_over}" if known.training else ""
        doing += "" if left is None else f"; about {text.duration(left)} left for them"
        data: dict[str, Json] = {"state": state, "summary": to_json(found)}
        keys = json.loads(known.config)
        beside = [(f"/{k}/{known.id}", name) for k, name in _BESIDE.items() if _KEYS[k] in keys]
        return self._scored(document._replace(notes=(doing,)), [known], data, beside)

    def _compare(self, known: Sequence[Followed]) -> Page:
        """Compares experiments with the first: what may be said however often one looks."""
        answers, blocks, notes, settled = list[str](), list[Table](), list[str](), list[Json]()
        apart: dict[str, Json] = {}
        level = _ALPHA / max(1, len(known) - 1)
        for other in known[1:]:
            members, note = self._comparable(known[0], other)
            notes += note
            pair = f"{other.name} against {known[0].name}"
            if len({row.experiment for row in members}) < 2:
                apart[pair] = "one of them has no seed that counts yet"
                answers.append(f"{pair}: {apart[pair]}")
                continue
            try:
                layout = Layout(models=[known[0].id, other.id])
                table = native.scores(members, self._location, layout)
                found = tables.settled(table, Settle(alpha=level, most=sys.maxsize))
            except JaxevalError as error:
                apart[pair] = str(error)
                answers.append(f"{pair}: not compared: {error}")
                continue
            shown = found.document()
            answers += shown.answer
            seen, open_ = any(map(len, found.scores.values())), found.verdict == "undecided"
            tables_of = [block for block in shown.blocks if isinstance(block, Table)]
            title = pair if len(known) > 2 else ""
            blocks += [of._replace(title=title) for of in tables_of[: seen + (seen and open_)]]
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
        return self._scored(document, known, {"settled": settled, "not_compared": apart})

    def _comparable(self, base: Followed, other: Followed) -> tuple[list[MemberRow], list[str]]:
        """Returns the members before the first one that still trains, and notes.

        Members that end early may differ in score from those that do not: only an order that was
        fixed before makes a claim valid.
        """
        members = [*self._followed.members(base.id), *self._followed.members(other.id)]
        axis = "split" if len({row.split for row in members}) > 1 else "seed"
        training = [(key[axis == "split"], of.name) for of in (base, other) for key in of.training]
        if not training:
            return members, []
        first, name = min(training)
        note = f"{name}: {axis} {first} has not ended; it and later ones do not count yet"
        return [row for row in members if getattr(row, axis) < first], [note]

    def _listed(self, known: Sequence[Followed]) -> list[list[Any]]:
        """Returns the columns of members without their config, and a row each."""
        members = (row for of in known for row in self._followed.members(of.id))
        return [_LISTED, *([getattr(row, name) for name in _LISTED] for row in members)]

    def _scored(
        self,
        document: Document,
        known: Sequence[Followed],
        data: dict[str, Json],
        beside: Sequence[tuple[str, str]] = (),
    ) -> Page:
        """Returns a page with the members, curves and figures of some experiments.

        `beside`: addresses and titles of pages that the page leads to.
        """
        unit, shown = known[0].unit, list[Table]()
        factor, curves = scores.factor(unit), dict[str, Json]()
        for of in known:
            points = self._followed.curve(of.id)
            cells = [(*map(str, p[:2]), *(f"{factor * v:.3f}" for v in p[2:])) for p in points]
            shown.append(Table(Point._fields, cells, of.name))
            curves[of.id] = [point._asdict() for point in points]

        def draw() -> list[Figure]:
            """Draws the figures of `jaxeval report` but the curves, which the page has."""
            groups = [members for of in known if (members := self._followed.members(of.id))]
            places = {of.id: place for place, of in enumerate(known)}  # as of the curves
            return experiments.draw(groups, None, places if len(known) > 1 else None)

        rows = self._listed(known)
        listed: list[Json] = [dict(zip(_LISTED, row, strict=True)) for row in rows[1:]]
        names = [(of.id, of.name) for of in known]
        label = scores.label(known[0].metric, unit)
        chart = {"names": names, "curves": shown, "factor": factor, "label": label}
        context: dict[str, object] = {"nav": [*self._nav, *beside], "chart": chart}
        document = document._replace(figures=draw)
        return Page(document, {**data, "members": listed, "curves": curves}, rows, context)

    def _sweep(self, known: Followed) -> "Sensitivity":
        """Returns what `jaxeval sensitivity --missing drop` says; RunError if it is no sweep."""
        from jaxeval.report.sensitivity import Sensitivity

        members = self._followed.members(known.id)
        names, asked = records.dataset_names(members), trials.Request(missing="drop")
        (found,) = trials.read_runs(self._location, members, names, asked)
        analysed = analysis.analyze(found.scores, found.axes, name=found.name)
        important = {found.name: trials.importance(found)}
        return Sensitivity([analysed], {}, "", [], [], [found], important)
