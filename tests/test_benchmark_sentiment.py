"""The sentiment benchmark: PyTorch's ATAE-LSTM and IAN compute what jaxeval's do. Needs torch."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.contracts import Batch
from jaxeval.population import loop
from jaxeval.studies import prepared as preparing

torch = pytest.importorskip("torch")
FOLDER = Path(__file__).parents[1] / "benchmarks"
TINY = (
    "data.source.sentences=30",
    "data.dimension=6",
    "data.max_widths=2",
    "model.hidden=5",
    "training.batch_size=8",
)


class Scripts(NamedTuple):
    """The modules of the benchmark."""

    vs: Any
    pytorch: Any
    agreement: Any


class Case(NamedTuple):
    """A tiny model, its parameters and a batch of train."""

    prepared: preparing.Prepared
    params: Any
    columns: dict[str, np.ndarray]


@pytest.fixture(scope="module")
def scripts() -> Iterator[Scripts]:
    """They import each other by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        names = ("vs_pytorch", "pytorch", "agreement")
        yield Scripts(*(importlib.import_module(f"sentiment_{name}") for name in names))


@pytest.fixture(scope="module", params=["atae", "ian"])
def case(request: pytest.FixtureRequest, scripts: Scripts) -> Case:
    """Hidden units, word vectors and attention differ in size."""
    prepared = scripts.vs.prepare(request.param, None, [*TINY])
    bucket, chosen = prepared.data.corpus.buckets[-1], prepared.data.split(0).train[-1][:8]
    columns = {name: column[chosen] for name, column in bucket.items()}
    batch = Batch(columns, np.ones(8), prepared.data.corpus.shared, prepared.data.split(0).tables)
    batch = jax.tree.map(jnp.asarray, batch)
    hparams = dict(preparing.member_of(prepared).hparams)
    return Case(prepared, prepared.task.init(jax.random.key(3), batch, hparams), columns)


def test_losses_and_gradients_are_equal(scripts: Scripts, case: Case) -> None:
    """Dies if gates are in another order, padding is read, a target is cut short, or the rows of
    the word table are others.
    """
    assert len({*case.columns["length"]}) > 1
    assert len({*(case.columns["end"] - case.columns["start"])[:, 0]}) > 1
    differences = scripts.vs.agreement(*case)
    assert max(differences.values()) < 1e-5


@pytest.mark.parametrize(
    "path", [("embedding", "words"), ("encoder", "text", "lstm", "recurrent")]
)
def test_a_difference_stops_it(
    scripts: Scripts, case: Case, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the check passes whatever it compares."""
    params = jax.tree_util.tree_map_with_path(
        lambda p, leaf: leaf + 0.1 * (tuple(key.key for key in p) == path), case.params
    )
    named = scripts.agreement.named(params)
    monkeypatch.setattr(scripts.vs.sentiment_agreement, "named", _once(named, scripts))
    with pytest.raises(AssertionError, match="ours and PyTorch's differ"):
        scripts.vs.agreement(*case)


def _once(first: Any, scripts: Scripts) -> Any:
    """`named`, which at its first call, that for the weights, gives others."""
    others, named = [first], scripts.agreement.named
    return lambda params: others.pop() if others else named(params)


def test_batches_are_those_of_our_steps(scripts: Scripts, case: Case) -> None:
    """Dies if a step takes rows of another bucket, a row comes twice, or none of train."""
    prepared = case.prepared
    population = loop.Population(prepared.problem, [preparing.member_of(prepared)], 1)
    batches = scripts.vs.batches_of(prepared, population, 0)
    steps = jax.device_get(population.engine.shared.steps)
    assert len(batches) == len(steps.bucket)
    assert [b["forms"].shape[1] for b in batches] == [
        prepared.data.shapes[number].width for number in steps.bucket
    ]
    train = prepared.data.split(0).train
    expected = [
        tuple(bucket["forms"][row, : bucket["length"][row]]) + tuple(bucket["start"][row])
        for bucket, rows in zip(prepared.data.corpus.buckets, train, strict=True)
        for row in rows
    ]
    drawn = [
        tuple(batch["forms"][row, : batch["length"][row]]) + tuple(batch["start"][row])
        for batch in batches
        for row in range(len(batch["forms"]))
    ]
    assert sorted(drawn) == sorted(expected)


def test_a_member_trains(scripts: Scripts, case: Case, tmp_path: Path) -> None:
    """Dies if dropout is off, a mask differs between steps, or a turn does not learn."""
    payload = tmp_path / "payload"
    torch.save(scripts.vs.payload(case.prepared, [case.params], [[case.columns] * 20]), payload)
    member = scripts.pytorch.Member(payload, 0)
    assert member.model.training
    ones = torch.ones(3, 4, 50)
    dropped = scripts.pytorch.variational(member.model.dropout, ones)
    assert {*dropped.unique().tolist()} == {0.0, 2.0}
    assert bool((dropped == dropped[:1]).all())
    losses = [member.turn(way, 1)() for way in ("padded", "packed") for _ in range(10)]
    assert losses[-1] < losses[0] - 0.05
