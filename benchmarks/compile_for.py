"""What does a training step of a population launch on an accelerator? It is compiled here for one.

The compilers of GPUs and TPUs need no device. For each number of lanes one JSON line: the kernels,
copies and bytes of a training step; each loop over time or layers inside it, with its kernels a
step; collectives (lanes share nothing: 0), memory, and seconds of compiling. A step that has
several padded widths is given by its cheapest and its dearest one. A TPU's compiler does not say
how often loops run (steps: null): their bodies count once. The target has a compiler of its own,
in an environment of its own:

    pip install --no-deps jax-cuda12-pjrt jax-cuda12-plugin nvidia-cuda-nvcc-cu12  # h100
    pip install --no-deps libtpu                                                   # v5e, v5e-2x2
    python benchmarks/compile_for.py h100 melis2018/enwik8_lstm_small --data FILE --lanes 8 64
    python benchmarks/compile_for.py v5e default model.layers=[100,100] --lanes 8
"""

import argparse
import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

SITE = sysconfig.get_path("purelib")
# no kernel is timed, as there is no device
FLAGS = f"--xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir={SITE}/nvidia/cuda_nvcc"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"  # no server tells which TPU this is
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"  # nothing is run on one
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # it cannot be read back without a device
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"

import common
import jax
import numpy as np
from jax._src import xla_bridge
from jax.experimental import topologies
from jax.sharding import NamedSharding, PartitionSpec

from jaxeval import studies
from jaxeval.population import engine, lanes

# an H100 SXM, as XLA describes one
_H100 = """gpu_device_info {
threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
device_memory_size: 84929347584 shared_memory_per_block_optin: 232448
cuda_compute_capability { major: 9 } registers_per_core_limit: 65536
registers_per_block_limit: 65536 } platform_name: "CUDA" dnn_version_info { major: 9 minor: 7 }
runtime_version { major: 12 minor: 8 } device_description_str: "NVIDIA H100 80GB HBM3" """
_TPU: dict[str, Any] = {"platform": "tpu", "topology_name": "v5e:2x2"}
_GPU = {"platform": "cuda", "topology": "1x1x1", "target_config": _H100}
TARGETS: dict[str, tuple[dict[str, Any], int]] = {  # its topology, and how many of its devices
    "h100": (_GPU, 1),
    "v5e": (_TPU, 1),
    "v5e-2x2": (_TPU, 4),
}
# no kernels: names of values, control, and the ends of what runs beside other kernels
_FREE = re.compile(
    "parameter|constant|tuple|get-tuple-element|bitcast|while|conditional|call|after-all|"
    "partition-id|replica-id|opt-barrier|add-dependency|.*-done|async-.*"
)
_COLLECTIVE = re.compile("all-|collective-|reduce-scatter")
_SIZES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s64": 8, "u64": 8, "f64": 8}


class Instruction(NamedTuple):
    """A line of a compiled program."""

    name: str
    bytes: int  # of its value
    kind: str
    operands: list[str]
    rest: str  # all after the operands

    def called(self, key: str) -> list[str]:
        """Names of the computations under a key, such as the body of a loop."""
        found = re.search(rf"\b{key}=\{{?([^}}]*?)(\}}|, [\w-]+=|$)", self.rest)
        return re.findall(r"%([\w.-]+)", found[1]) if found else []

    @property
    def trips(self) -> int | None:
        """How often a loop runs, if that is known."""
        found = re.search(r'known_trip_count":\{"n":"(\d+)"', self.rest)
        return int(found[1]) if found else None


class Cost(NamedTuple):
    """What a computation launches, with all that it calls."""

    kernels: int = 0  # copies included
    copies: int = 0
    bytes: int = 0  # read and written

    def plus(self, other: "Cost", times: int = 1) -> "Cost":
        """The sum, with the other so many times."""
        return Cost(*(a + times * b for a, b in zip(self, other, strict=True)))


Module = dict[str, list[Instruction]]  # by the name of the computation; "ENTRY" is the first


