"""How much faster is a population than PyTorch, one seed after the other?

The same model on the same batches of real sentences: eight members of jaxeval at once against
PyTorch's best of {one thread, two threads, one thread with packed sequences}, which is chosen in a
first round. Then pairs, one epoch of each in turn; the figure is the median over pairs of
(seconds per seed and epoch of PyTorch) / (those of jaxeval), training only, compilation apart.

    pip install torch==2.13.0
    python benchmarks/tagger_vs_pytorch.py --data FOLDER --batch 32
"""

import common
import numpy as np
import tagger_pytorch
import torch

MEMBERS = 8
CHOICES = ((1, False), (2, False), (1, True))  # threads, packed


def batches(prepared: common.experiment.Prepared, size: int) -> list[dict]:
    """One epoch's batches as jaxeval forms them: within a bucket, shuffled, in mixed order."""
    generator = np.random.default_rng(0)
    found = []
    split = prepared.data.split(0)
    for bucket, rows in zip(prepared.data.corpus.buckets, split.train, strict=True):
        order = generator.permutation(rows)
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            found.append({name: column[chosen] for name, column in bucket.items()})
    generator.shuffle(found)
    return tagger_pytorch.prepare(found, prepared.data.corpus.shared)


def main() -> None:
    """Measures and prints."""
    arguments = common.parser(__doc__)
    arguments.add_argument("--pairs", type=int, default=5)
    given = arguments.parse_args()
    prepared = common.prepare(given.data, given.batch, given.sentences)
    tagged = prepared.data
    ours, compile_seconds = common.population(prepared, MEMBERS)
    common.epoch_seconds(ours)
    data = batches(prepared, given.batch)

    def theirs(threads: int, packed: bool) -> float:
        torch.set_num_threads(threads)
        trainer = tagger_pytorch.Trainer(
            tagged.corpus.shared, tagged.alphabet, len(tagged.labels), packed, seed=1
        )
        return trainer.epoch(data)

    first = {choice: theirs(*choice) for choice in CHOICES}
    best = min(first, key=lambda choice: first[choice])
    pairs = [(common.epoch_seconds(ours) / MEMBERS, theirs(*best)) for _ in range(given.pairs)]
    ratios = [other / own for own, other in pairs]
    common.report(
        benchmark="tagger_vs_pytorch",
        batch=given.batch,
        sentences=sum(map(len, prepared.data.split(0).train)),
        members=MEMBERS,
        torch=torch.__version__,
        torch_threads=best[0],
        torch_packed=best[1],
        ratio=common.quartiles(ratios),
        seconds_per_seed_epoch=common.quartiles([own for own, _ in pairs]),
        torch_seconds_per_seed_epoch=common.quartiles([other for _, other in pairs]),
        compile_seconds=round(compile_seconds, 1),
    )


if __name__ == "__main__":
    main()
