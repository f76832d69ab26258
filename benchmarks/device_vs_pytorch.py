"""How fast is a population on a GPU, by its members, and PyTorch on the same GPU?

Steps of training of populations of several sizes, against PyTorch with cuDNN, one model after the
other in one process, and in several processes at once that share the GPU. Both at each precision
of float32 products. One JSON line a measurement: seconds of a step (median and spread over turns
of several steps, compilation apart), member-steps a second, memory, and for some sizes how many
kernels a step launches and how long the GPU is busy with them.

With `--lock FILE` several of these commands may run side by side: they compile together, and each
measures while it holds the file alone.

    python benchmarks/device_vs_pytorch.py --data DATA --case tagger --members 1 8 64 512
    python benchmarks/device_vs_pytorch.py --data DATA --case byte_lstm --variants default graphs
"""

import argparse
import collections
import contextlib
import fcntl
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use the device too

import common
import device_member
import jax
import lm_vs_pytorch
import numpy as np
import processes
import seq2seq_turns
import seq2seq_vs_pytorch
import tagger_vs_pytorch
import torch

from jaxeval import studies
from jaxeval.population import host

PRECISIONS = ("float32", "tensorfloat32")
_COMMANDS = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION"
VARIANTS: dict[str, dict[str, Any]] = {  # options of XLA's compiler
    "default": {},
    "kernel_copies": {"xla_disable_hlo_passes": "dynamic-slice-annotator"},
    "graph_loops": {
        "xla_disable_hlo_passes": "dynamic-slice-annotator",
        "xla_gpu_enable_command_buffer": f"{_COMMANDS},WHILE",
    },
    "unrolled_graphs": {
        "xla_gpu_enable_command_buffer": f"{_COMMANDS},WHILE",
        "xla_gpu_command_buffer_unroll_loops": True,
    },
    "no_graphs": {"xla_gpu_graph_min_graph_size": 1000000},
    "cublas": {"xla_gpu_enable_triton_gemm": False},
    "untuned": {"xla_gpu_autotune_level": 0},
    "untuned_cublas": {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False},
}


class Case(NamedTuple):
    """A model and its data."""

    prepared: studies.Prepared
    steps: int  # of a turn
    file: str  # of PyTorch's member
    way: str
    write: Callable[[host.Population, Path], Any]  # PyTorch's payload


