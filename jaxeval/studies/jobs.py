"""Jobs: parts of cohorts as plain data, which another process trains into a file of its own.

RUNS/jobs/NAME/job.json      the trials that the job trains, and those that its program needs
RUNS/jobs/NAME/runs.sqlite   the job's results, with the tables of the runs database: its shard
RUNS/jobs/NAME/events.jsonl  the events of its training, for the process that waits for it
RUNS/jobs/NAME/lock          held by the process that trains the job, or merges its shard

Checkpoints and saved models are in the runs folder, as those of any cohort. Only the process that
waits for jobs writes the runs database: it merges shards, those of killed processes too.
"""

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxeval import files, runs
from jaxeval.config import reading
from jaxeval.errors import RunError
from jaxeval.population import engine, host, slots
from jaxeval.runs import store as stores
from jaxeval.studies import cohorts, recording, running
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.prepared import Study, Trial

_BUSY, _LOG = "another process works on this job", "events.jsonl"


class End(NamedTuple):
    """The end of a job, after all its other events; `error` is for the user."""

    error: str | None
    too_large: bool = False  # for the memory


@dataclasses.dataclass(eq=False)
class Job:
    """A part of a cohort, which another process trains; and what is known of it here."""

    whole: Cohort
    part: Cohort  # its own entries; the name is that of the job
    path: Path = Path()  # its file, once written
    waiting: Sequence[Entry] = ()  # the entries that it trains
    report: host.Report | None = None  # the last one
    tries: int = 1  # since then
    end: End | None = None
    _read: int = 0  # bytes of its log

    @property
    def seconds(self) -> float:
        """Seconds that it should take; 0 if nothing is known of its costs."""
        known = self.whole.estimate
        share = len(self.part.members) / len(self.whole.members)
        return known.compile_seconds + known.seconds * share if known else 0.0

    def write(
        self, waiting: Sequence[Entry], storage: recording.Storage, lanes: int | None = None
    ) -> None:
        """Writes the file of the job, which trains these of its entries."""
        self.path = storage.folder / "jobs" / self.part.name / "job.json"
        self.waiting = waiting
        chosen = {*waiting}
        firsts: dict[str, Entry] = {}  # what makes the program
        if not self.whole.filled:  # its first trial, and one of each file of vectors
            for who, entry in zip(self.whole.members, self.whole.entries, strict=True):
                firsts.setdefault(who.vectors, entry)
        pairs = zip(self.part.entries, self.part.members, strict=True)
        tree = {
            "program": reading.digest(self.whole.program),
            "config": reading.to_dict(self.whole.config) if self.whole.filled else None,
            "program_of": [dataclasses.asdict(entry.trial) for entry in firsts.values()],
            "trials": [dataclasses.asdict(entry.trial) for entry in waiting],
            "hparams": [who.hparams for entry, who in pairs if entry in chosen],
            "steps": self.whole.steps,
            "pause": self.whole.pause,
            "lanes": lanes or len(self.part.members),
            "keys": [entry.key for entry in self.part.entries],
            "name": self.part.name,
            "folder": str(storage.folder.absolute()),
            "current_folder": str(Path.cwd()),  # to which paths of data may be relative
            "outputs": storage.outputs,
        }
        files.write_text(self.path, json.dumps(tree))
        log = self.path.with_name(_LOG)
        self._read = log.stat().st_size if log.exists() else 0

    def news(self) -> Iterator[engine.Compiling | host.Report | End]:
        """Yields the events that its process has noted since the last call, or `write`."""
        path = self.path.with_name(_LOG)
        if not path.exists():
            return
        with path.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
        self._read += len(whole)
        for line in whole.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                kind, *values = json.loads(line)
                if kind == "Report":
                    *lanes, waiting, seconds = values
                    ended, going = ([*map(slots.Slot.from_json, each)] for each in lanes)
                    yield host.Report([], ended, going, waiting, seconds, {}, {})
                else:
                    yield End(*values) if kind == "End" else engine.Compiling(*values)


