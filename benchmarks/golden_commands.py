"""Do all verbs still compute what they computed? A referee for rewriting the package.

    python benchmarks/golden_commands.py record OUT.json.gz [NAME ...]
    python benchmarks/golden_commands.py check OUT.json.gz [NAME ...] [--text] [--all]

`record` runs the commands of golden_list.py, all in this process, and keeps what they leave:
exit codes, JSON, written tables, the data of all figures, what the terminal shows. `check` runs
them again and lists what differs, to the last bit; it exits with 1 if anything does. NAME is a
command, or a pattern: 'compare*'. What is renamed or dropped on purpose stands in OUT.rules.json
(golden_differences.py); what is dropped is not compared, and counted.

Beside the recording lie `inputs` (what golden_inputs.py makes; `record` writes it anew, `check`
reads it) and `xla` (compiled programs). JAXEVAL_DATA names the folder of real data
(../shared/data). Words, as of sentences and captions, are told apart and counted, shown with
--text; they are no difference, since they may change on purpose.
"""

import argparse
import contextlib
import fnmatch
import gzip
import importlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from golden_kept import clean, figures_kept, written

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("JAXEVAL_DATA", ROOT.parent / "shared" / "data")).resolve()
ENVIRONMENT = {  # one device, one thread, quick compilation (as tests/compiling.py has it)
    "JAX_PLATFORMS": "cpu",
    "JAX_NUM_CPU_DEVICES": "1",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    "XLA_FLAGS": "--xla_cpu_parallel_codegen_split_count=1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "COLUMNS": "120",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def ended(words: list[str]) -> tuple[Any, str, str]:
    """The exit code of the console script with these words, and what it prints."""
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["jaxeval"]
    module, _, name = script.partition(":")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = sys.argv
    sys.argv = ["jaxeval", *words]
    status: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            getattr(importlib.import_module(module), name)()
    except SystemExit as stop:
        status = stop.code
    except Exception as error:
        status = f"{type(error).__name__}: {error}"
        traceback.print_exc(file=err)
    finally:
        sys.argv = before
    return status, *(stream.buffer.getvalue().decode() for stream in (out, err))


def run(lines: list[str], folder: Path, inputs: Path) -> dict[str, Any]:
    """Runs the lines of a command in a folder, in which `data` and `in` are links; all that they
    write into `out` is kept."""
    of: dict[str, Any] = {key: {} for key in ("exit", "json", "figures", "files", "text")}
    (folder / "out").mkdir(parents=True)
    (folder / "data").symlink_to(DATA)
    (folder / "in").symlink_to(inputs)
    _make(folder, lines)
    places = {str(folder): "SCRATCH", str(DATA): "DATA", str(inputs): "INPUTS", str(ROOT): "REPO"}
    places |= {sys.executable: "PYTHON"}
    if len(host := socket.gethostname()) > 4:
        places[host] = "HOST"
    os.chdir(folder)
    for number, line in enumerate(lines):
        words, _, target = line.partition(" > ")
        with figures_kept(of["figures"]):
            status, out, err = ended(shlex.split(words.replace("PYTHON", sys.executable)))
        if status:
            errors = [said for said in err.splitlines() if said.strip()]
            print(
                f"    {line}: {status}, {(*errors, '')[-1 if not errors else -2]}", file=sys.stderr
            )
            out += "\n".join(errors if isinstance(status, str) else errors[-1:])
        of["exit"][str(number)] = clean(str(status), places)
        if target:
            Path(target).write_text(out)
        of["text"][str(number)] = clean(out, places)
    for path in sorted((folder / "out").rglob("*")):
        if path.is_file() and path.suffix not in (".svg", ".pdf", ".png"):
            name = str(path.relative_to(folder / "out"))
            kind = "json" if path.suffix in (".json", ".jsonl") else "files"
            of["text" if path.suffix == ".html" else kind][name] = written(path, places)
    return of


def _make(folder: Path, lines: list[str]) -> None:
    """The files that the lines name in `made`, and the tables that they name in `cut`."""
    from golden_list import CUT, MADE

    for name, text in MADE.items():
        (folder / "made").mkdir(exist_ok=True)
        (folder / "made" / name).write_text(text)
    if any("cut/" in line for line in lines):
        of = DATA / CUT[0]
        (folder / "cut" / of.name).mkdir(parents=True)
        for path in of.glob("*.tsv"):
            rows = path.read_text().splitlines(keepends=True)[: CUT[1] + 1]
            (folder / "cut" / of.name / path.name).write_text("".join(rows))


def idlest_core() -> int:
    """One of the cores that this process may use."""

    def idle() -> dict[int, int]:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
        return {int(of[0][3:]): int(of[4]) for of in lines if re.fullmatch(r"cpu\d+", of[0])}

    before = idle()
    time.sleep(0.5)
    return max(os.sched_getaffinity(0), key=lambda core: idle()[core] - before[core])


def run_all(
    commands: dict[str, list[str]], beside: Path, new_inputs: bool
) -> Iterator[tuple[str, dict]]:
    """What the commands leave."""
    os.environ.update(ENVIRONMENT, JAX_COMPILATION_CACHE_DIR=str(beside / "xla"))
    with contextlib.suppress(AttributeError, OSError):  # how many cores there are counts
        os.sched_setaffinity(0, {idlest_core()})
    inputs = beside / "inputs"
    if new_inputs:
        shutil.rmtree(inputs, ignore_errors=True)
        maker = Path(__file__).with_name("golden_inputs.py")  # it imports what a verb may not yet
        subprocess.run([sys.executable, str(maker), str(inputs)], check=True)
    here = Path.cwd()
    for name, lines in commands.items():
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch:
            of = run(lines, Path(scratch).resolve() / "golden", inputs)
            os.chdir(here)
        of["seconds"] = round(time.perf_counter() - begin, 1)
        yield name, of


def main() -> int:
    """Records, or checks against what was recorded."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=how)
    parser.add_argument("what", choices=["record", "check", "list"])
    parser.add_argument("recording", nargs="?", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--text", action="store_true", help="also show what words differ")
    parser.add_argument("--all", action="store_true", help="show all differences")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import golden_differences
    from golden_list import COMMANDS

    if args.what == "list" or args.recording is None:
        print("\n".join(f"{name}\n    " + "\n    ".join(of) for name, of in COMMANDS.items()))
        return 0
    if not DATA.is_dir():
        sys.exit(f"{DATA}: no such folder; JAXEVAL_DATA names that of the real data")
    path = args.recording.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    known: dict = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}

    def asked(name: str) -> bool:
        return not args.names or any(fnmatch.fnmatch(name, of) for of in args.names)

    chosen = {name: lines for name, lines in COMMANDS.items() if asked(name)}
    after = run_all(chosen, path.parent, args.what == "record")
    if args.what == "check":
        known = {name: of for name, of in known.items() if asked(name)}
        rules = golden_differences.read_rules(path)
        return int(golden_differences.check(known, after, rules, args.text, args.all) > 0)
    for name, of in after:
        known[name] = of
        print(f"{name}: {of['seconds']} s", flush=True)
        path.write_bytes(gzip.compress(json.dumps(known).encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
