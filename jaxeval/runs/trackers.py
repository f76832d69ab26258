"""Runs that Weights & Biases, MLflow, TensorBoard or trackio keep on this machine.

None of them is imported, and nothing is unpickled. Fields of protocol buffers are those of
tensorflow/core/util/event.proto, tensorboard/plugins/hparams/plugin_data.proto and
wandb/proto/wandb_internal.proto.
"""

import contextlib
import dataclasses
import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.runs import columns, protobufs, records
from jaxeval.runs.columns import Columns
from jaxeval.runs.layout import AXES, PICKS, ROLES, Layout
from jaxeval.runs.protobufs import fields, message_of

_Select = Callable[[str], Iterable[Any]]
_STATES = {"1": "running", "3": "finished", "4": "failed", "5": "killed"}  # of MLflow's files
_FLOATS = {1: "<f", 2: "<d"}  # of tensors


@dataclasses.dataclass
class Run:
    """A run of a tracker.

    Attributes:
      state: how it ended, in the tracker's words; "" if it does not say.
      config: key -> value; nested keys are joined by dots. A `status` goes before the state.
      curves: metric -> step -> value.
      summary: metric -> the value that stands for it, if that is not the curve's last.
    """

    name: str
    state: str = ""
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    curves: dict[str, dict[int, float]] = dataclasses.field(default_factory=dict)
    summary: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """Adds the numbers among the values of a step."""
        for name, value in _flat(values).items():
            if isinstance(value, int | float):
                self.curves.setdefault(name, {})[step] = value

    def rows(self, by_step: bool) -> list[dict[str, Any]]:
        """Returns a row with the last value of each metric, or a row a step."""
        whole = {"Name": self.name, "status": self.state, **self.config}
        if not by_step:
            last = {metric: curve[max(curve)] for metric, curve in self.curves.items()}
            return [{**whole, **last, **self.summary}]
        steps = sorted({step for curve in self.curves.values() for step in curve})
        curves = self.curves.items()
        at = ({metric: of[step] for metric, of in curves if step in of} for step in steps)
        return [{**whole, "step": step, **of} for step, of in zip(steps, at, strict=True)]


def read(path: str, layout: Layout) -> tuple[Columns, list[str], list[str]] | None:
    """Reads a table of runs, the runs' names and notes; None if no tracker wrote the path.

    A row is a run, or a step of one if the layout picks rows. Settings that are the same in all
    runs are left out.

    Raises DataError: damaged, or without runs.
    """
    with parsing("cannot be read", path, passing=(JaxevalError, MemoryError)):
        program, runs = find(Path(path))
    if not program:
        return None
    picked = any(pick in layout.columns for pick in PICKS)
    rows = [row for run in runs for row in run.rows(picked)]
    if not rows:
        raise DataError(f"no run of {program} in it", path)
    table = columns.from_python(rows)
    named = ({*ROLES} - {*AXES}) | {"seed", *layout.columns.values()}
    settings = {key for run in runs for key in run.config} - named
    same = {key for key in settings if len({*table.texts(key)}) == 1}
    values = {name: column for name, column in table.values.items() if name not in same}
    note = f"{len(runs)} runs of {program}"
    note += "" if picked else ": the last value of each metric is read"
    return Columns(path, values, table.rows), table.texts("Name"), [note]


