"""How many pairs a second does a population of sequence-to-sequence models train on, and decode?

The same model in both, on grapheme-to-phoneme pairs: eight members of jaxeval at once against one
PyTorch model after another at its better thread count. Before anything is timed, a member that has
trained a little is copied into PyTorch: the loss, its gradient and what is written for dev must
agree. Then pairs, a turn of each in turn; a ratio is the median over pairs of (pairs a second of
all members) / (pairs a second of PyTorch), compilation apart. PyTorch's batches are cut to their
longest row and, in training, shuffled over all lengths; it decodes uncached (the whole decoder
over all that was written, at every step) and, for the transformer, with a cache of our own.

    pip install torch==2.13.0
    python benchmarks/seq2seq_vs_pytorch.py --data FOLDER --architecture transformer
    python benchmarks/seq2seq_vs_pytorch.py --data FOLDER --architecture attentive_lstm
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import common
import jax
import numpy as np
import seq2seq_agreement
import seq2seq_pytorch
import seq2seq_turns
import seq2seq_weights
import torch

from jaxeval import experiment
from jaxeval.population import lanes, loop

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
THREADS = (1, 2)


def main() -> None:
    """Measures and prints."""
    given = _parser().parse_args()
    prepared = _prepare(given)
    made, compile_seconds = _population(prepared, given)
    params = _warm(made, given)
    theirs = _model(prepared, given.architecture)
    theirs.load_state_dict(seq2seq_weights.named(params))
    agreement = seq2seq_agreement.check(prepared, params, theirs, SMOOTHING)
    decoding = seq2seq_turns.Decoding(prepared, made, theirs, given)
    training = seq2seq_turns.Training(prepared, made, theirs, given, RATE, SMOOTHING)
    kinds = {"training": _measured(training.ours, {"": training.theirs}, given)}
    modes = {"uncached": lambda: decoding.theirs(False), "cached": lambda: decoding.theirs(True)}
    if given.architecture == "attentive_lstm":  # has nothing to cache
        modes = {"stepwise": modes["uncached"]}
    kinds["decoding"] = _measured(decoding.ours, modes, given)
    common.report(
        benchmark="seq2seq_vs_pytorch",
        **{k: getattr(given, k) for k in ("architecture", "language", "symbols", "batch")},
        evaluation_batch=given.evaluation_batch,
        members=given.members,
        parameters=experiment.parameters(prepared),
        batches=given.batches,
        items=training.items,
        decoded=decoding.items,
        agreement=agreement,
        dev_accuracy=decoding.accuracy,
        **kinds,
        torch=torch.__version__,
        compile_seconds=round(compile_seconds, 1),
    )


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data", required=True, help="folder of LANGUAGE_train.tsv and so on")
    made.add_argument("--architecture", choices=tuple(SIZES), default="transformer")
    made.add_argument("--language", default="geo")
    made.add_argument("--symbols", choices=("words", "characters"), default="words", help="phones")
    made.add_argument("--batch", type=int, default=32)
    made.add_argument("--evaluation-batch", type=int, default=64)
    made.add_argument("--members", type=int, default=8)
    made.add_argument("--items", type=int, default=1024, help="train pairs of a timed turn")
    made.add_argument("--decoded", type=int, default=1000, help="dev pairs of a timed turn")
    made.add_argument("--warm", type=int, default=8192, help="train pairs before the comparison")
    made.add_argument("--pairs", type=int, default=5)
    made.add_argument(
        "--batches",
        choices=("shuffled", "bucketed"),
        default="shuffled",
        help="PyTorch's, over all lengths or as ours",
    )
    return made


def _prepare(given: argparse.Namespace) -> experiment.Prepared:
    changes = [
        "task=seq2seq",
        *(f"data.{part}={given.language}_{part}.tsv" for part in ("train", "dev", "test")),
        f"data.target_symbols={given.symbols}",
        f"data.tied={'false' if given.symbols == 'words' else 'true'}",
        f"model.architecture={given.architecture}",
        *(f"model.{name}={size}" for name, size in SIZES[given.architecture].items()),
        f"model.dropout={DROPOUT}",
        f"model.label_smoothing={SMOOTHING}",
        f"training.batch_size={given.batch}",
        f"training.evaluation_batch_size={given.evaluation_batch}",
        "training.optimiser.name=adam",
        f"training.optimiser.hyperparameters={{learning_rate={RATE}}}",
        "training.optimiser.clip=none",
    ]
    return experiment.prepare(experiment.read(None, changes, given.data))


def _population(
    prepared: experiment.Prepared, given: argparse.Namespace
) -> tuple[loop.Population, float]:
    """The members, whose epochs are cut to the steps of a turn, and the seconds of compiling."""
    chosen = experiment.members(prepared.config, range(1, given.members + 1), [0])
    made = loop.Population(prepared.problem, chosen, given.members)
    shared, count = made.engine.shared, max(1, given.items // given.batch)
    steps = jax.tree.map(np.asarray, shared.steps)
    cut = steps._replace(bucket=steps.bucket[:count], slot=steps.slot[:count])
    steps = cut._replace(count=np.int32(len(cut.bucket)))
    shared = shared._replace(steps=lanes.replicate(steps, made.engine.mesh))
    made.engine = made.engine._replace(shared=shared)
    seconds = made.compile()
    made.arrange()
    return made, seconds


def _warm(made: loop.Population, given: argparse.Namespace) -> Any:
    """Trains the first member, gives the others its parameters; returns them."""
    alone = made.flags([number == 0 for number in range(len(made.seats))])
    for _ in range(given.warm // given.items):
        made.state, _ = made.engine.epoch(made.engine.shared, made.state, made.lanes, alone)

    def spread(leaf: np.ndarray) -> np.ndarray:
        return np.repeat(leaf[:1], len(leaf), axis=0)

    state = jax.tree.map(spread, jax.device_get(made.state))
    made.state = lanes.shard(state, made.engine.mesh)
    return jax.tree.map(lambda leaf: leaf[0], state.params)


def _model(prepared: experiment.Prepared, architecture: str) -> torch.nn.Module:
    torch.manual_seed(0)
    words = prepared.data.vocabularies
    sizes = {**SIZES[architecture], "dropout": DROPOUT}
    sizes |= {"source": len(words.source_names), "target": len(words.target)}
    if architecture == "attentive_lstm":
        return seq2seq_pytorch.Lstm(**sizes)
    layers = (sizes.pop("encoder_layers"), sizes.pop("decoder_layers"))
    return seq2seq_pytorch.Transformer(**sizes, layers=layers)


def _measured(
    ours: Callable[[], float],
    theirs: Mapping[str, Callable[[], float]],
    given: argparse.Namespace,
) -> dict[str, Any]:
    """Pairs a second and ratios, PyTorch in each of its ways at its better thread count."""
    ours()
    threads = {name: _better_threads(turn) for name, turn in theirs.items()}
    own, other = [], {name: [] for name in theirs}
    for _ in range(given.pairs):
        own.append(ours())
        for name, turn in theirs.items():
            torch.set_num_threads(threads[name])
            other[name].append(turn())
    found: dict[str, Any] = {"items_per_second": common.quartiles(own)}
    for name, rates in other.items():
        end = f"_{name}" if name else ""
        ratios = [mine / rate for mine, rate in zip(own, rates, strict=True)]
        found[f"ratio{end}"] = common.quartiles(ratios)
        found[f"pytorch_items_per_second{end}"] = common.quartiles(rates)
        found[f"pytorch_threads{end}"] = threads[name]
    return found


def _better_threads(turn: Callable[[], float]) -> int:
    """The one with the best turn of two, taken in turn: a busy machine stalls two threads."""
    turn()
    found = dict.fromkeys(THREADS, 0.0)
    for threads in (*THREADS, *THREADS):
        torch.set_num_threads(threads)
        found[threads] = max(found[threads], turn())
    return max(found, key=lambda threads: found[threads])


if __name__ == "__main__":
    main()
