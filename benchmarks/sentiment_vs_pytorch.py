"""How much faster is a population of sentiment classifiers than PyTorch on the same cores?

ATAE-LSTM or IAN as FIESTA ran them (Moss et al. 2019; `configs/moss2019`): 300 dimensions, 300
hidden units, two tables of trained word vectors, dropout, Adam. Eight members of jaxeval at once
against PyTorch as `peers` describes it: one process of one thread a core, side by side, and one
process at its better number of threads; sequences padded or packed, whichever is faster. Batches
are of texts of like lengths in both, PyTorch's cut to their longest. Before anything is timed the
loss and the gradients of a batch must agree, of the same weights. In every round the same number
of steps of each in turn; a ratio is the median over rounds of (seconds per member of PyTorch) /
(those of jaxeval), wall time over members in flight, training only, compilation apart. The harder
peer is named first.

    pip install torch==2.13.0
    python benchmarks/sentiment_vs_pytorch.py --model atae --batch 32 --data train.xml

Without --data 6,000 texts are drawn whose sizes are MAMS-ATSA's: the logarithm of the words of a
text N(3.25, .41), 5 to 72 of them; a target of Geometric(.77) words, at most 10, anywhere; words
from 8,000 by Zipf's law.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import jax
import numpy as np
import peers
import processes
import sentiment_agreement
import sentiment_pytorch
import torch

from jaxeval import studies
from jaxeval.contracts import Member
from jaxeval.population import host, lanes
from jaxeval.population.member import Problem

WORDS, TEXTS = 8000, 6000  # of what is drawn
Batches = list[dict[str, np.ndarray]]  # rows of a bucket each


def main() -> None:
    """Measures and prints."""
    arguments = _parser().parse_args()
    prepared = _prepare(arguments)
    count = max(1, arguments.rows // arguments.batch)
    population, compile_seconds = population_of(prepared, arguments.members, count)
    cores = jax.device_count()
    batches = [batches_of(prepared, population, seed) for seed in range(cores)]
    params = params_of(population, cores)
    differences = agreement(prepared, params[0], batches[0][0])
    content = payload(prepared, params, batches)
    file, ways = sentiment_pytorch.__file__, sentiment_pytorch.WAYS
    rounds = measure(population, content, file, ways, arguments.pairs)
    lengths = np.concatenate([batch["length"] for batch in batches[0]])
    peers.announce(f"{arguments.model}, batch {arguments.batch}", rounds)
    common.report(
        benchmark="sentiment_vs_pytorch",
        model=arguments.model,
        data="/".join(Path(arguments.data).parts[-2:]) if arguments.data else "drawn",
        **peers.summary(rounds, "rows_per_second", lambda seconds: len(lengths) / seconds),
        batch=arguments.batch,
        rows=len(lengths),
        mean_length=round(float(lengths.mean()), 1),
        members=arguments.members,
        parameters=common.parameters(prepared),
        vocabulary=prepared.data.table.vocabulary,
        agreement=differences,
        torch=torch.__version__,
        compile_seconds=round(compile_seconds, 1),
    )


def params_of(population: host.Population, count: int) -> list[Any]:
    """Those with which the first members begin."""
    params = jax.device_get(population.state.params)
    return [jax.tree.map(lambda leaf, n=n: leaf[n], params) for n in range(count)]


def measure(
    population: host.Population,
    content: dict[str, Any],
    file: str,
    ways: Sequence[str],
    pairs: int,
) -> peers.Rounds:
    """A turn is an epoch of a member.

    Args:
      content: what the processes of PyTorch read.
      file: that defines their member.
      ways: of its turns.
    """
    cores = jax.device_count()
    members = sum(slot.active for slot in population.slots)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payload"
        torch.save(content, path)
        with processes.start(Path(file), path, cores) as group:
            return peers.measure(
                lambda: common.epoch_seconds(population) / members,
                group,
                peers.choices(ways, cores),
                pairs,
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="file or folder of texts with targets; absent: drawn")
    parser.add_argument("--model", choices=tuple(sentiment_pytorch.MODELS), default="atae")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--rows", type=int, default=2048, help="of a timed turn")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    return parser


def _prepare(arguments: argparse.Namespace) -> studies.Prepared:
    if arguments.data is not None:
        return prepare(arguments.model, arguments.data, [f"training.batch_size={arguments.batch}"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.raw"
        file.write_text("".join(_texts(TEXTS)), encoding="utf-8")
        return prepare(arguments.model, str(file), [f"training.batch_size={arguments.batch}"])


def prepare(model: str, data: str | None, changes: list[str]) -> studies.Prepared:
    """The shipped config of a model, its word vectors drawn.

    The vocabulary is train's: members of one split, none of whose batches holds padding rows.
    """
    changes = ["data.dimension=300", "data.vocabulary=train", *changes]
    return studies.prepare(studies.read(f"moss2019/{model}", changes, data))


def _texts(count: int) -> Iterator[str]:
    """Blocks of three lines: a text with a hole, its target, a label."""
    generator = np.random.default_rng(1)
    odds = 1.0 / np.arange(1, WORDS + 1)
    for _ in range(count):
        length = int(np.clip(np.round(np.exp(generator.normal(3.25, 0.41))), 5, 72))
        size = min(generator.geometric(0.77), 10, length)
        start = generator.integers(length - size + 1)
        drawn = generator.choice(WORDS, length, p=odds / odds.sum())
        words = [f"w{number}" for number in drawn]
        text = [*words[:start], "$T$", *words[start + size :]]
        target = " ".join(words[start : start + size])
        yield f"{' '.join(text)}\n{target}\n{generator.integers(-1, 2)}\n"


def population_of(
    prepared: studies.Prepared, members: int, count: int
) -> tuple[host.Population, float]:
    """Members whose epochs are cut to `count` steps, and the seconds of compiling."""
    return cut_population(prepared.problem, common.members_of(prepared, members), count)


def cut_population(
    problem: Problem, members: Sequence[Member], count: int
) -> tuple[host.Population, float]:
    """The same of any problem."""
    population = host.Population(problem, members, len(members))
    shared = population.engine.shared
    steps = jax.device_get(shared.steps)
    bucket, batch = steps.bucket[:count], steps.batch[:count]
    cut = steps._replace(bucket=bucket, batch=batch, count=np.int32(len(bucket)))
    shared = shared._replace(steps=lanes.replicate(cut, population.engine.mesh))
    population.engine = population.engine._replace(shared=shared)
    seconds = common.compile_seconds(population)
    population.arrange()
    return population, seconds


def batches_of(prepared: studies.Prepared, population: host.Population, seed: int) -> Batches:
    """Batches of the same buckets as ours, in the same order, filled by another draw."""
    generator = np.random.default_rng(seed)
    size = prepared.config.training.batch_size
    buckets = prepared.data.corpus.buckets
    train = prepared.data.split(0).train
    orders = [(b, generator.permutation(rows)) for b, rows in zip(buckets, train, strict=True)]
    filled = [(bucket, order) for bucket, order in orders if len(order)]
    steps = jax.device_get(population.engine.shared.steps)
    chosen = []
    for number, batch in zip(steps.bucket, steps.batch, strict=True):
        bucket, order = filled[number]
        rows = order[batch * size : (batch + 1) * size]
        chosen.append({name: column[rows] for name, column in bucket.items()})
    return chosen


def model_of(prepared: studies.Prepared) -> dict[str, Any]:
    """What PyTorch's model and optimiser are, as `sentiment_pytorch.Member` takes it."""
    config, data = prepared.config, prepared.data
    sizes = sentiment_pytorch.Sizes(
        data.table.vocabulary,
        data.settings.dimension,
        config.model.hidden,
        len(data.labels),
        config.model.dropout.output,  # that of all sites
    )
    rate = config.training.optimiser.hyperparameters["learning_rate"]
    return {"kind": config.model.architecture, "sizes": tuple(sizes), "rate": rate}


def agreement(
    prepared: studies.Prepared, params: Any, columns: dict[str, np.ndarray]
) -> dict[str, float]:
    """How far PyTorch's loss and gradients of a batch are from ours; see its `check`."""
    model = model_of(prepared)
    sizes = sentiment_pytorch.Sizes(*model["sizes"])
    theirs = sentiment_pytorch.MODELS[model["kind"]](sizes)
    theirs.load_state_dict(sentiment_agreement.named(params))
    return sentiment_agreement.check(prepared, params, theirs, columns)._asdict()


def payload(
    prepared: studies.Prepared, params: list[Any], batches: list[Batches]
) -> dict[str, Any]:
    """What the processes of PyTorch read."""
    row = prepared.data.corpus.shared["row"]
    return {
        **model_of(prepared),
        "weights": [sentiment_agreement.named(member) for member in params],
        "batches": [
            [tuple(sentiment_pytorch.prepare(batch, row)) for batch in rows] for rows in batches
        ],
    }


if __name__ == "__main__":
    main()
