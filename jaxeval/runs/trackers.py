"""Runs that Weights & Biases, MLflow or TensorBoard keep on this machine.

None of them is imported, and nothing is unpickled. Fields of protocol buffers are those of
tensorflow/core/util/event.proto, tensorboard/plugins/hparams/plugin_data.proto and
wandb/proto/wandb_internal.proto. The last record of a file may be cut short; it is left out.
"""

import contextlib
import dataclasses
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.errors import DataError
from jaxeval.runs import layout

_Select = Callable[[str], Iterable[Any]]
_STATES = {"1": "running", "3": "finished", "4": "failed", "5": "killed"}  # of MLflow's files
_FLOATS = {1: "<f", 2: "<d"}  # of tensors
# of an event file: length and its checksum; that of the record follows the record
# (tensorflow/core/lib/io/record_writer.h)
_TFRECORD = struct.Struct("<QI")
# of a part of a .wandb file, which is a log of LevelDB in blocks (its log_format.md): checksum,
# length, kind; kinds 1 and 4 end a record
_LEVELDB = struct.Struct("<IHB")
_BLOCK = 1 << 15
_WANDB = b":W&B"
_BYTES = {1: 8, 5: 4}  # of a field, by its wire type


@dataclasses.dataclass
class Run:
    """A run of a tracker."""

    name: str
    state: str = ""  # how it ended, in the tracker's words; "" if it does not say
    # key -> value; nested keys are joined by dots. A `status` goes before the state
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    # step -> metric -> value
    steps: dict[int, dict[str, float]] = dataclasses.field(default_factory=dict)
    # metric -> the value that stands for it, if that is not the last one
    summary: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """Adds the numbers among the values of a step."""
        numbers = {k: x for k, x in _flat(values).items() if isinstance(x, int | float)}
        if numbers:
            self.steps.setdefault(step, {}).update(numbers)

    def rows(self, by_step: bool) -> list[dict[str, Any]]:
        """Returns a row with the last value of each metric, or a row a step."""
        whole = {"Name": self.name, "status": self.state, **self.config}
        at = [(step, self.steps[step]) for step in sorted(self.steps)]
        last: dict[str, Any] = {}
        if by_step:
            return [{**whole, "step": step, **values} for step, values in at]
        for _, values in at:
            last |= values
        return [{**whole, **last, **self.summary}]


def find(path: Path) -> tuple[str, Sequence[Run]]:
    """Returns the tracker that wrote a file or folder, "" if none did, and its runs."""
    every = [path] if path.is_file() else sorted(path.rglob("*"))
    for program, (pattern, reader) in _READERS.items():
        if fitting := [file for file in every if file.match(pattern)]:
            return program, [*reader(fitting, path).values()]
    if not path.is_file():
        return "", ()
    with path.open("rb") as stream:
        if stream.read(6) != b"SQLite":
            return "", ()
    with contextlib.closing(files.connect(path)) as sql:
        tables = {name for (name,) in sql.execute("SELECT name FROM sqlite_master")}
        if {"runs", "params", "latest_metrics"} <= tables:
            return "MLflow", [*_read_mlflow(sql.execute).values()]
    ours = "runs of jaxeval end in .sqlite, and jaxeval settle report reads ledgers"
    raise DataError(f"a database without runs of MLflow; {ours}", path)


def _read_mlflow(select: _Select) -> Mapping[str, Run]:
    runs = {}
    query = "SELECT run_uuid, r.name, status, e.name FROM runs r JOIN experiments e"
    active = "USING (experiment_id) WHERE r.lifecycle_stage = 'active' ORDER BY start_time"
    for key, name, state, experiment in select(f"{query} {active}"):
        runs[key] = Run(name or key, state.lower(), {"experiment": experiment})
    for key, name, value in select("SELECT run_uuid, key, value FROM params"):
        if key in runs:
            runs[key].config[name] = value
    query = "SELECT run_uuid, key, step, value, is_nan FROM metrics ORDER BY timestamp"
    for key, name, step, value, is_nan in select(query):
        if key in runs:
            runs[key].add(step, {name: float("nan") if is_nan else value})
    return runs


