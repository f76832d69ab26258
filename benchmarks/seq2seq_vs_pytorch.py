"""How many pairs a second does a population of sequence-to-sequence models train on, and decode?

The same model in both, on grapheme-to-phoneme pairs: eight members of jaxeval at once against
PyTorch as `peers` describes it: one process of one thread a core, side by side, and one process at
its better number of threads. Before anything is timed, a member that has trained a little is
copied into PyTorch: the loss, its gradient and what is written for dev must agree. In every round
a turn of each; a ratio is the median over rounds of (seconds per member of PyTorch) / (those of
jaxeval), wall time over members in flight, compilation apart. The harder peer is named first.

PyTorch's batches are cut to their longest row, and come in two kinds: bucketed, of like lengths as
ours, and shuffled over all lengths. The transformer decodes uncached (nn.Transformer's own way,
the whole decoder over all that was written at every step) and with a cache that we wrote for it.

    pip install torch==2.13.0
    python benchmarks/seq2seq_vs_pytorch.py --data FOLDER --architecture transformer
    python benchmarks/seq2seq_vs_pytorch.py --data FOLDER --architecture attentive_lstm
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import jax
import numpy as np
import peers
import processes
import seq2seq_agreement
import seq2seq_member
import seq2seq_pytorch
import seq2seq_turns
import seq2seq_weights
import torch

from jaxeval import studies
from jaxeval.population import host, lanes

DROPOUT, SMOOTHING, RATE = 0.2, 0.1, 0.001
SIZES = {
    "attentive_lstm": {"embedding": 128, "hidden": 512},
    "transformer": {
        "embedding": 256,
        "hidden": 1024,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "heads": 4,
    },
}
BATCHES = ("bucketed", "shuffled")
MODES = {"attentive_lstm": ("stepwise",), "transformer": ("cached", "uncached")}


def main() -> None:
    """Measures and prints."""
    args = parser().parse_args()
    prepared = prepare(args)
    population, compile_seconds = _population(prepared, args)
    params = _warm(population, args)
    model = model_of(prepared, args.architecture, params)
    agreement = _agreement(prepared, params, model)
    decoding = seq2seq_turns.Decoding(prepared, population, args)
    training = seq2seq_turns.Training(prepared, population, args)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payload"
        seq2seq_turns.write(prepared, training, decoding, args, model, path)
        file, cores = Path(seq2seq_member.__file__), jax.device_count()
        with processes.start(file, path, cores) as group:
            modes = [f"decoding {mode}" for mode in MODES[args.architecture]]
            kinds = {
                "training": _measured(training.ours, ["training"], training.items, group, args),
                "decoding": _measured(decoding.ours, modes, len(decoding.rows), group, args),
            }
    common.report(
        benchmark="seq2seq_vs_pytorch",
        **kinds,
        **{k: getattr(args, k) for k in ("architecture", "language", "symbols", "batch")},
        evaluation_batch=args.evaluation_batch,
        members=args.members,
        parameters=common.parameters(prepared),
        items=training.items,
        decoded=len(decoding.rows),
        agreement=agreement,
        dev_accuracy=decoding.accuracy,
        torch=torch.__version__,
        compile_seconds=round(compile_seconds, 1),
    )


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of LANGUAGE_train.tsv and so on")
    parser.add_argument("--architecture", choices=tuple(SIZES), default="transformer")
    parser.add_argument("--language", default="geo")
    parser.add_argument(
        "--symbols", choices=("words", "characters"), default="words", help="phones"
    )
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--evaluation-batch", type=int, default=64)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--items", type=int, default=1024, help="train pairs of a timed turn")
    parser.add_argument("--warm", type=int, default=8192, help="train pairs before the comparison")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    parser.add_argument("--batches", nargs="+", choices=BATCHES, default=BATCHES, help="PyTorch's")
    return parser


def prepare(args: argparse.Namespace) -> studies.Prepared:
    """The measured studies."""
    changes = [
        "task=seq2seq",
        *(f"data.{part}={args.language}_{part}.tsv" for part in ("train", "dev", "test")),
        f"data.target_symbols={args.symbols}",
        f"data.tied={'false' if args.symbols == 'words' else 'true'}",
        f"model.architecture={args.architecture}",
        *(f"model.{name}={size}" for name, size in SIZES[args.architecture].items()),
        f"model.dropout={DROPOUT}",
        f"model.label_smoothing={SMOOTHING}",
        f"training.batch_size={args.batch}",
        f"training.evaluation_batch_size={args.evaluation_batch}",
        "training.optimiser.name=adam",
        f"training.optimiser.hyperparameters={{learning_rate={RATE}}}",
        "training.optimiser.clip=none",
    ]
    return studies.prepare(studies.read(None, changes, args.data))


def _population(
    prepared: studies.Prepared, args: argparse.Namespace
) -> tuple[host.Population, float]:
    """The members, whose epochs are cut to the steps of a turn, and the seconds of compiling."""
    chosen = common.members_of(prepared, args.members)
    population = host.Population(prepared.problem, chosen, args.members)
    cut_epochs(population, max(1, args.items // args.batch))
    seconds = common.compile_seconds(population)
    population.arrange()
    return population, seconds


def cut_epochs(population: host.Population, count: int) -> None:
    """Cuts the epochs of a population to their first steps."""
    shared = population.engine.shared
    steps = jax.tree.map(np.asarray, shared.steps)
    cut = steps._replace(bucket=steps.bucket[:count], batch=steps.batch[:count])
    steps = cut._replace(count=np.int32(len(cut.bucket)))
    shared = shared._replace(steps=lanes.replicate(steps, population.engine.mesh))
    population.engine = population.engine._replace(shared=shared)


def _warm(population: host.Population, args: argparse.Namespace) -> Any:
    """Trains the first member, gives the others its parameters; returns them."""
    alone = population.flags([number == 0 for number in range(len(population.slots))])
    for _ in range(args.warm // args.items):
        population.state, _ = population.engine.epoch(
            population.engine.shared, population.state, population.lanes, alone
        )

    def spread(leaf: np.ndarray) -> np.ndarray:
        return np.repeat(leaf[:1], len(leaf), axis=0)

    state = jax.tree.map(spread, jax.device_get(population.state))
    population.state = lanes.shard(state, population.engine.mesh)
    return jax.tree.map(lambda leaf: leaf[0], state.params)


def model_of(prepared: studies.Prepared, architecture: str, params: Any) -> dict[str, Any]:
    """PyTorch's model with the parameters of ours, as `seq2seq_member` takes it."""
    words = prepared.data.vocabularies
    sizes = {**SIZES[architecture], "dropout": DROPOUT}
    sizes |= {"source": len(words.source_names), "target": len(words.target_names)}
    return {
        "architecture": architecture,
        "sizes": sizes,
        "weights": seq2seq_weights.named(params),
        "rate": RATE,
        "smoothing": SMOOTHING,
    }


def _agreement(prepared: studies.Prepared, params: Any, model: dict) -> dict[str, float]:
    theirs = seq2seq_pytorch.build(model["architecture"], model["sizes"])
    theirs.load_state_dict(model["weights"])
    return seq2seq_agreement.check(prepared, params, theirs, SMOOTHING)


def _measured(
    ours: Callable[[], float],
    ways: list[str],
    items: int,
    group: processes.Group,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Pairs a second and ratios of each way and each kind of PyTorch's batches."""
    offered: dict[str, Any] = {}
    for way in ways:
        for batches in args.batches:
            mode = way.partition(" ")[2]
            suffix = "_".join(["", mode, batches] if mode else ["", batches])
            offered |= peers.choices([f"{way} {batches}"], jax.device_count(), suffix)
    rounds = peers.measure(ours, group, offered, args.pairs)
    peers.announce(f"{args.architecture}, {ways[0].partition(' ')[0]}", rounds)
    return peers.summary(rounds, "items_per_second", lambda seconds: items / seconds)


if __name__ == "__main__":
    main()