def main() -> None:
    """Compiles and prints."""
    args = _arguments()
    config = None if args.config == "default" else args.config
    prepared = studies.prepare(studies.read(config, args.changes, args.data))
    for count in args.lanes:
        begin = time.perf_counter()
        lowered = lower(prepared, args.target, count)
        middle = time.perf_counter()
        program = lowered.compile()
        seconds = {
            "lower_seconds": middle - begin,
            "compile_seconds": time.perf_counter() - middle,
        }
        needed = program.memory_analysis()
        sizes = {"temporaries": needed.temp_size_in_bytes, "inputs": needed.argument_size_in_bytes}
        common.report(
            benchmark="compile_for",
            target=args.target,
            config=args.config,
            changes=args.changes,
            lanes=count,
            **describe(parse(program.as_text())),
            **{f"{name}_megabytes": round(size / 2**20, 1) for name, size in sizes.items()},
            **{name: round(value, 1) for name, value in seconds.items()},
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=tuple(TARGETS))
    parser.add_argument("config", help="as of `jaxeval train`, or: default")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--data", help="as of `jaxeval train`")
    parser.add_argument("--lanes", nargs="+", type=int, default=[64])
    return parser.parse_intermixed_args()


def lower(prepared: studies.Prepared, target: str, count: int) -> Any:
    """Lowers the epoch of a population with so many lanes a device."""
    topology, devices = TARGETS[target]
    ask = xla_bridge.canonicalize_platform

    def known(platform: str) -> str:  # "cuda" is no platform where there is no GPU
        return "cuda" if platform in ("gpu", "cuda") else ask(platform)

    xla_bridge.canonicalize_platform = known  # type: ignore[assignment]
    jax.default_backend = lambda: str(topology["platform"])  # models and lanes ask which it is
    mesh = lanes.make_mesh(topologies.get_topology_desc(**topology).devices[:devices])

    def shapes(tree: Any, mesh: Any, spec: PartitionSpec, *axes: int) -> Any:
        where = NamedSharding(mesh, spec)

        def shape(leaf: Any) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct((*axes, *np.shape(leaf)), leaf.dtype, sharding=where)

        return jax.tree.map(shape, tree)

    # nothing is put on a device
    lanes.replicate = lambda tree, mesh: shapes(tree, mesh, PartitionSpec())
    problem, split = prepared.problem, prepared.problem.split(0)
    programs = engine.build(problem, split, mesh)
    (who,) = common.members_of(prepared, 1)
    lane = engine.lane_of(problem, who, 0)
    state = jax.tree.map(
        lambda leaf: leaf[0], engine.empty_state(problem, programs.shared, lane, 1)
    )
    each = shapes((state, lane, np.bool_()), mesh, PartitionSpec("member"), count * devices)
    return programs.epoch.lower(programs.shared, *each)


def parse(text: str) -> Module:
    """Reads a compiled program."""
    module: Module = {}
    for line in text.splitlines():
        if begin := re.match(r"(ENTRY )?%?([\w.-]+) \(.*\{$", line):
            module["ENTRY" if begin[1] else begin[2]] = instructions = []
        elif found := re.match(r" +(?:ROOT )?%([\w.-]+) = (.*?) ([a-z][\w-]*)\((.*)", line):
            name, value, kind, rest = found.groups()
            inside, _, rest = rest.partition(")")
            operands = re.findall(r"%([\w.-]+)", inside)
            instructions.append(Instruction(name, _bytes(value), kind, operands, rest))
    return module


def _bytes(value: str) -> int:
    shapes = re.findall(r"\b(pred|[a-z]+\d+)\[([\d,]*)\]", value)
    return sum(
        _SIZES.get(kind, 4) * int(np.prod([int(n) for n in axes.split(",") if n]))
        for kind, axes in shapes
    )


