"""How many tokens a second does a population of language models train on, against PyTorch?

Prints the ratio of the tokens a second of a population on all cores to those of one PyTorch model
at its better thread count (PyTorch would train the members one after the other), medians over
interleaved pairs, as one JSON line.

    python benchmarks/lm_vs_pytorch.py --data wikitext2 --hidden 200 --layers 1 --batch 20
    python benchmarks/lm_vs_pytorch.py --data enwik8.head2MB --unit byte --kind nas --hidden 170
"""

import argparse
import resource
import time
from typing import Any

import common
import lm_pytorch
import numpy as np
import torch

from jaxeval import experiment


def main() -> None:
    """Measures both, in turn."""
    given = _parser().parse_args()
    prepared = _prepare(given)
    made, seconds = common.population(prepared, given.members)
    common.epoch_seconds(made)
    theirs, optimiser, tokens = _torch(prepared, given)
    threads = _better_threads(given, theirs, optimiser, tokens)
    torch.set_num_threads(threads)
    pairs = []
    for _ in range(given.pairs):
        ours = common.epoch_seconds(made)
        begin = time.perf_counter()
        lm_pytorch.steps(theirs, optimiser, tokens, given.window, given.steps)
        pairs.append((ours, time.perf_counter() - begin))
    size = given.batch * given.window * given.steps
    ratios = [given.members * other / ours for ours, other in pairs]
    common.report(
        benchmark="lm_vs_pytorch",
        **{k: getattr(given, k) for k in ("kind", "unit", "hidden", "layers", "depth", "batch")},
        members=given.members,
        vocabulary=prepared.read.facts["vocabulary"],
        tokens_per_second=common.quartiles([given.members * size / ours for ours, _ in pairs]),
        pytorch_tokens_per_second=common.quartiles([size / other for _, other in pairs]),
        pytorch=torch.__version__,
        pytorch_threads=threads,
        compile_seconds=round(seconds, 1),
        peak_gigabytes=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        ratio=common.quartiles(ratios),
    )


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data", required=True, help="folder of a text, or one file of bytes")
    made.add_argument("--unit", choices=("word", "byte"), default="word")
    made.add_argument("--kind", choices=("lstm", "rhn", "nas"), default="lstm")
    made.add_argument("--hidden", type=int, default=200)
    made.add_argument("--layers", type=int, default=1)
    made.add_argument("--depth", type=int, default=1, help="of the highway")
    made.add_argument("--batch", type=int, default=20)
    made.add_argument("--window", type=int, default=35)
    made.add_argument("--members", type=int, default=8)
    made.add_argument("--steps", type=int, default=10, help="of a timed turn")
    made.add_argument("--pairs", type=int, default=5)
    return made


def _prepare(given: argparse.Namespace) -> experiment.Prepared:
    gates = {"lstm": ["model.gates=untied"], "rhn": ["model.gates=tied"], "nas": []}
    changes = [
        "task=language",
        f"data.unit={given.unit}",
        f"data.window={given.window}",
        f"data.turn={given.steps}",
        f"model.kind={given.kind}",
        *gates[given.kind],
        f"model.layers={given.layers}",
        f"model.depth={given.depth}",
        f"model.hidden={given.hidden}",
        f"training.batch_size={given.batch}",
    ]
    return experiment.prepare(experiment.read(None, changes, given.data))


def _torch(
    prepared: experiment.Prepared, given: argparse.Namespace
) -> tuple[lm_pytorch.Model, Any, torch.Tensor]:
    torch.manual_seed(0)
    model = lm_pytorch.Model(
        given.kind, prepared.read.facts["vocabulary"], given.hidden, given.layers, given.depth
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003, betas=(0.0, 0.999))
    need = given.window * given.steps + 1
    stream = prepared.data.corpus.shared["tokens"][1 : 1 + need * given.batch]
    return (
        model,
        optimiser,
        torch.tensor(np.ascontiguousarray(stream.reshape(given.batch, -1).T)).long(),
    )


def _better_threads(given: argparse.Namespace, *training: Any) -> int:
    """One thread or all: the faster, by one turn each after a warm-up."""
    found = {}
    for threads in (1, torch.get_num_threads()):
        torch.set_num_threads(threads)
        lm_pytorch.steps(*training, given.window, 2)
        begin = time.perf_counter()
        lm_pytorch.steps(*training, given.window, given.steps)
        found[threads] = time.perf_counter() - begin
    return min(found, key=lambda threads: found[threads])


if __name__ == "__main__":
    main()