def cut(planned: Sequence[Cohort], most: int) -> list[Job]:
    """Cuts cohorts into jobs, none of which has more than so many members.

    The same cohorts and number give the same jobs, of which those that were stopped go on.
    """
    jobs = []
    for cohort in planned:
        size = len(cohort.members)
        count = -(-len(cohort.members) // max(most, 1))
        steps = engine.most_steps(cohort.members, cohort.problem.split_of(cohort.members[0]))
        cohort = cohort._replace(steps=max(steps, cohort.steps))  # the same program in all parts
        for k in range(count):
            chosen = slice(size * k // count, size * (k + 1) // count)
            entries = cohort.entries[chosen]
            text = reading.canonical([cohort.program, [entry.key for entry in entries]])
            name = reading.digest(text)
            part = cohort._replace(entries=entries, members=cohort.members[chosen], name=name)
            jobs.append(Job(cohort, part))
    return jobs


def train(path: Path, session: running.Session) -> Generator[running.Event, None, None]:
    """Trains a job into its shard; notes and yields the events of `running.run`.

    Raises its errors, and RunError if this process makes another program of the job: by other
    data, or another version.
    """
    tree = json.loads(path.read_text(encoding="utf-8"))
    folder = Path(tree["folder"])
    with contextlib.suppress(OSError):
        os.chdir(tree["current_folder"])
    part = _rebuilt(tree, session)
    with contextlib.ExitStack() as closing:
        shard = closing.enter_context(runs.open_store(path.parent, shared=False))
        events = running.run(
            [part], shard, folder, session=session, outputs=tree["outputs"], lanes=tree["lanes"]
        )
        for event in closing.enter_context(contextlib.closing(events)):
            note(path, event)
            yield event


def _rebuilt(tree: Mapping[str, Any], session: running.Session) -> Cohort:
    own = cohorts.entries(map(_trial, tree["trials"]), session.loader)
    first = cohorts.entries(map(_trial, tree["program_of"]), session.loader)
    planned = [] if tree["config"] else cohorts.by_program([*first, *own])
    if tree["config"]:  # filled
        config = reading.read(type(own[0].prepared.config), tree["config"])
        wide = session.loader.prepare(config)
        pairs = zip(own, tree["hparams"], strict=True)
        filled = tuple(
            dataclasses.replace(cohorts.member(entry), hparams=tuple(map(tuple, values)))
            for entry, values in pairs
        )
        text = cohorts.program(wide, filled=True)
        planned = [
            Cohort(tuple(own), filled, wide.config, wide.problem, text, tree["name"], filled=True)
        ]
    whole = planned[0]
    if len(planned) > 1 or reading.digest(whole.program) != tree["program"]:
        raise RunError(
            f"job {tree['name']}: this process would train another program than was planned; "
            "expected the same data, memory and version of jaxeval on all machines"
        )
    members = {e.key: who for e, who in zip(whole.entries, whole.members, strict=True)}
    return whole._replace(
        entries=tuple(own),
        members=tuple(members[entry.key] for entry in own),
        name=tree["name"],
        steps=tree["steps"],
        pause=tree["pause"],
    )


def _trial(tree: Mapping[str, Any]) -> Trial:
    study = tree["study"] and Study(**tree["study"])
    return Trial(**{**tree, "study": study})


def lock(path: Path, seconds: float) -> contextlib.AbstractContextManager[None]:
    """Locks a job; raises Busy if another process holds it for so many seconds."""
    return files.locked(path.with_name("lock"), f"{path}: {_BUSY}", seconds)


def merge(path: Path, store: runs.Store) -> None:
    """Copies a job's shard into the runs database; removes a job whose members have all ended.

    Raises Busy if a process trains the job.
    """
    with lock(path, 0.0):
        if (path.parent / stores.FILE).exists():  # without tables if its process died at once
            with runs.open_store(path.parent, shared=False) as shard:
                store.merge(shard)
        there = path.exists()  # else another process has merged it
        keys = json.loads(path.read_text(encoding="utf-8"))["keys"] if there else []
        ended = {key: store.ended(key) for key in {experiment for experiment, *_ in keys}}
        if all(tuple(key) in ended[experiment] for experiment, *key in keys):
            remove(path)


def remove(path: Path) -> None:
    """Removes a job and its checkpoints."""
    for gone in path.parents[2].glob(f"checkpoints/{path.parent.name}*"):
        gone.unlink() if gone.is_file() else shutil.rmtree(gone, ignore_errors=True)
    shutil.rmtree(path.parent, ignore_errors=True)


@contextlib.contextmanager
def merged(folder: Path, store: runs.Store) -> Iterator[None]:
    """Merges what jobs of an earlier process have left, before and after."""
    _merge_all(folder, store)
    try:
        yield
    finally:
        _merge_all(folder, store)


def _merge_all(folder: Path, store: runs.Store) -> None:
    """Merges the shards of all jobs of a runs folder that no process trains."""
    if jax.process_index():  # the first process has the database
        return
    for path in sorted(folder.glob("jobs/*/job.json")):
        with contextlib.suppress(files.Busy):
            merge(path, store)


def note(path: Path, event: running.Event | End) -> None:
    """Appends an event to a job's log; those that the waiting process knows by itself are not."""
    match event:
        case engine.Compiling() | End():
            told: Sequence[object] = event
        case host.Report(_, ended, lanes, waiting, seconds):  # without scores and arrays
            # `bests` are as many as epochs, and nobody reads them there
            brief = ([dataclasses.replace(s, bests=()) for s in each] for each in (ended, lanes))
            told = *brief, waiting, seconds
        case _:
            return
    line = json.dumps([type(event).__name__, *told], default=dataclasses.asdict)
    with path.with_name(_LOG).open("a", encoding="utf-8") as log:
        log.write(f"\n{line}\n")  # a killed process may have left half a line