def find(path: Path) -> tuple[str, Sequence[Run]]:
    """Returns the tracker that wrote a file or folder, "" if none did, and its runs."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    readers: dict[str, tuple[str, Callable[..., Mapping[Any, Run]]]] = {
        "Weights & Biases": ("*.wandb", _read_wandb),
        "MLflow": ("meta.yaml", _read_mlruns),
        "TensorBoard": ("*.tfevents.*", _read_tensorboard),
    }
    for program, (pattern, reader) in readers.items():
        if fitting := [file for file in files if file.match(pattern)]:
            return program, [*reader(fitting, path).values()]
    if path.is_file():
        with path.open("rb") as stream:
            is_database = stream.read(6) == b"SQLite"
        if is_database:
            return _find_in_database(path)
    return "", ()


def _find_in_database(path: Path) -> tuple[str, Sequence[Run]]:
    with contextlib.closing(files.connect(path)) as sql:
        select, tables = sql.execute, {*sql.execute("SELECT name FROM sqlite_master")}
        if {("runs",), ("params",), ("latest_metrics",)} <= tables:
            return "MLflow", [*_read_mlflow(select).values()]
        if {("metrics",), ("configs",), ("system_metrics",)} <= tables:
            return "trackio", [*_read_trackio(select).values()]
    return "", ()


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


def _read_trackio(select: _Select) -> Mapping[str, Run]:
    runs: dict[str, Run] = {}
    for key, name, config in select("SELECT run_id, run_name, config FROM configs"):
        runs[key] = Run(name, config=_flat(json.loads(config)))
    query = "SELECT run_id, run_name, step, metrics FROM metrics ORDER BY id"
    for key, name, step, values in select(query):
        runs.setdefault(key, Run(name)).add(step, json.loads(values))
    return runs


def _read_mlruns(files: Sequence[Path], root: Path) -> Mapping[Path, Run]:
    """Reads MLflow's folders: meta.yaml of experiments and runs, a file a parameter or metric."""
    runs, experiments = dict[Path, Run](), dict[Path, str]()
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
        records_of_file = map(fields, protobufs.wandb(file.read_bytes()))
        for kind, content in (field for record in records_of_file for field in record):
            if kind == 17:  # the run: 1 id, 4 config, 6 group, 8 name
                about = message_of(content)
                run = runs.setdefault(about[1], run)
                run.name = about.get(8, about[1]).decode()
                run.config |= {"group": about.get(6, b"").decode(), **_items(about.get(4, b""))}
            elif kind == 5:
                run.config |= _items(content)
            elif kind == 2:  # history: 2 step, 1 its number
                run.add(message_of(message_of(content).get(2, b"")).get(1, 0), _items(content))
            elif kind == 3:
                numbers = {k: x for k, x in _items(content).items() if isinstance(x, int | float)}
                run.summary |= numbers
            elif kind == 18:  # the end: 1 exit code
                run.state = "failed" if message_of(content).get(1) else "finished"
    return runs


def _items(message: bytes) -> dict[str, Any]:
    """Returns the items of a record of W&B: 1 key, 2 parts of a nested one, 16 JSON."""
    found: dict[str, Any] = {}
    for parts in ([*fields(item)] for number, item in fields(message) if number == 1):
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
        for event in map(message_of, protobufs.tensorboard(file.read_bytes())):
            for _, value in fields(event.get(5, b"")):  # 5 summary, 2 step
                about = message_of(value)  # 1 tag, 9 metadata
                tag = about.get(1, b"").decode()
                if tag == "_hparams_/session_start_info":
                    run.config |= _hparams(about[9])
                elif (number := _scalar(about)) is not None:
                    run.add(event.get(2, 0), {tag: number})
    for folder, run in [*runs.items()]:
        if run.config and folder.parent in runs:
            runs[folder.parent].config = run.config
            runs[folder.parent].curves |= run.curves
            del runs[folder]
    return runs


def _scalar(value: Mapping[int, Any]) -> float | None:
    """Returns a number (2 a float), or a tensor without axes: 1 type, 2 axes, 4 to 6 content."""
    tensor = {1: 1, 4: value[2]} if 2 in value else message_of(value.get(8, b""))
    kind, raw = _FLOATS.get(tensor.get(1, 0)), tensor.get(4) or tensor.get(5) or tensor.get(6)
    return struct.unpack(kind, raw)[0] if kind and raw and not tensor.get(2) else None


def _hparams(metadata: bytes) -> dict[str, Any]:
    """Returns the items of metadata: 1 plugin, 2 content, 3 start, 1 items: 1 key, 2 value."""
    found: dict[str, Any] = {}
    start = message_of(message_of(message_of(metadata)[1])[2])[3]
    for pair in (message_of(item) for number, item in fields(start) if number == 1):
        for kind, value in fields(pair[2]):  # 2 a number, 3 a text, 4 a truth value
            if kind == 2:
                number = struct.unpack("<d", value)[0]
                value = int(number) if number.is_integer() else number
            text = value.decode() if kind == 3 else value
            found[pair[1].decode()] = bool(value) if kind == 4 else text
    return found


def _flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested keys joined by dots, without those that trackers keep for themselves."""
    leaves = records.leaves({key: value for key, value in tree.items() if key[:1] != "_"})
    return {key: value for key, value in leaves if key}
