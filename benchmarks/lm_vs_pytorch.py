"""How many tokens a second does a population of language models train on, against PyTorch?

The members of a population on all cores against PyTorch as `peers` describes it: one process of
one thread a core, side by side, and one process at its better number of threads. In every round a
turn of each; a ratio is the median over rounds of (seconds per member of PyTorch) / (those of
jaxeval), wall time over members in flight, compilation apart. The harder peer is named first.

    python benchmarks/lm_vs_pytorch.py --data wikitext2 --hidden 200 --layers 1 --batch 20
    python benchmarks/lm_vs_pytorch.py --data enwik8.head2MB --unit byte --kind nas --hidden 170
"""

import argparse
import resource
import tempfile
from pathlib import Path

import common
import jax
import lm_pytorch
import numpy as np
import peers
import processes
import torch

from jaxeval import studies


def main() -> None:
    """Measures both, in turn."""
    args = parser().parse_args()
    prepared = prepare(args)
    population, seconds = common.population(prepared, args.members)
    cores = jax.device_count()
    with tempfile.TemporaryDirectory() as folder:
        payload = write(prepared, args, Path(folder) / "payload")
        with processes.start(Path(lm_pytorch.__file__), payload, cores) as group:
            rounds = peers.measure(
                lambda: common.epoch_seconds(population) / args.members,
                group,
                peers.choices(["training"], cores),
                args.pairs,
            )
    size = args.batch * args.window * args.steps
    peers.announce(f"{args.unit} {args.kind} {args.layers} x {args.hidden}", rounds)
    common.report(
        benchmark="lm_vs_pytorch",
        **peers.summary(rounds, "tokens_per_second", lambda seconds: size / seconds),
        **{k: getattr(args, k) for k in ("kind", "unit", "hidden", "layers", "depth", "batch")},
        members=args.members,
        vocabulary=prepared.data.facts["vocabulary"],
        torch=torch.__version__,
        compile_seconds=round(seconds, 1),
        peak_gigabytes=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    )


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of a text, or one file of bytes")
    parser.add_argument("--unit", choices=("word", "byte"), default="word")
    parser.add_argument("--kind", choices=("lstm", "rhn", "nas"), default="lstm")
    parser.add_argument("--hidden", type=int, default=200)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--depth", type=int, default=1, help="of the highway")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--window", type=int, default=35)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10, help="of a timed turn")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    return parser


def prepare(args: argparse.Namespace) -> studies.Prepared:
    """The measured studies."""
    gates = {"lstm": ["model.gates=untied"], "rhn": ["model.gates=tied"], "nas": []}
    changes = [
        "task=language",
        f"data.unit={args.unit}",
        f"data.window={args.window}",
        f"data.steps_per_epoch={args.steps}",
        f"model.kind={args.kind}",
        *gates[args.kind],
        f"model.layers={args.layers}",
        f"model.depth={args.depth}",
        f"model.hidden={args.hidden}",
        f"training.batch_size={args.batch}",
    ]
    return studies.prepare(studies.read(None, changes, args.data))


def write(prepared: studies.Prepared, args: argparse.Namespace, path: Path) -> Path:
    """What the processes of PyTorch read."""
    need = args.window * args.steps + 1
    stream = prepared.data.corpus.shared["tokens"][1 : 1 + need * args.batch]
    sizes = {k: getattr(args, k) for k in ("kind", "hidden", "layers", "depth")}
    content = {
        "model": {**sizes, "vocabulary": int(prepared.data.facts["vocabulary"])},
        "tokens": torch.tensor(np.ascontiguousarray(stream.reshape(args.batch, -1).T)).long(),
        "window": args.window,
        "steps": args.steps,
    }
    torch.save(content, path)
    return path


if __name__ == "__main__":
    main()
