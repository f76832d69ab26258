"""A board: what was uploaded, judged in processes of their own, and pages that these made.

The server itself receives files, keeps the queue and hands out pages. It reads no upload, so that
none can harm it, and its memory stays small.

Each upload has a folder with submission.json beside the file. A folder is renamed into its place
when its file has been checked, and submission.json is replaced whole: after `kill -9` an upload is
there, or it is not. What was being judged when the server died waits again, before what came
later.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
import statistics
import time
import unicodedata
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from jaxeval import cli, files
from jaxeval.errors import ConfigError, RunError
from jaxeval.serve import confined
from jaxeval.serve.confined import Limits

ID = 16  # letters of an id
SUFFIXES = {"vectors": ".txt", "tables": ".csv"}  # kinds of submissions -> their files
_QUICK = Limits(300.0, 4 << 30)  # of a check, a comparison, a leaderboard
_AT_ONCE = 2  # such processes
_MOST_ASKED = 100  # that run or wait
_MOST_SHOWN = 1000  # files of pages that are kept
_LOOK = 1.0  # seconds between two looks at the queue
_RECENT = 10  # judgements by which the next ones are estimated
_NAME = re.compile(r"\w[\w .+-]{0,59}")
_LOCK, _SETTINGS, _ABOUT = ".board.lock", "board.json", "submission.json"


class Submission(NamedTuple):
    """What is known of an upload."""

    id: str  # of its content
    kind: str  # vectors or tables
    name: str
    about: str  # where they come from, as their owner says
    key: str = ""  # hash of the key that deletes it; "": nobody has one
    words: int = 0
    dimension: int = 0
    state: str = "queued"  # then judging, then judged or failed
    message: str = ""  # why it failed
    uploaded: float = 0.0  # seconds since 1970, as the others
    begun: float = 0.0
    ended: float = 0.0

    @property
    def pending(self) -> bool:
        """Whether it is in the queue, or being judged."""
        return self.state in ("queued", "judging")


class Settings(NamedTuple):
    """How vectors are judged, and what that may take."""

    judge: Mapping[str, Any]  # arguments of `vectors judge`
    baseline: Path
    limits: Limits
    most_bytes: int  # of an upload


def checked_name(name: str) -> str:
    """Returns a name in its normal form.

    Raises:
      ConfigError: it is no name.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    if not _NAME.fullmatch(name):
        raise ConfigError("name: expected 1 to 60 letters, digits, blanks and . _ + -")
    return name


