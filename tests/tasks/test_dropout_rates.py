"""Every dropout rate of a config changes the loss: of models that conformance.py does not hold,
and whose scores are not recorded in tests/golden."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.population import member
from jaxeval.studies import prepared as preparing

ROWS = 6
# a model's task, its changes, and the sites of its dropout: keys below `model.dropout`
MODELS = """
language  hidden=6 embedding=4 layers=2          input inter_layer state update output projected
sentiment architecture=tdlstm hidden=4                                              input output
""".strip().splitlines()
DATA = {
    "language": "data.window=5 data.steps_per_epoch=3 training.batch_size=6",
    "sentiment": "data.max_widths=1 data.dimension=4 data.source.sentences=20",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: " ".join(model.split()[:2]))
def test_every_rate_changes_the_loss(model: str, tmp_path: Path) -> None:
    """Dies if a rate of a config is no hyperparameter of its members, or one that nothing reads:
    the model would be trained without that dropout, and nobody told."""
    task_name, *words = model.split()
    sites = [word for word in words if "=" not in word]
    changes = [f"task={task_name}", *DATA[task_name].split()]
    changes += [f"model.{word}" for word in words if "=" in word]
    if task_name == "language":
        for number, part in enumerate(("train", "valid", "test")):
            (tmp_path / f"{part}.txt").write_text(f"cat {number} sat on the mat .\n" * 30)
        changes.append(f"data.path={tmp_path}")
    rates = [f"model.dropout.{site}=0.3" for site in sites]
    prepared = studies.prepare(studies.read(None, [*changes, *rates]))
    hparams = {n: jnp.float32(v) for n, v in preparing.member_of(prepared).hparams}
    task, source = prepared.task, prepared.data
    corpus, tables = jax.tree.map(jnp.asarray, (source.corpus, source.split(0).tables))
    shared = member.Shared(corpus, member.steps([0], ROWS))
    batch = member.gather(shared, tables, 0, jnp.arange(ROWS))
    # of a model's shapes; its own initial values are compiled as long as its loss
    shapes = jax.eval_shape(task.init, jax.random.key(0), batch, hparams)
    draw = np.random.default_rng(0)
    params = jax.tree.map(lambda of: jnp.asarray(draw.normal(0, 0.3, of.shape), of.dtype), shapes)

    @jax.jit
    def loss(changed: dict[str, jax.Array]) -> jax.Array:
        return task.loss(params, task.start(ROWS), batch, jax.random.key(1), changed)[0]

    before = float(loss(hparams))
    assert np.isfinite(before)
    for site in sites:
        changed = {**hparams, f"dropout_{site}": jnp.float32(0.8)}
        assert float(loss(changed)) != before, site