def main() -> None:
    """Measures and prints."""
    args = _arguments()
    case = CASES[args.case](args)
    with contextlib.ExitStack() as stack:
        alone = open(args.lock, "w") if args.lock else tempfile.TemporaryFile()  # noqa: SIM115
        lock = stack.enter_context(alone)
        fcntl.flock(lock, fcntl.LOCK_SH)
        ours = _compiled(case, args)
        group = stack.enter_context(_peers(case, ours, args)) if args.processes else None
        print(args.case, "waits", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_UN)
        fcntl.flock(lock, fcntl.LOCK_EX)
        for each in ours:
            _measure(case, each, args)
        for precision in args.precisions if group else ():
            for count in args.processes:
                _measure_peers(case, group, count, precision, args)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=Path, help="folder of all data sets")
    parser.add_argument("--case", required=True, choices=tuple(CASES))
    parser.add_argument("--members", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--profiled", nargs="*", type=int, default=[64], help="sizes")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=["default"])
    parser.add_argument("--widths", type=int, default=12, help="padded widths of a tagger")
    parser.add_argument("--processes", nargs="*", type=int, default=[1, 4], help="of PyTorch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lock")
    return parser.parse_args()


def _tagger(args: argparse.Namespace) -> Case:
    widths = f"data.max_widths={args.widths}"
    prepared = common.prepare(str(args.data / "ud_english_ewt"), 32, 1000, widths)
    steps = sum(-(-len(rows) // 32) for rows in prepared.data.split(0).train)

    def write(population: host.Population, path: Path) -> None:
        tagger_vs_pytorch.write(prepared, 32, max(args.processes), path)

    return Case(prepared, steps, "tagger_pytorch", "padded", write)


def _bytes(args: argparse.Namespace, *sizes: str) -> Case:
    data = str(args.data / "enwik8" / "enwik8.head2MB")
    fixed = ["--data", data, "--unit", "byte", "--steps", "10", *sizes]
    own = lm_vs_pytorch.parser().parse_args(fixed)
    prepared = lm_vs_pytorch.prepare(own)

    def write(population: host.Population, path: Path) -> None:
        lm_vs_pytorch.write(prepared, own, path)

    return Case(prepared, own.steps, "lm_pytorch", "training", write)


def _pairs(args: argparse.Namespace, architecture: str) -> Case:
    fixed = ["--data", str(args.data / "g2p2021"), "--architecture", architecture]
    own = seq2seq_vs_pytorch.parser().parse_args([*fixed, "--items", "640"])
    prepared = seq2seq_vs_pytorch.prepare(own)

    def write(population: host.Population, path: Path) -> None:
        params = jax.tree.map(lambda leaf: np.asarray(leaf[0]), population.state.params)
        training = seq2seq_turns.Training(prepared, population, own)
        decoding = seq2seq_turns.Decoding(prepared, population, own)
        model = seq2seq_vs_pytorch.model_of(prepared, architecture, params)
        seq2seq_turns.write(prepared, training, decoding, own, model, path)

    return Case(prepared, 640 // own.batch, "seq2seq_member", "training bucketed", write)


CASES: dict[str, Callable[[argparse.Namespace], Case]] = {
    "tagger": _tagger,
    "small_byte_lstm": lambda args: _bytes(args, "--hidden", "200", "--layers", "1"),
    "byte_lstm": lambda args: _bytes(args, "--hidden", "650", "--layers", "2"),
    "attentive_lstm": lambda args: _pairs(args, "attentive_lstm"),
    "transformer": lambda args: _pairs(args, "transformer"),
}


class Ours(NamedTuple):
    """A population with its program of an epoch."""

    population: host.Population
    precision: str
    variant: str
    program: futures.Future  # (program, seconds of its compilation)


def _compiled(case: Case, args: argparse.Namespace) -> list[Ours]:
    """All populations; their programs compile side by side."""
    pool, ours = futures.ThreadPoolExecutor(), []

    def compiled(lowered: Any, options: dict[str, Any], begin: float) -> tuple[Any, float]:
        return lowered.compile(compiler_options=options or None), time.perf_counter() - begin

    for count in args.members:
        chosen = common.members_of(case.prepared, count)
        population = host.Population(case.prepared.problem, chosen, count)
        seq2seq_vs_pytorch.cut_epochs(population, case.steps)
        population.arrange()
        for precision in args.precisions:
            jax.config.update("jax_default_matmul_precision", precision)
            begin, flags = time.perf_counter(), population.flags([True] * count)
            each = population.engine.shared, population.state, population.lanes, flags
            lowered = population.engine.epoch.lower(*each)
            for variant in args.variants:
                program = pool.submit(compiled, lowered, VARIANTS[variant], begin)
                ours.append(Ours(population, precision, variant, program))
    futures.wait([each.program for each in ours])
    return ours


def _measure(case: Case, ours: Ours, args: argparse.Namespace) -> None:
    population, count = ours.population, len(ours.population.slots)
    what = {"case": args.case, "members": count, "precision": ours.precision}
    what["variant"] = ours.variant
    try:
        program, compile_seconds = ours.program.result()
        population.engine = population.engine._replace(epoch=program)
        turns = [common.epoch_seconds(population) for _ in range(args.rounds + 2)][2:]
    except jax.errors.JaxRuntimeError as error:
        print(*what.values(), str(error)[:300].replace("\n", " "), file=sys.stderr)
        return common.report(benchmark="device_vs_pytorch", **what, failed=str(error)[:200])
    needed = program.memory_analysis()
    content = _step(turns, case.steps, count)
    if count in args.profiled:
        content |= _profiled(population, case.steps)
    print("ours", *what.values(), content, round(compile_seconds, 1), file=sys.stderr)
    common.report(
        benchmark="device_vs_pytorch",
        **what,
        options=VARIANTS[ours.variant],
        **content,
        parameters=common.parameters(case.prepared),
        widths=args.widths if args.case == "tagger" else None,
        steps=case.steps,
        compile_seconds_side_by_side=round(compile_seconds, 1),
        gigabytes=round((needed.argument_size_in_bytes + needed.temp_size_in_bytes) / 2**30, 2),
    )


def _step(turns: list[float], steps: int, members: int) -> dict[str, Any]:
    milliseconds = [1000 * seconds / steps for seconds in turns]
    rate = round(1000 * members / float(np.median(milliseconds)), 1)
    return {"step_ms": common.quartiles(milliseconds), "member_steps_per_second": rate}


def _profiled(population: host.Population, steps: int) -> dict[str, Any]:
    """Kernels and copies of a step, how long the GPU is busy with them, and with the dearest."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            common.epoch_seconds(population)
        files = list(Path(folder).rglob("*.xplane.pb"))
        data = jax.profiler.ProfileData.from_file(str(files[0]))
        lines = [line for p in data.planes if "/device:GPU" in p.name for line in p.lines]
        events = [e for line in lines if line.name.startswith("Stream") for e in line.events]
    busy = sum(event.duration_ns for event in events)
    kinds: collections.Counter[str] = collections.Counter()
    for event in events:
        kinds[re.sub(r"[_.]?\d+", "", event.name)[:60]] += event.duration_ns
    return {
        "launches_per_step": round(len(events) / steps, 1),
        "busy_ms_per_step": round(busy / steps / 1e6, 3),
        "busy_ms_by_kernel": {k: round(v / steps / 1e6, 3) for k, v in kinds.most_common(12)},
    }


@contextlib.contextmanager
def _peers(case: Case, ours: list[Ours], args: argparse.Namespace) -> Iterator[processes.Group]:
    device = "cuda" if jax.default_backend() == "gpu" else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payload"
        case.write(ours[0].population, path)
        content = {"file": case.file, "device": device}
        Path(f"{path}.device").write_text(json.dumps(content))
        with processes.start(Path(device_member.__file__), path, max(args.processes)) as group:
            yield group


def _measure_peers(
    case: Case, group: processes.Group, count: int, precision: str, args: argparse.Namespace
) -> None:
    way = f"{case.way} {precision}"
    turns = [group.turn(way, 1, count).seconds for _ in range(args.rounds + 2)][2:]
    content = _step(turns, case.steps, count)
    print("PyTorch", args.case, count, precision, content, file=sys.stderr)
    common.report(
        benchmark="device_vs_pytorch",
        case=args.case,
        pytorch_processes=count,
        precision=precision,
        **content,
        steps=case.steps,
        torch=torch.__version__,
    )


if __name__ == "__main__":
    main()