class Board:
    """A folder of submissions and pages.

    Raises:
      ConfigError: the folder holds a board with other settings, or something else than a board.
      RunError: another server serves it.
    """

    def __init__(self, folder: Path, settings: Settings):
        self.folder, self.settings = folder, settings
        found = {*os.listdir(folder)} if folder.is_dir() else set[str]()
        if found - {_LOCK} and _SETTINGS not in found:  # folders are removed when a board begins
            raise ConfigError(f"{folder}: not a board; expected a board, or a new folder")
        self._held = contextlib.ExitStack()
        busy = f"{folder}: another server serves this board"
        self._held.enter_context(files.locked(folder / _LOCK, busy))
        with settings.baseline.open("rb") as content:
            self.baseline = hashlib.file_digest(content, "sha256").hexdigest()[:ID]
        kept = folder / _SETTINGS
        mine = json.dumps({**settings.judge, "baseline": self.baseline}, indent=1) + "\n"
        if not kept.exists():
            files.write_text(kept, mine)
        elif kept.read_text(encoding="utf-8") != mine:  # scores could not be compared
            raise ConfigError(f"{kept}: a board with other settings; expected a new folder")
        shutil.rmtree(folder / "incoming", ignore_errors=True)  # a server died that received it
        for name in ("incoming", "shown", *SUFFIXES):
            (folder / name).mkdir(exist_ok=True)
        self._known = self._read()
        for of in self.every("vectors", "judging"):
            self.change(of._replace(state="queued", begun=0.0))
        if self.find("vectors", self.baseline) is None:
            name = checked_name(Path(settings.baseline.name.removesuffix(".gz")).stem)
            of = Submission(self.baseline, "vectors", name, "the baseline")
            (copy := folder / "incoming" / "baseline").mkdir()
            shutil.copyfile(settings.baseline, copy / self.file(of).name)
            self.add(of, copy)
        # by page; weak, since visitors may ask for any number of pages
        self._making = weakref.WeakValueDictionary[str, asyncio.Lock]()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._asked = 0
        self._judging: tuple[str, asyncio.Task[None]] | None = None

    def close(self) -> None:
        """Lets go of the folder."""
        self._held.close()

    def _read(self) -> dict[tuple[str, str], Submission]:
        """Returns all submissions by kind and id, in the order in which they came."""
        found: list[Submission] = []
        for path in (path for kind in SUFFIXES for path in (self.folder / kind).iterdir()):
            if (path / _ABOUT).exists():
                found.append(Submission(**json.loads((path / _ABOUT).read_text("utf-8"))))
            else:
                shutil.rmtree(path, ignore_errors=True)  # a server died while it removed this one
        return {(of.kind, of.id): of for of in sorted(found, key=lambda of: of.uploaded)}

    def every(self, kind: str, *states: str) -> list[Submission]:
        """Returns submissions in some states (none: in all), the first one first."""
        each = [of for of in self._known.values() if of.kind == kind]
        return [of for of in each if not states or of.state in states]

    def find(self, kind: str, key: str) -> Submission | None:
        """Returns the submission with this id."""
        return self._known.get((kind, key))

    def file(self, submission: Submission) -> Path:
        """Returns the path of the file that was uploaded."""
        return (
            self.folder
            / submission.kind
            / submission.id
            / f"{submission.name}{SUFFIXES[submission.kind]}"
        )

    def add(self, submission: Submission, folder: Path) -> None:
        """Puts one at the end, in place of one that failed; takes over the folder of its file."""
        self._drop(submission)
        submission = submission._replace(uploaded=time.time())
        files.write_json(str(folder / _ABOUT), submission._asdict())
        folder.rename(self.file(submission).parent)
        self._known[submission.kind, submission.id] = submission

    def change(self, submission: Submission) -> None:
        """Replaces what is known of one, unless it has been removed."""
        if (submission.kind, submission.id) in self._known:
            files.write_json(str(self.file(submission).with_name(_ABOUT)), submission._asdict())
            self._known[submission.kind, submission.id] = submission

    def remove(self, submission: Submission) -> None:
        """Removes a submission and all pages it is on; stops judging it."""
        if self._judging is not None and self._judging[0] == submission.id:
            self._judging[1].cancel()
        self._drop(submission)
        self._forget_pages()

    def _drop(self, submission: Submission) -> None:
        self._known.pop((submission.kind, submission.id), None)
        self.file(submission).with_name(_ABOUT).unlink(missing_ok=True)
        shutil.rmtree(self.file(submission).parent, ignore_errors=True)

    def _forget_pages(self) -> None:
        for path in (self.folder / "shown").iterdir():
            path.unlink()

    def wait(self, submission: Submission) -> tuple[int, float | None]:
        """Returns its place in the queue (0: it is being judged), and seconds until it is judged.

        Judging takes as long as the median of the last ten took; None before one has ended, and
        when it takes longer.
        """
        judging, queued = self.every("vectors", "judging"), self.every("vectors", "queued")
        place = queued.index(submission) + 1 if submission in queued else 0
        took = sorted((each.ended, each.begun) for each in self.every("vectors", "judged"))
        if not took:
            return place, None
        usual = statistics.median(ended - begun for ended, begun in took[-_RECENT:])
        left = [max(0.0, usual - (time.time() - each.begun)) for each in judging]
        return place, (place * usual + sum(left)) or None

    async def ask(self, work: str, **arguments: object) -> Any:
        """Calls a function of `judged` in a process; few of them run at once, others wait.

        Raises:
          HTTPException: too many wait.
          RunError: as of `confined.call`.
        """
        if self._asked >= _MOST_ASKED:
            later = {"retry-after": "60"}
            raise HTTPException(503, "too many requests; try again later", later)
        self._asked += 1
        try:
            async with self._slots:
                return (await confined.call(work, _QUICK, arguments))[0]
        finally:
            self._asked -= 1

    async def shown(
        self, work: str, chosen: Sequence[Submission], mode: str, **page: object
    ) -> Path:
        """Returns the page of some judged submissions, made at its first use.

        Args:
          work: function of `judged` that makes it.
        """
        names = {of.id: of.name for of in chosen}
        base = self.find("vectors", self.baseline)
        if len(chosen) == 1 and base is not None and base.state == "judged":
            names[base.id] = base.name
        key = hashlib.sha256(" ".join([work, mode, *sorted(names)]).encode()).hexdigest()[:24]
        target = self.folder / "shown" / key
        lock = self._making.setdefault(key, asyncio.Lock())
        async with lock:  # who asks meanwhile finds it made
            if not target.with_suffix(".json").exists():  # which is written last
                if len(os.listdir(target.parent)) > _MOST_SHOWN:
                    self._forget_pages()
                await self.ask(
                    work,
                    names=names,
                    baseline=names.get(self.baseline, ""),
                    mode=mode,
                    folder=str(self.folder / "vectors"),
                    target=str(target),
                    **page,
                )
                if not all(self.find("vectors", each) for each in names):
                    self._forget_pages()  # a submission was deleted meanwhile
                    raise HTTPException(404, "no such submission; it may have been deleted")
        return target

    async def judge_all(self) -> None:
        """Judges what was uploaded, one after another, for ever."""
        while True:
            for of in self.every("vectors", "queued")[:1]:
                task = asyncio.create_task(self._judge(of))
                self._judging = of.id, task
                try:
                    await asyncio.wait([task])
                finally:
                    task.cancel()
            await asyncio.sleep(_LOOK)

    async def _judge(self, of: Submission) -> None:
        of, file, message = of._replace(state="judging", begun=time.time()), self.file(of), ""
        self.change(of)
        try:
            asked = {"file": str(file)}
            limits = self.settings.limits
            if not of.words:  # nobody has uploaded the baseline
                of = of._replace(**(await confined.call("check", limits, asked))[0])
            await confined.call("judge", limits, {**asked, "settings": self.settings.judge})
        except RunError as error:
            message = str(error)
        except OSError as error:  # no process could be started
            cli.say(f"judge: {error}")
            message = "the server could not judge it"
        state = "failed" if message else "judged"
        self.change(of._replace(state=state, message=message, ended=time.time()))
        file.unlink(missing_ok=True)  # its scores are kept