def _read_mlruns(files: Sequence[Path], root: Path) -> Mapping[Path, Run]:
    """Reads MLflow's folders: meta.yaml of experiments and runs, a file a parameter or metric."""
    runs: dict[Path, Run] = {}
    experiments: dict[Path, str] = {}
    for file in files:
        lines = re.findall(r"^(\w+): (.*)$", file.read_text(), re.MULTILINE)
        about = {key: value.strip("'\"") for key, value in lines}
        if "run_id" not in about:
            experiments[file.parent] = about.get("name", "")
        elif about.get("lifecycle_stage") != "deleted":
            state = _STATES.get(about.get("status", ""), "")
            runs[file.parent] = Run(about.get("run_name") or about["run_id"], state)
    for folder, run in runs.items():
        run.config["experiment"] = experiments.get(folder.parent, "")
        for file in filter(Path.is_file, sorted((folder / "params").rglob("*"))):
            run.config[file.relative_to(folder / "params").as_posix()] = file.read_text()
        for file in filter(Path.is_file, sorted((folder / "metrics").rglob("*"))):
            name = file.relative_to(folder / "metrics").as_posix()
            for line in file.read_text().splitlines():  # time, value, step
                run.add(int(line.split()[2]), {name: float(line.split()[1])})
    return runs


def _read_wandb(files: Sequence[Path], root: Path) -> Mapping[bytes, Run]:
    """Reads .wandb files; those of one id are of one run, which was resumed."""
    runs: dict[bytes, Run] = {}
    for file in files:
        run = Run("")
        records_of_file = map(_fields, _wandb(file.read_bytes()))
        for kind, content in (field for record in records_of_file for field in record):
            if kind == 17:  # the run: 1 id, 4 config, 6 group, 8 name
                about = _message(content)
                run = runs.setdefault(about[1], run)
                run.name = about.get(8, about[1]).decode()
                run.config |= {"group": about.get(6, b"").decode(), **_items(about.get(4, b""))}
            elif kind == 5:
                run.config |= _items(content)
            elif kind == 2:  # history: 2 step, 1 its number
                run.add(_message(_message(content).get(2, b"")).get(1, 0), _items(content))
            elif kind == 3:
                numbers = {k: x for k, x in _items(content).items() if isinstance(x, int | float)}
                run.summary |= numbers
            elif kind == 18:  # the end: 1 exit code
                run.state = "failed" if _message(content).get(1) else "finished"
    return runs


def _items(message: bytes) -> dict[str, Any]:
    """Returns the items of a record of W&B: 1 key, 2 parts of a nested one, 16 JSON."""
    found: dict[str, Any] = {}
    for parts in ([*_fields(item)] for number, item in _fields(message) if number == 1):
        key = b".".join(value for number, value in parts if number in (1, 2)).decode()
        found[key] = json.loads(dict(parts).get(16, b"null"))
    return _flat(found)


def _read_tensorboard(files: Sequence[Path], root: Path) -> Mapping[Path, Run]:
    """Reads event files: a folder is a run, and so is one within it that `add_hparams` made."""
    runs: dict[Path, Run] = {}
    for file in files:
        inside = file.parent.relative_to(root).as_posix() if root.is_dir() else "."
        name = file.parent.resolve().name if inside == "." else inside
        run = runs.setdefault(file.parent, Run(name))
        for event in map(_message, _tensorboard(file.read_bytes())):
            for _, value in _fields(event.get(5, b"")):  # 5 summary, 2 step
                about = _message(value)  # 1 tag, 9 metadata
                tag = about.get(1, b"").decode()
                if tag == "_hparams_/session_start_info":
                    run.config |= _hparams(about[9])
                elif (number := _scalar(about)) is not None:
                    run.add(event.get(2, 0), {tag: number})
    for folder, run in [*runs.items()]:
        if run.config and folder.parent in runs:
            runs[folder.parent].config = run.config
            for step, values in runs.pop(folder).steps.items():
                runs[folder.parent].add(step, values)
    return runs