def describe(module: Module) -> dict[str, Any]:
    """The costs of a training step, and of each step of the loops in it."""
    loops = [each for name in _reached(module, "ENTRY") for each in module[name]]
    loops = [each for each in loops if each.kind == "while"]
    # over the steps of training: the loop that costs most
    body = max((loop.called("body")[0] for loop in loops), key=lambda b: cost(module, b, max))
    least, most = (cost(module, body, choose) for choose in (min, max))
    inside: dict[tuple, list[int | None]] = {}
    for name in _reached(module, body):
        for each in module[name]:
            if each.kind == "while":
                step = cost(module, each.called("body")[0], max)
                inside.setdefault((_place(each), *step[:2]), []).append(each.trips)
    everything = [each.kind for instructions in module.values() for each in instructions]
    return {
        "kernels": [least.kernels, most.kernels],
        "copies": [least.copies, most.copies],
        "megabytes": [round(least.bytes / 2**20, 1), round(most.bytes / 2**20, 1)],
        "loops": [
            {"in": place, "kernels_a_step": kernels, "copies": copies, "steps": steps}
            for (place, kernels, copies), steps in inside.items()
        ],
        "collectives": sum(bool(_COLLECTIVE.match(kind)) for kind in everything),
    }


def _place(loop: Instruction) -> str:
    """The part of the model that a loop is of."""
    found = re.search(r'op_name="([^"]*)"', loop.rest)
    path = found[1] if found else ""
    return path.rpartition("branch_")[2].partition("/")[2] or path


def _reached(module: Module, name: str) -> Iterator[str]:
    """A computation, and those that are run from it; not those that are parts of a kernel."""
    yield name
    for each in module[name]:
        for key in {"while": ["body"], "call": ["to_apply"], **_BRANCHES}.get(each.kind, ()):
            for called in each.called(key):
                yield from _reached(module, called)


_BRANCHES = {"conditional": ["branch_computations", "true_computation", "false_computation"]}


def cost(module: Module, name: str, choose: Any) -> Cost:
    """The cost of a computation; of its branches `choose` takes one."""
    total = Cost()
    for each in module[name]:
        if each.kind == "while":
            once = cost(module, each.called("body")[0], choose)
            if each.trips is None:  # the device is asked whether to go on
                once = once.plus(cost(module, each.called("condition")[0], choose))
            total = total.plus(once, each.trips or 1)
        elif each.kind == "call":
            total = total.plus(cost(module, each.called("to_apply")[0], choose))
        elif each.kind == "conditional":
            branches = [b for key in _BRANCHES["conditional"] for b in each.called(key)]
            total = total.plus(choose(cost(module, branch, choose) for branch in branches))
        elif not _FREE.fullmatch(each.kind) and '"AllocateBuffer"' not in each.rest:
            copies = int(each.kind.startswith("copy"))
            total = total.plus(Cost(1, copies, _moved(module, name, each)))
    return total


def _moved(module: Module, name: str, kernel: Instruction) -> int:
    """Bytes that a kernel reads and writes; of what it only slices or updates, the slices."""
    if kernel.kind != "fusion":
        sizes = {each.name: each.bytes for each in module[name]}
        return kernel.bytes + sum(sizes.get(operand, 0) for operand in kernel.operands)
    inside = module[kernel.called("calls")[0]]
    sizes = {each.name: each.bytes for each in inside}

    def read(value: str) -> int:
        parts = 0
        for user in (each for each in inside if value in each.operands):
            if user.kind == "bitcast":
                parts += read(user.name)
            elif user.kind in ("slice", "dynamic-slice", "gather") and user.operands[0] == value:
                parts += user.bytes
            elif user.kind != "dynamic-update-slice" or user.operands[0] != value:
                return sizes[value]
        return min(parts, sizes[value])

    updates = [each for each in inside if each.kind == "dynamic-update-slice"]
    written = kernel.bytes + sum(sizes[u.operands[1]] - u.bytes for u in updates)
    return max(written, 0) + sum(read(each.name) for each in inside if each.kind == "parameter")


if __name__ == "__main__":
    sys.exit(main())
