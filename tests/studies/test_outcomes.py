"""What members get right or wrong, item by item: its sums, its order, what lacks it."""

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import observe, runs, studies, tasks
from jaxeval.data import buckets
from jaxeval.population import epoch as epochs
from jaxeval.population import member
from jaxeval.runs import records
from jaxeval.studies import prepared, saved
from tests.golden import corpora
from tests.population import toy
from tests.studies import toy_kind
from tests.verbs import train

PARTS = ("dev", "test")
_TRAINED = "training.epochs=2 training.lanes=1 training.batch_size=16"
WORDS = {  # task: what it is trained with, the count that says how large an item is
    "tagging": (
        "data.dimension=6 data.max_widths=2 model.encoder=window model.characters.encoder=none "
        "model.classifier=softmax model.dropout.kind=naive training.evaluation_batch_size=7",
        "words",
    ),
    "language": (
        "data.dev=*dev* data.window=6 data.steps_per_epoch=8 model.hidden=7 training.batch_size=3 "
        "training.evaluation_batch_size=10",
        "tokens",
    ),
}
FOLDERS = {"tagging": "tags", "language": "text"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny corpora of every task."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    corpora.write(folder)
    return folder


def _moved(
    problem: member.Problem, shared: member.Shared, state: member.MemberState, lane: member.Lane
) -> tuple[member.MemberState, jax.Array]:
    """An epoch that only moves the parameters: what members get right differs, however bad."""
    del problem, shared
    params = jax.tree.map(lambda leaf: leaf + jnp.sin(9 * leaf + lane.seed), state.params)
    return state._replace(params=params, epoch=state.epoch + 1), jnp.float32(0)


def _outcomes(folder: Path, part: str) -> list[records.Outcomes]:
    (experiment,) = {row.experiment for row in runs.load(folder)}
    with runs.open_store(folder) as store:
        return store.outcomes(experiment, part)


def _sums(outcomes: records.Outcomes) -> dict[str, float]:
    return dict(zip(outcomes.names, outcomes.counts.sum(0, dtype=np.float64), strict=True))


def _sizes(task: str, file: Path) -> list[int]:
    """How large the items of a file are, in its order."""
    text = file.read_text()
    if task == "tagging":
        return [len(sentence.splitlines()) for sentence in text.strip().split("\n\n")]
    tokens = sum(len(line.split()) + 1 for line in text.splitlines())
    ends = np.arange(11) * tokens // 10  # ten readers, some of which read a window more
    return [min(6, last - at) for at, last in _windows(ends.tolist())]


def _windows(ends: list[int]) -> list[tuple[int, int]]:
    """Where windows of six tokens begin, and their stretches end."""
    stretches = itertools.pairwise(ends)
    return [(at, last) for first, last in stretches for at in range(first, last, 6)]


@pytest.mark.parametrize("task", WORDS)
def test_outcomes_sum_to_the_scores_in_the_order_of_the_file(
    task: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if an item's count is another's or a batch's, if buckets are not put together again, or
    if padding counts as an item."""
    monkeypatch.setattr(epochs, "train_epoch", _moved)  # compiled in no time
    monkeypatch.setattr(
        buckets,
        "choose_shapes",
        lambda lengths, targets, *rest: [
            buckets.Shape(width, max(targets))
            for width in sorted({min(lengths) + 2, max(lengths)})
        ],
    )
    words, size = WORDS[task]
    changes = [f"task={task}", *_TRAINED.split(), *words.split()]
    path = str(data / FOLDERS[task])
    flags = ["--seeds", "1,2", "--outputs", "--out", str(tmp_path)]
    assert train([*changes, "--data", path, *flags]) == 0
    learned = prepared.prepare(studies.read(None, changes, path)).task
    recorded = {row.seed: row for row in runs.load(tmp_path)}
    for part in PARTS:
        each = _outcomes(tmp_path, part)
        assert [outcomes.seed for outcomes in each] == [1, 2]
        for outcomes in each:
            sizes = outcomes.counts[:, outcomes.names.index(size)]
            assert sizes.tolist() == _sizes(task, data / FOLDERS[task] / f"{part}.txt")
            score = learned.score(_sums(outcomes))[learned.metric.name]
            # nats are no whole numbers: their float32 sums depend on the order
            near = 1e-6 if task == "language" else 0.0
            assert score == pytest.approx(
                getattr(recorded[outcomes.seed], part), rel=near, abs=0.0
            )


def test_rows_stand_where_the_source_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if places are those of another bucket, or a lane's rows another member's: the toy's
    first bucket is written from its last row to its first, behind the second."""
    monkeypatch.setitem(tasks.KINDS, "toy", toy_kind.kind(2))
    trials = toy_kind.trials((1, 2, 3), save_models=True, lane_mode="vmap", lanes=4)
    rows = observe.train(trials, tmp_path, outputs=True)
    assert rows == observe.train(trials, tmp_path, outputs=True)
    models = saved.load(toy_kind.cohort(trials), tmp_path)
    split, corpus, places = toy.split(2, 0), toy.corpus(2), toy.places()
    for number, (params, outcomes) in enumerate(
        zip(models.params, _outcomes(tmp_path, "test"), strict=True)
    ):
        right = {}
        for bucket, chosen in enumerate(split.test):
            columns = corpus.buckets[bucket]
            logits = np.tanh(np.asarray(params["table"])[columns["x"][chosen]].mean(axis=1))
            labels = (logits @ np.asarray(params["out"])).argmax(1)
            hits = labels == columns["y"][chosen]
            right |= dict(zip(places[bucket][chosen].tolist(), hits.tolist(), strict=True))
        counted = outcomes.counts[:, outcomes.names.index("right")]
        assert counted.tolist() == [right[position] for position in sorted(right)]
        assert _sums(outcomes)["right"] / len(counted) == rows[number].test
