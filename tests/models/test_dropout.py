"""Dropout: rates, scaling, and which masks are shared over time."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import dropout


@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize("draw", [dropout.mask, dropout.hashed_mask])
def test_rate_and_scale(draw: Callable[..., jax.Array], inverted: bool) -> None:
    """Dies if keep and drop are swapped or the scale is wrong."""
    drawn = draw(jax.random.key(1), jnp.float32(0.3), (20, 20, 500), inverted)
    assert drawn.shape == (20, 20, 500)
    scale = 1 / 0.7 if inverted else 1.0
    assert set(np.unique(drawn)) == {np.float32(0), np.float32(scale)}
    assert np.mean(drawn == 0) == pytest.approx(0.3, abs=0.004)  # 4 sd of 200,000 draws


def test_rate_zero_changes_nothing() -> None:
    """Dies if rounding of the rate drops anything at 0."""
    for draw in (dropout.mask, dropout.hashed_mask):
        assert np.all(draw(jax.random.key(0), jnp.float32(0), (1000, 100)) == 1)


def _drawn(kind: str) -> np.ndarray:
    rates, variational = {"output": jnp.float32(0.5)}, kind == "variational"
    drop = dropout.KeyedDropout(rates, jax.random.key(2), variational=variational)
    return np.asarray(drop.steps("output", jnp.ones((6, 5, 40))))


def test_variational_mask_is_constant_over_time_and_naive_is_not() -> None:
    """Dies if the two kinds are swapped."""
    variational, naive = _drawn("variational"), _drawn("naive")
    assert np.all(variational == variational[:1])
    assert np.any(variational[0] != variational[0, :1])  # sentences differ
    assert all(np.any(naive[t] != naive[0]) for t in range(1, 6))


@pytest.mark.parametrize("hashed", [False, True])
def test_sites_and_gates_draw_masks_of_their_own(hashed: bool) -> None:
    """Dies if two masks of a pass share a key."""
    rates = {"layer_input": jnp.float32(0.5), "recurrent": jnp.float32(0.5)}
    drop = dropout.KeyedDropout(rates, jax.random.key(0), hashed=hashed)
    first, second = (drop.mask(site, (4, 8, 50)) for site in rates)
    assert first is not None and second is not None and first.shape == (4, 8, 50)
    assert np.any(first != second) and np.any(first[0] != first[1])


def test_at_evaluation_only_the_non_inverted_kind_scales() -> None:
    """Dies if test-time scaling is lost or doubled (Lample's inputs x .5)."""
    x = jnp.ones((3, 2, 4))
    rates = {"input": jnp.float32(0.4)}
    assert np.all(dropout.KeyedDropout(rates, None).steps("input", x) == 1)
    scaled = dropout.KeyedDropout(rates, None, inverted=False).steps("input", x)
    np.testing.assert_allclose(scaled, 0.6, rtol=1e-6)


def test_hashed_masks_of_two_passes_are_unrelated() -> None:
    """Dies if keys of neighbouring passes, or neighbouring units, have masks in common."""
    rates = {"output": jnp.float32(0.5)}
    drawn = []
    for step in range(2):
        key = jax.random.fold_in(jax.random.key(3), step)
        drop = dropout.KeyedDropout(rates, key, hashed=True)
        drawn.append(np.asarray(drop.mask("output", (8, 40, 50))) == 0)
    first, second = drawn
    pairs = [(first, second), (first[:, 1:], first[:, :-1]), (first[..., 1:], first[..., :-1])]
    for left, right in pairs:  # of 15,000 pairs: 4 sd are .016
        assert np.mean(left == right) == pytest.approx(0.5, abs=0.017)


def test_hashed_masks_are_the_same_under_another_default_generator() -> None:
    """Dies if a hashed key is one of JAX's default generator, whose keys may be larger."""
    key = jax.random.key(3, impl="threefry2x32")

    def drawn() -> jax.Array | None:
        drop = dropout.KeyedDropout({"input": jnp.float32(0.5)}, key, sites=["input"], hashed=True)
        return drop.mask("input", (3, 40))

    usual = drawn()
    with jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(drawn(), usual)
