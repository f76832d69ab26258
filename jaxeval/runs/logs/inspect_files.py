"""What files of Inspect hold, piece by piece: archives (.eval) and JSON.

Of an archive only its head and the summaries of its samples are read, which hold all scores
(inspect_ai/log/_recorders/eval.py).
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from zipfile import ZipFile

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import archive, streaming

_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _JOURNAL = "summaries.json", "_journal/summaries/"


def pieces(path: Path) -> Iterator[tuple[str, Json]]:
    """Key and value of each part of a log; under "samples" each sample by itself.

    Raises:
      DataError: no such log, cut short, or compressed by what is not there.
    """
    return (_archived if path.suffix == ".eval" else _plain)(path)


def _plain(path: Path) -> Iterator[tuple[str, Json]]:
    with path.open("rb") as file:
        yield from streaming.members(archive.Bounded(file, path), path, ("samples",))


def _archived(path: Path) -> Iterator[tuple[str, Json]]:
    """The same of an archive; a run that goes on has a journal instead of head and summaries."""
    with archive.opened(path) as zipped:
        names = set(zipped.namelist())
        head = _HEADER if _HEADER in names else _START
        if head not in names:
            raise DataError(f"no log of Inspect: neither {_HEADER} nor {_START} in it", path)
        with archive.member(zipped, head, path) as stream:
            yield from streaming.members(stream, path, ())
        if head == _START:
            yield "status", "started"
        if _SUMMARIES in names:
            for sample in _elements(zipped, _SUMMARIES, path):
                yield "samples", sample
        else:
            parts = sorted((n for n in names if n.startswith(_JOURNAL)), key=_counted)
            yield from _last_of_each(s for name in parts for s in _elements(zipped, name, path))


def _elements(zipped: ZipFile, name: str, path: Path) -> Iterator[Json]:
    with archive.member(zipped, name, path) as stream:
        for _, sample in streaming.members(stream, path, ()):
            yield sample


def _counted(name: str) -> tuple[int, str]:
    """The order in which a journal was written: 2.json before 10.json."""
    with contextlib.suppress(ValueError):
        return int(name.removeprefix(_JOURNAL).removesuffix(".json")), name
    return 0, name


def _last_of_each(samples: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    """A sample that was tried again stands in a journal twice: the later one holds."""
    latest: dict[tuple[str, str], Json] = {}
    for sample in samples:
        if isinstance(sample, Mapping):
            latest[str(sample.get("id")), str(sample.get("epoch"))] = sample
    for sample in latest.values():
        yield "samples", sample
