"""What was uploaded to a board: folders, each with submission.json beside the file.

One server writes them. A folder is renamed into its place when its file has been checked, and
submission.json is replaced whole: after `kill -9` an upload is there, or it is not. What was being
judged when the server died waits again, before what came later.
"""

import json
import re
import shutil
import statistics
import time
import unicodedata
from pathlib import Path
from typing import NamedTuple

from jaxeval import files
from jaxeval.errors import ConfigError

SUFFIXES = {"vectors": ".txt", "tables": ".csv"}  # kinds of submissions -> their files
_NAME = re.compile(r"\w[\w .+-]{0,59}")
_ABOUT = "submission.json"
_RECENT = 10  # judgements by which the next ones are estimated


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


def checked_name(name: str) -> str:
    """Returns a name in its normal form.

    Raises:
      ConfigError: it is no name.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    if not _NAME.fullmatch(name):
        raise ConfigError("name: expected 1 to 60 letters, digits, blanks and . _ + -")
    return name


class Submissions:
    """The submissions in a folder, in the order in which they came."""

    def __init__(self, folder: Path):
        self._folder, found = folder, list[Submission]()
        for path in (path for kind in SUFFIXES for path in (folder / kind).iterdir()):
            if (path / _ABOUT).exists():
                found.append(Submission(**json.loads((path / _ABOUT).read_text("utf-8"))))
            else:
                shutil.rmtree(path, ignore_errors=True)  # a server died while it removed this one
        found.sort(key=lambda of: of.uploaded)
        self._known = {(of.kind, of.id): of for of in found}
        for of in self.every("vectors", "judging"):
            self.change(of._replace(state="queued", begun=0.0))

    def every(self, kind: str, *states: str) -> list[Submission]:
        """Returns those in some states (none: in all), the first one first."""
        each = [of for of in self._known.values() if of.kind == kind]
        return [of for of in each if not states or of.state in states]

    def find(self, kind: str, key: str) -> Submission | None:
        """Returns the one with this id."""
        return self._known.get((kind, key))

    def file(self, of: Submission) -> Path:
        """Returns the path of the file that was uploaded."""
        return self._folder / of.kind / of.id / f"{of.name}{SUFFIXES[of.kind]}"

    def add(self, of: Submission, folder: Path) -> None:
        """Puts one at the end, in place of one that failed; takes over the folder of its file."""
        self.remove(of)
        of = of._replace(uploaded=time.time())
        files.write_json(str(folder / _ABOUT), of._asdict())
        folder.rename(self.file(of).parent)
        self._known[of.kind, of.id] = of

    def change(self, of: Submission) -> None:
        """Replaces what is known of one, unless it has been removed."""
        if (of.kind, of.id) in self._known:
            files.write_json(str(self.file(of).with_name(_ABOUT)), of._asdict())
            self._known[of.kind, of.id] = of

    def remove(self, of: Submission) -> None:
        """Removes one with all that belongs to it."""
        self._known.pop((of.kind, of.id), None)
        self.file(of).with_name(_ABOUT).unlink(missing_ok=True)
        shutil.rmtree(self.file(of).parent, ignore_errors=True)

    def wait(self, of: Submission) -> tuple[int, float | None]:
        """Returns its place in the queue (0: it is being judged), and seconds until it is judged.

        Judging takes as long as the median of the last ten took; None before one has ended.
        """
        judging, queued = self.every("vectors", "judging"), self.every("vectors", "queued")
        place = queued.index(of) + 1 if of in queued else 0
        took = sorted((each.ended, each.begun) for each in self.every("vectors", "judged"))
        if not took:
            return place, None
        usual = statistics.median(ended - begun for ended, begun in took[-_RECENT:])
        left = [max(0.0, usual - (time.time() - each.begun)) for each in judging]
        return place, place * usual + sum(left)
