"""Optimisers and learning rates against formulas, torch and optax."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxeval.config import fields
from jaxeval.errors import ConfigError
from jaxeval.population import optimisers

GRADS = [np.array([0.3, -2.0, 0.0]), np.array([-0.1, 1.0, 0.5])]


START = np.array([1.0, -1.0, 0.5])


def _steps(settings: optimisers.Optimiser, epoch: int = 0) -> np.ndarray:
    """Params after the two gradients."""
    hparams = {n: jnp.float32(v) for n, v in fields.active(settings).items()}
    optimiser = optimisers.make(settings, hparams, jnp.int32(epoch), 1)
    params = {"w": jnp.asarray(START, jnp.float32)}
    state = optimiser.init(params)
    for grad in GRADS:
        updates, state = optimiser.update({"w": jnp.asarray(grad, jnp.float32)}, state, params)
        params = optax.apply_updates(params, updates)
    return np.asarray(params["w"])


def _by_formula(name: str) -> np.ndarray:
    """The papers' update rules, in plain numpy."""
    w, v, s, d, product = START.copy(), np.zeros(3), np.zeros(3), np.zeros(3), 1.0
    for t, g in enumerate(GRADS, 1):
        if name == "sgd":
            w -= 0.1 * g
        elif name == "adagrad":
            s += g * g
            w -= 0.01 * g / np.sqrt(np.maximum(s, 1e-30) + 1e-8) * (s > 0)
        elif name == "adadelta":
            s = 0.95 * s + 0.05 * g * g
            step = np.sqrt(d + 1e-6) / np.sqrt(s + 1e-6) * g
            d = 0.95 * d + 0.05 * step * step
            w -= step
        elif name == "rmsprop":
            s = 0.9 * s + 0.1 * g * g
            w -= 0.001 * g / (np.sqrt(s) + 1e-8)
        else:
            v, s = 0.9 * v + 0.1 * g, 0.999 * s + 0.001 * g * g
            if name == "tf_adam":
                rate = 0.001 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
                w -= rate * v / (np.sqrt(s) + 1e-8)
                continue
            root = np.sqrt(s / (1 - 0.999**t)) + 1e-8
            if name == "adam":
                w -= 0.001 * v / (1 - 0.9**t) / root
                continue
            now, after = (0.9 * (1 - 0.5 * 0.96 ** (i * 0.004)) for i in (t, t + 1))
            product *= now
            w -= 0.002 * (1 - now) / (1 - product) * g / root
            w -= 0.002 * after / (1 - product * after) * v / root
    return w


@pytest.mark.parametrize("name", list(optimisers.DEFAULTS))
def test_optimisers_follow_their_formulas(name: Any) -> None:
    """Dies if a default, an epsilon's place or a bias correction is off."""
    actual = _steps(optimisers.Optimiser(name=name, clip="none"))
    np.testing.assert_allclose(actual, _by_formula(name), rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize(("name", "other"), [("nadam", "NAdam"), ("adam", "Adam")])
def test_optimisers_equal_torch(name: Any, other: str) -> None:
    """Dies if Nadam's momentum schedule is not the published one."""
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.tensor(START))
    optimiser = getattr(torch.optim, other)([weight])
    for grad in GRADS:
        weight.grad = torch.tensor(grad)
        optimiser.step()
    actual = _steps(optimisers.Optimiser(name=name, clip="none"))
    np.testing.assert_allclose(actual, weight.detach().numpy(), rtol=2e-6)


def test_clipping_and_l2() -> None:
    """Dies if value and norm are swapped, the norm is not global, or l2 is left out."""
    sgd = {"learning_rate": 1.0}
    value = optimisers.Optimiser(name="sgd", hyperparameters=sgd, clip="value", clip_at=0.25)
    expected = START - sum(np.clip(g, -0.25, 0.25) for g in GRADS)
    np.testing.assert_allclose(_steps(value), expected, rtol=1e-6)
    norm = optimisers.Optimiser(name="sgd", hyperparameters=sgd, clip="global_norm", clip_at=1.5)
    scaled = [g * min(1, 1.5 / np.linalg.norm(g)) for g in GRADS]
    np.testing.assert_allclose(_steps(norm), START - sum(scaled), rtol=1e-6)
    decayed = optimisers.Optimiser(name="sgd", hyperparameters=sgd, clip="none", l2=0.1)
    w = START.copy()
    for g in GRADS:
        w -= g + 0.1 * w
    np.testing.assert_allclose(_steps(decayed), w, atol=1e-6)


def test_steps_in_any_order() -> None:
    """Dies if a rate of an earlier epoch that is listed last replaces that of a later one."""
    steps = (2, 0.5), (3, 0.25)
    each = [
        _steps(optimisers.Optimiser(name="sgd", clip="none", steps=order), epoch=2)
        for order in (steps, steps[::-1])
    ]
    np.testing.assert_allclose(each, [START - 0.25 * sum(GRADS)] * 2, rtol=1e-6)


PARAMS = {"logits": {"kernel": jnp.array([2.0]), "bias": jnp.array([3.0])}, "words": jnp.ones(2)}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), {"logits": {"kernel": [1.2], "bias": [1.3]}, "words": [1.1, 1.1]}),
        (("logits/kernel",), {"logits": {"kernel": [1.2], "bias": [1.0]}, "words": [1.0, 1.0]}),
        (("kernel", "words"), {"logits": {"kernel": [1.2], "bias": [1.0]}, "words": [1.1, 1.1]}),
    ],
)
def test_named_parameters_decay(names: tuple[str, ...], expected: dict) -> None:
    """Dies if others decay, or a name stands for another parameter."""
    grads = jax.tree.map(jnp.ones_like, PARAMS)
    decay = _decay(names)
    updates, _ = decay.update(grads, decay.init(PARAMS), PARAMS)
    jax.tree.map(
        lambda value, reference: np.testing.assert_allclose(-value, reference, rtol=1e-6),
        updates,
        jax.tree.map(np.array, expected, is_leaf=lambda leaf: isinstance(leaf, list)),
    )


def _decay(names: tuple[str, ...]) -> optax.GradientTransformation:
    hparams = {"learning_rate": 1.0, "momentum": 0.0, "l2": 0.1}
    settings = optimisers.Optimiser(name="sgd", clip="none", l2=0.1, l2_parameters=names)
    return optimisers.make(settings, hparams, jnp.int32(0), 1)


def test_a_name_that_nothing_has_is_refused() -> None:
    """Dies if a misspelt name silently decays nothing."""
    with pytest.raises(ConfigError, match="no parameter's name holds 'kernels'; there are logits"):
        _decay(("kernels",)).init(PARAMS)