_READERS: dict[str, tuple[str, Callable[..., Mapping[Any, Run]]]] = {
    "Weights & Biases": ("*.wandb", _read_wandb),
    "MLflow": ("meta.yaml", _read_mlruns),
    "TensorBoard": ("*.tfevents.*", _read_tensorboard),
}


def _scalar(value: Mapping[int, Any]) -> float | None:
    """Returns a number (2 a float), or a tensor without axes: 1 type, 2 axes, 4 to 6 content."""
    tensor = {1: 1, 4: value[2]} if 2 in value else _message(value.get(8, b""))
    kind = _FLOATS.get(tensor.get(1, 0))
    raw = tensor.get(4) or tensor.get(5) or tensor.get(6)
    return struct.unpack(kind, raw)[0] if kind and raw and not tensor.get(2) else None


def _hparams(metadata: bytes) -> dict[str, Any]:
    """Returns the items of metadata: 1 plugin, 2 content, 3 start, 1 items: 1 key, 2 value."""
    found: dict[str, Any] = {}
    start = _message(_message(_message(metadata)[1])[2])[3]
    for pair in (_message(item) for number, item in _fields(start) if number == 1):
        for kind, value in _fields(pair[2]):  # 2 a number, 3 a text, 4 a truth value
            if kind == 2:
                number = struct.unpack("<d", value)[0]
                value = int(number) if number.is_integer() else number
            text = value.decode() if kind == 3 else value
            found[pair[1].decode()] = bool(value) if kind == 4 else text
    return found


def _flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested keys joined by dots, without those that trackers keep for themselves."""
    leaves = layout.leaves({key: value for key, value in tree.items() if key[:1] != "_"})
    return {key: value for key, value in leaves if key}


def _tensorboard(raw: bytes) -> Iterator[bytes]:
    """Yields the records of an event file."""
    at = 0
    while at + _TFRECORD.size <= len(raw):
        begin = at + _TFRECORD.size
        end = begin + _TFRECORD.unpack_from(raw, at)[0]
        at = end + 4
        if at <= len(raw):
            yield raw[begin:end]


def _wandb(raw: bytes) -> Iterator[bytes]:
    """Yields the records of a .wandb file; raises ValueError if it is none."""
    if not raw.startswith(_WANDB[: len(raw)]):
        raise ValueError(f"expected {_WANDB!r} at its beginning")
    at = len(_WANDB) + 3
    record = b""
    while at + _LEVELDB.size <= len(raw):
        left = _BLOCK - at % _BLOCK
        if left < _LEVELDB.size:
            at += left
            continue
        _, size, kind = _LEVELDB.unpack_from(raw, at)
        at += _LEVELDB.size + size
        record += raw[at - size : at]
        if kind in (1, 4) and at <= len(raw):
            yield record
            record = b""


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the number and value of each field: an int, or bytes.

    Raises ValueError, IndexError: the message is none, or cut short.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number = key >> 3
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        size, at = _varint(message, at) if kind == 2 else (_BYTES.get(kind), at)
        if size is None or at + size > len(message):
            raise ValueError(f"a field of wire type {kind}" if size is None else "cut short")
        yield number, message[at : at + size]
        at += size


def _message(message: bytes) -> dict[int, Any]:
    """Returns number -> value of the fields; of repeated ones the last."""
    return dict(_fields(message))


def _varint(message: bytes, at: int) -> tuple[int, int]:
    if message[at] < 128:  # nearly all
        return message[at], at + 1
    value = shift = 0
    while (byte := message[at]) > 127:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
    return value | byte << shift, at + 1
