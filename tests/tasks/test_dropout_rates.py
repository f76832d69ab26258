"""Every dropout rate of every model does something: the loss of training is another with it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.config import reading
from jaxeval.population import member, schedule
from jaxeval.studies import prepared as preparing
from jaxeval.tasks import registry

ROWS = 6


class Model(NamedTuple):
    """A model with the sites that its dropout has: keys below `model`."""

    task: str
    changes: str
    rates: str


def _sentiment(architecture: str, sites: str) -> Model:
    rates = " ".join(f"dropout.{site}" for site in sites.split())
    return Model("sentiment", f"model.architecture={architecture} model.hidden=4", rates)


MODELS = {
    "bilstm": Model(
        "tagging",
        "model.layers=[4,4]",
        "dropout.input dropout.output dropout.layer_input dropout.state dropout.characters",
    ),
    "bilstm, naive": Model(
        "tagging",
        "model.layers=[4] model.dropout.kind=naive model.characters.encoder=lstm",
        "dropout.input dropout.output dropout.characters",
    ),
    "window of words": Model(
        "tagging",
        "model.encoder=window model.window.hidden=4",
        "dropout.input dropout.output dropout.characters",
    ),
    "lstm": Model(
        "language",
        "model.hidden=6 model.embedding=4 model.layers=2",
        "dropout.input dropout.inter_layer dropout.state dropout.update dropout.output "
        "dropout.projected",
    ),
    "rhn": Model(
        "language",
        "model.kind=rhn model.hidden=6 model.embedding=4 model.depth=2",
        "dropout.input dropout.state dropout.update dropout.output dropout.projected",
    ),
    "nas": Model(
        "language",
        "model.kind=nas model.hidden=6 model.embedding=4 model.layers=2",
        "dropout.input dropout.inter_layer dropout.state dropout.output dropout.projected",
    ),
    **{name: _sentiment(name, "input output") for name in ("bag", "cnn", "tdlstm", "tclstm")},
    "lstm of texts": _sentiment("lstm", "input output"),
    "atae": _sentiment("atae", "input hidden attention_input attention output"),
    "ian": _sentiment("ian", "input hidden output"),
    "pairs": Model("pairs", "model.hidden=4 model.layer=4", "dropout.input dropout.output"),
    "attentive_lstm": Model("seq2seq", "model.embedding=8 model.hidden=8", "dropout"),
    "transformer": Model(
        "seq2seq", "model.architecture=transformer model.embedding=8 model.hidden=8", "dropout"
    ),
}
PARTS = ("train", "valid", "test")
DATA = {
    "tagging": "data.max_widths=1 data.dimension=4 data.train_sentences=20",
    "language": "data.window=5 data.steps_per_epoch=3 training.batch_size=6",
    "sentiment": "data.max_widths=1 data.dimension=4 data.source.sentences=20",
    "pairs": "data.max_widths=1 data.dimension=4",
    "seq2seq": "data.train=train.txt data.dev=valid.txt data.test=test.txt data.target_column=2",
}


def _numbers(cls: type, prefix: str = "") -> Iterator[str]:
    for key, field in reading.fields_of(cls).items():
        inner = reading.nested(field.annotation)
        if inner is not None:
            yield from _numbers(inner, f"{prefix}{key}.")
        elif "float" in str(field.annotation):
            yield prefix + key


@pytest.mark.parametrize("task", registry.KINDS)
def test_no_rate_is_forgotten(task: str) -> None:
    """Dies if a rate is added that no model of MODELS is asked for."""
    rates = {
        key for key in _numbers(registry.kind(task).Config) if key.startswith("model.dropout")
    }
    asked = {f"model.{r}" for m in MODELS.values() if m.task == task for r in m.rates.split()}
    assert rates == asked


def _prepared(model: Model, folder: Path) -> studies.Prepared:
    changes = [f"task={model.task}", *DATA[model.task].split(), *model.changes.split()]
    if model.task in ("language", "seq2seq"):
        for number, part in enumerate(PARTS):
            line = (
                f"cat {number} sat on the mat ." if model.task == "language" else f"{number}\txyz"
            )
            (folder / f"{part}.txt").write_text(f"{line}\n" * 30)
        changes.append(f"data.path={folder}")
    rates = [f"model.{rate}=0.3" for rate in model.rates.split()]
    return studies.prepare(studies.read(None, [*changes, *rates]))


@pytest.mark.parametrize("name", MODELS)
def test_every_rate_changes_the_loss(name: str, tmp_path: Path) -> None:
    """Dies if a rate of a config is no hyperparameter of its members, or one that nothing reads:
    the model would be trained without that dropout, and nobody told."""
    prepared = _prepared(MODELS[name], tmp_path)
    hparams = {n: jnp.float32(v) for n, v in preparing.member_of(prepared).hparams}
    task, source = prepared.task, prepared.source
    corpus, tables = jax.tree.map(jnp.asarray, (source.corpus, source.split(0).tables))
    shared = member.Shared(corpus, schedule.steps([0], ROWS))
    batch = member.gather(shared, tables, 0, jnp.arange(ROWS))
    params = jax.jit(task.init)(jax.random.key(0), batch, hparams)

    @jax.jit
    def loss(changed: dict[str, jax.Array]) -> jax.Array:
        loss, _ = task.loss(params, task.start(ROWS), batch, jax.random.key(1), changed)
        return loss

    before = float(loss(hparams))
    assert np.isfinite(before)
    for rate in MODELS[name].rates.split():
        changed = {**hparams, rate.replace(".", "_"): jnp.float32(0.8)}
        assert float(loss(changed)) != before, rate
