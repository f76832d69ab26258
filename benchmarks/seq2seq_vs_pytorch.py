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
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import common
import jax
import jax.numpy as jnp
import numpy as np
import seq2seq_pytorch
import torch

from jaxeval import experiment
from jaxeval.contracts import Batch
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
    theirs.load_state_dict(seq2seq_pytorch.named(params))
    agreement = _agree(prepared, params, theirs)
    decoding = _Decoding(prepared, made, theirs, given)
    training = _Training(prepared, made, theirs, given)
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


def _rows(prepared: experiment.Prepared, part: str) -> list[dict[str, np.ndarray]]:
    """The pairs of a part, unpadded, bucket by bucket; `limit` of what is written."""
    found = []
    chosen = getattr(prepared.data.split(0), part)
    for bucket, numbers in zip(prepared.data.corpus.buckets, chosen, strict=True):
        limit = 3 * bucket["target"].shape[1] // 2
        for number in numbers:
            row = {
                name: bucket[name][number][: bucket[f"{name}_length"][number]]
                for name in ("source", "target")
            }
            found.append({**row, "bucket": len(bucket["target"][0]), "limit": limit})
    return found


def _agree(
    prepared: experiment.Prepared, params: Any, theirs: torch.nn.Module
) -> dict[str, float]:
    """Stops unless losses, gradients and outputs are equal; returns by how much they differ."""
    rows, task = _rows(prepared, "dev"), prepared.problem.task
    theirs.eval()
    hparams = {"label_smoothing": jnp.float32(SMOOTHING)}

    def own_loss(params: Any, batch: Batch) -> jax.Array:
        return task.loss(params, (), batch, jax.random.key(0), hparams)[0]

    ours = jax.jit(jax.value_and_grad(own_loss))
    # a ReLU whose input is rounded to either side of 0 alters a gradient by a thousandth: of some
    # batches the nearest gradient counts
    some = [rows[first :: len(rows) // 8][:8] for first in range(4)]  # each of all lengths
    each = [_gradients(theirs, chosen, ours(params, _padded(chosen))) for chosen in some]
    loss, gradient = max(loss for loss, _ in each), min(gradient for _, gradient in each)
    assert loss < 1e-4, f"losses differ by {loss}"
    assert gradient < 1e-4, f"gradients differ by {gradient}"
    predict = jax.jit(lambda p, b: task.predict(p, (), b, jax.random.key(0), {})[0])
    written = np.asarray(predict(params, _padded(rows)))
    same = min(_same(theirs, rows, written, cached) for cached in (False, True))
    assert same >= 0.999, f"{same} of the outputs are the same"
    return {"loss": round(loss, 8), "gradient": round(gradient, 8), "outputs": same}


def _same(
    theirs: torch.nn.Module, rows: Sequence[Mapping[str, Any]], ours: np.ndarray, cached: bool
) -> float:
    """The share of rows for which PyTorch writes the same."""
    found = 0
    chosen = _cut(np.arange(len(rows)), 64)
    for numbers, batch in zip(chosen, seq2seq_pytorch.prepare(rows, chosen), strict=True):
        limit = max(rows[number]["limit"] for number in numbers)
        written = seq2seq_pytorch.greedy(theirs, batch, limit, cached).numpy()
        behind = ((0, 0), (0, limit - written.shape[1]))
        written = np.pad(written, behind, constant_values=seq2seq_pytorch.END)
        found += int((ours[numbers, :limit] == written).all(axis=1).sum())
    return found / len(rows)


def _gradients(
    theirs: torch.nn.Module, rows: Sequence[Mapping[str, Any]], ours: tuple
) -> tuple[float, float]:
    """Differences of the losses and of the gradients.

    That of gradients is the most that one of a weight differs by, in shares of its norm, or of a
    thousandth of the norm of all where it is smaller: some are nothing.
    """
    (batch,) = seq2seq_pytorch.prepare(rows, [np.arange(len(rows))])
    theirs.zero_grad()
    loss = seq2seq_pytorch.loss(theirs, batch, SMOOTHING)
    loss.backward()
    gradients = seq2seq_pytorch.named(jax.tree.map(np.asarray, ours[1]))
    found: dict[str, Any] = {name: p.grad for name, p in theirs.named_parameters()}
    assert found.keys() == gradients.keys(), found.keys() ^ gradients.keys()
    least = torch.cat([g.flatten() for g in gradients.values()]).norm() / 1000
    most = max(
        float((gradients[name] - g).norm() / max(gradients[name].norm(), least))
        for name, g in found.items()
    )
    return abs(loss.item() - float(ours[0])), most


def _padded(rows: Sequence[Mapping[str, Any]]) -> Batch:
    """Rows as one batch of jaxeval, as wide as the widest bucket of them."""
    columns: dict[str, Any] = {}
    for name in ("source", "target"):
        width = max(max(len(row[name]), row["bucket"]) for row in rows)
        columns[name] = np.zeros((len(rows), width), np.int32)
        for place, row in enumerate(rows):
            columns[name][place, : len(row[name])] = row[name]
        columns[f"{name}_length"] = np.array([len(row[name]) for row in rows], np.int32)
    return Batch(jax.tree.map(jnp.asarray, columns), jnp.ones(len(rows)), {}, {})


class _Training:
    """Turns of training."""

    def __init__(
        self,
        prepared: experiment.Prepared,
        made: loop.Population,
        model: torch.nn.Module,
        given: argparse.Namespace,
    ):
        self.made, self.model, self.given = made, model, given
        self.rows = _rows(prepared, "train")
        self.sizes = [len(rows) for rows in prepared.data.split(0).train]
        self.optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
        self.generator = np.random.default_rng(0)
        steps, batch = jax.device_get(made.engine.shared.steps), given.batch
        self.steps = list(zip(steps.bucket.tolist(), steps.slot.tolist(), strict=True))
        self.items = sum(min(batch, self.sizes[b] - batch * s) for b, s in self.steps)

    def ours(self) -> float:
        """Pairs a second of all members."""
        return self.given.members * self.items / common.epoch_seconds(self.made)

    def theirs(self) -> float:
        """Pairs a second of one model; making the batches is not timed."""
        if self.given.batches == "shuffled":
            order = self.generator.permutation(len(self.rows))[: self.items]
            chosen = _cut(order, self.given.batch)
        else:
            chosen = self._bucketed()
        batches = seq2seq_pytorch.prepare(self.rows, chosen)
        seconds = seq2seq_pytorch.train(self.model, self.optimiser, batches, SMOOTHING)
        return sum(map(len, chosen)) / seconds

    def _bucketed(self) -> list[np.ndarray]:
        firsts = [0, *itertools.accumulate(self.sizes)]
        orders = [
            first + self.generator.permutation(size)
            for first, size in zip(firsts, self.sizes, strict=False)
        ]
        size = self.given.batch
        return [orders[b][s * size : (s + 1) * size] for b, s in self.steps]


class _Decoding:
    """Turns of decoding dev, with the parameters as they are now."""

    def __init__(
        self,
        prepared: experiment.Prepared,
        made: loop.Population,
        model: torch.nn.Module,
        given: argparse.Namespace,
    ):
        self.made, self.given = made, given
        self.params = jax.tree.map(jnp.copy, made.state.params)
        self.model = _model(prepared, given.architecture)
        self.model.load_state_dict(model.state_dict())
        self.model.eval()
        rows = _rows(prepared, "dev")
        every = max(1, len(rows) // given.decoded)
        rows = [row for bucket in _by_bucket(rows) for row in bucket[::every]]
        self.items = len(rows)
        self.parts = [self._thinned(part, every) for part in made.lanes.dev]
        # the corpus is in alphabetical order: batches of any lengths, as the files have them
        order = np.random.default_rng(0).permutation(len(rows))
        chosen = _cut(order, given.evaluation_batch)
        self.limits = [max(rows[number]["limit"] for number in numbers) for numbers in chosen]
        self.batches = seq2seq_pytorch.prepare(rows, chosen)
        self.accuracy: dict[str, float] = {}

    def _thinned(self, part: jax.Array, every: int) -> jax.Array:
        """[S, n] row numbers of a bucket, one in so many of them, -1 behind."""
        host = np.asarray(part)
        chosen = [numbers[numbers >= 0][::every] for numbers in host]
        size = host.shape[1]
        padded = [np.pad(one, (0, size - len(one)), constant_values=-1) for one in chosen]
        return lanes.shard(np.stack(padded), self.made.engine.mesh)

    def ours(self) -> float:
        """Pairs a second of all members."""
        made = self.made
        flags = made.flags([True] * len(made.seats))
        begin = time.perf_counter()
        counts = jax.device_get(
            made.engine.evaluate(
                made.engine.shared, self.params, made.lanes.load, self.parts, flags
            )
        )
        seconds = time.perf_counter() - begin
        assert counts["items"][0] == self.items
        self.accuracy["ours"] = float(counts["right"][0]) / self.items
        return self.given.members * self.items / seconds

    def theirs(self, cached: bool) -> float:
        """Pairs a second of one model."""
        begin = time.perf_counter()
        written = [
            seq2seq_pytorch.greedy(self.model, batch, limit, cached)
            for batch, limit in zip(self.batches, self.limits, strict=True)
        ]
        seconds = time.perf_counter() - begin
        right = sum(
            self._right(own, batch["target"])
            for own, batch in zip(written, self.batches, strict=True)
        )
        self.accuracy["pytorch"] = right / self.items
        return self.items / seconds

    @staticmethod
    def _right(written: torch.Tensor, target: torch.Tensor) -> int:
        gold = target[:, 1:].masked_fill(target[:, 1:] == seq2seq_pytorch.PAD, seq2seq_pytorch.END)
        short = gold.shape[1] - written.shape[1]
        pad = torch.nn.functional.pad(written, (0, max(short, 0)), value=seq2seq_pytorch.END)
        gold = torch.nn.functional.pad(gold, (0, max(-short, 0)), value=seq2seq_pytorch.END)
        return int((pad == gold).all(1).sum())


def _by_bucket(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [list(group) for _, group in itertools.groupby(rows, lambda row: row["bucket"])]


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[first : first + size] for first in range(0, len(order), size)]


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
