"""Dropout: rates, scaling, which masks are shared; masks by hash go by position and unit alone."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import dropout, language, ragged
from jaxeval.models.dropout import HashedDropout
from tests.models.test_ragged import independent

KEY, HALF = jax.random.key(5), jnp.float32(0.5)
WORDS = dropout.words(jax.random.key(8))


@pytest.mark.parametrize("inverted", [True, False])
@pytest.mark.parametrize("hashed", [False, True])
def test_rate_and_scale(hashed: bool, inverted: bool) -> None:
    """Dies if keep and drop are swapped, the scale is wrong, or anything is dropped at rate 0."""
    drawn = dropout._mask(jax.random.key(1), jnp.float32(0.3), (20, 20, 500), inverted, hashed)
    scale = 1 / 0.7 if inverted else 1.0
    assert set(np.unique(drawn)) == {np.float32(0), np.float32(scale)}
    assert np.mean(drawn == 0) == pytest.approx(0.3, abs=0.004)  # 4 sd of 200,000 draws
    none = dropout._mask(jax.random.key(0), jnp.float32(0), (1000, 100), hashed=hashed)
    assert np.all(none == 1)


@pytest.mark.parametrize("hashed", [False, True])
def test_sites_gates_and_passes_draw_masks_of_their_own(hashed: bool) -> None:
    """Dies if two masks of a pass, neighbouring passes or neighbouring units share a key."""
    masks = []
    for step in range(2):
        key = jax.random.fold_in(jax.random.key(3), step)
        drop = dropout.KeyedDropout(dict.fromkeys("ab", HALF), key, hashed=hashed)
        masks += [np.asarray(drop.mask(site, (8, 40, 50))) == 0 for site in "ab"]
    pairs = [(m, n) for k, m in enumerate(masks) for n in masks[:k]]
    first = masks[0]
    pairs += [
        (first[1:], first[:-1]),
        (first[:, 1:], first[:, :-1]),
        (first[..., 1:], first[..., :-1]),
    ]
    for left, right in pairs:  # of 14,000 pairs: 4 sd are .017
        assert np.mean(left == right) == pytest.approx(0.5, abs=0.018)


def test_a_new_site_leaves_all_masks_as_they_are() -> None:
    """Dies if numbers of masks depend on how many sites there are, or two masks share one."""
    numbers = {(s, k): dropout._mask_number(s, k) for s in range(18) for k in range(128)}
    assert all(number == s + 6 * k for (s, k), number in numbers.items() if s < 6)
    assert len(set(numbers.values())) == len(numbers)
    assert language.SITES[:6] == ("input", "inter_layer", "state", "update", "output", "projected")


def test_at_evaluation_only_the_non_inverted_kind_scales() -> None:
    """Dies if test-time scaling is lost or doubled (Lample's inputs x .5)."""
    x, rates = jnp.ones((3, 2, 4)), {"input": jnp.float32(0.4)}
    assert np.all(dropout.KeyedDropout(rates, None).steps("input", x) == 1)
    scaled = dropout.KeyedDropout(rates, None, inverted=False).steps("input", x)
    np.testing.assert_allclose(scaled, 0.6, rtol=1e-6)


@jax.jit
def _dropped(words: Any, rate: Any, x: Any) -> Any:
    return HashedDropout(words, rate).apply(x[None] if x.ndim == 2 else x).reshape(x.shape)


def _mask(words: Any, *shape: int) -> np.ndarray:
    """1 at what is kept."""
    return np.asarray(_dropped(words, HALF, np.ones(shape, np.float32)) > 0, np.float64)


def test_hashed_dropout_keeps_the_rate_and_the_mean() -> None:
    """Dies if the scale is wrong, one half keeps another share, or rate 0 or no words change x."""
    x = np.full((301, 10, 50), 3.0, np.float32)
    for rate in (0.02, 0.9):
        flat = np.asarray(_dropped(WORDS, jnp.float32(rate), x), np.float64)
        np.testing.assert_allclose(np.unique(flat), [0, 3 / (1 - rate)], rtol=1e-6)
        for half in (flat[:150], flat[151:], flat):
            spread = 4 * (rate * (1 - rate) / half.size) ** 0.5
            assert np.mean(half > 0) == pytest.approx(1 - rate, abs=spread)
    np.testing.assert_array_equal(_dropped(WORDS, jnp.float32(0), x), x)
    assert HashedDropout(None, 0.4).apply(x) is x


def test_hashed_masks_go_by_position_and_number() -> None:
    """Dies if a mask hangs on how a batch is cut, on what stands first, on the unit's place, or
    bits are drawn for a shape: a wider layer would drop other units."""

    @jax.jit
    def masks(x: jax.Array) -> tuple[jax.Array, ...]:
        drop = HashedDropout(WORDS, 0.5)
        return (
            drop.apply(x),
            drop._replace(rows=jnp.arange(4, 6)).apply(x[:2]),
            drop.apply(x.transpose(1, 0, 2), 1),
            drop.apply(x[..., :3], 0, jnp.array([5, 0, 7])),
        )

    whole, part, turned, chosen = map(np.asarray, masks(np.ones((6, 5, 8), np.float32)))
    np.testing.assert_array_equal(part, whole[4:])
    np.testing.assert_array_equal(turned, whole.transpose(1, 0, 2))
    np.testing.assert_array_equal(chosen, whole[..., [5, 0, 7]])
    np.testing.assert_array_equal(_mask(WORDS, 6, 5, 60)[..., :17], _mask(WORDS, 6, 5, 17))


def test_rows_halves_units_and_sites_drop_on_their_own() -> None:
    """Dies if a row's mask is another's, a unit's another's, half of them the other half, or two
    sites of a pass, of layers or of heads share a mask."""
    mask = _mask(WORDS, 241, 400)
    independent(mask)
    independent(mask.T)
    shared = np.mean(
        [np.corrcoef(a, b)[0, 1] for a, b in zip(mask[:120], mask[120:], strict=False)]
    )
    assert shared == pytest.approx(0, abs=4 / (400 * 120) ** 0.5)
    fold_in = jax.jit(dropout._fold_in)
    sites = [fold_in(WORDS, n) for n in range(8)]
    sites += [fold_in(fold_in(WORDS, a), b) for a in range(4) for b in range(4)]
    sites += [WORDS, *map(dropout.words, jax.random.split(jax.random.key(8), 4))]
    masks = np.stack([_mask(site, 40, 300).reshape(-1) for site in sites])
    independent(masks)
    assert np.abs(np.corrcoef(masks) - np.eye(len(masks))).max() < 5 / (40 * 300) ** 0.5


def test_no_draw_is_an_end_of_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the last of 2**24 steps is rounded to 1, of which the normal quantile is infinite,
    or any other step is moved."""
    ends = np.array([0, 255, 2**31, 2**32 - 512, 2**32 - 256, 2**32 - 1], np.uint32)
    drawn = np.asarray(jax.jit(ragged._open_interval)(ends), np.float64)
    last = 1 - 2.0**-24
    assert drawn.tolist() == [2.0**-25, 2.0**-25, 0.5, 1 - 2.0**-23, last, last]
    monkeypatch.setattr(dropout, "bits", lambda *_: jnp.uint32(2**32 - 1))
    assert np.isfinite(ragged._normal(KEY, ragged.axis(2), ragged.axis(3))).all()
