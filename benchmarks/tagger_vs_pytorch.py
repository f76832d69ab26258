"""How much faster is a population of taggers than PyTorch on the same cores?

The same model on the same batches of real sentences: eight members of jaxeval at once against
PyTorch as `peers` describes it: one process of one thread a core, side by side, and one process at
its better number of threads; sequences padded or packed, whichever is faster. In every round an
epoch of each in turn; a ratio is the median over rounds of (seconds per seed and epoch of
PyTorch) / (those of jaxeval), wall time over members in flight, training only, compilation apart.
The harder peer is named first.

    pip install torch==2.13.0
    python benchmarks/tagger_vs_pytorch.py --data FOLDER --batch 32
"""

import tempfile
from pathlib import Path

import common
import jax
import numpy as np
import peers
import processes
import tagger_pytorch
import torch

from jaxeval.data import words

MEMBERS = 8


def main() -> None:
    """Measures and prints."""
    arguments = common.parser(__doc__)
    arguments.add_argument("--pairs", type=int, default=5, help="rounds")
    args = arguments.parse_args()
    prepared = common.prepare(args.data, args.batch, args.sentences)
    population, compile_seconds = common.population(prepared, MEMBERS)
    cores = jax.device_count()
    file = Path(tagger_pytorch.__file__)
    with tempfile.TemporaryDirectory() as folder:
        payload = write(prepared, args.batch, cores, Path(folder) / "payload")
        with processes.start(file, payload, cores) as group:
            rounds = peers.measure(
                lambda: common.epoch_seconds(population) / MEMBERS,
                group,
                peers.choices(tagger_pytorch.WAYS, cores),
                args.pairs,
            )
    peers.announce(f"tagger, batch {args.batch}", rounds)
    common.report(
        benchmark="tagger_vs_pytorch",
        **peers.summary(rounds, "seconds_per_seed_epoch"),
        batch=args.batch,
        sentences=sum(map(len, prepared.data.split(0).train)),
        members=MEMBERS,
        torch=torch.__version__,
        compile_seconds=round(compile_seconds, 1),
    )


def write(prepared: common.studies.Prepared, size: int, count: int, path: Path) -> Path:
    """What the processes of PyTorch read."""
    tagged = prepared.data
    content = {
        "batches": [batches(prepared, size, seed) for seed in range(count)],
        "vectors": torch.tensor(np.asarray(tagged.corpus.shared["vectors"])),
        "alphabet": len(tagged.saved["characters"]) + words.UNKNOWN + 1,
        "labels": len(tagged.labels),
    }
    torch.save(content, path)
    return path


def batches(prepared: common.studies.Prepared, size: int, seed: int) -> list[dict]:
    """One epoch's batches as jaxeval forms them: within a bucket, shuffled, in mixed order."""
    generator = np.random.default_rng(seed)
    chosen = []
    split = prepared.data.split(0)
    for bucket, rows in zip(prepared.data.corpus.buckets, split.train, strict=True):
        order = generator.permutation(rows)
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            chosen.append({name: column[numbers] for name, column in bucket.items()})
    generator.shuffle(chosen)
    return tagger_pytorch.prepare(chosen, prepared.data.corpus.shared)


if __name__ == "__main__":
    main()
