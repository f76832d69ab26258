"""Dropout with traced rates (flax's own needs a Python number, hence a compilation a rate)."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp

Array = jax.Array
_LEVELS = 1 << 16


def mask(key: Array, rate: Array, shape: tuple[int, ...], inverted: bool = True) -> Array:
    """Zeros with probability `rate`, else 1 / (1 - rate) (inverted) or 1; float32 of `shape`.

    The rate is rounded to a multiple of 2**-16: sixteen random bits an element halve the cost of
    the generator. A rate of 0 gives ones exactly. The key is consumed.
    """
    keep = jnp.round((1.0 - rate) * _LEVELS).astype(jnp.uint32)
    kept = jax.random.bits(key, shape, jnp.uint16).astype(jnp.uint32) < keep
    return jnp.where(kept, 1.0 / (1.0 - rate) if inverted else jnp.ones_like(rate), 0.0)


class Dropper:
    """Applies the dropout of one forward pass; every mask takes a key of its own.

    Args:
      kind: "none", "naive" (a fresh mask at each time step) or "variational" (one for all steps).
      rates: traced rates by site name; a site without a rate is left alone.
      key: of this forward pass, consumed; None at evaluation, when nothing is dropped.
      inverted: scale by 1/(1-rate) in training; else by 1-rate at evaluation.
    """

    def __init__(self, kind: str, rates: Mapping[str, Array], key: Array | None, inverted: bool):
        self.kind, self.rates, self.key, self.inverted = kind, rates, key, inverted
        self._drawn = 0

    def next_key(self) -> Array:
        """A key that no other mask of this pass uses."""
        assert self.key is not None
        self._drawn += 1
        return jax.random.fold_in(self.key, self._drawn)

    def drops(self, site: str) -> bool:
        """Whether this pass changes anything at a site."""
        return (
            site in self.rates
            and self.kind != "none"
            and (self.key is not None or not self.inverted)
        )

    def _mask(self, site: str, shape: tuple[int, ...]) -> Array | None:
        if not self.drops(site):
            return None
        rate = self.rates[site]
        if self.key is None:
            return jnp.full(shape, 1.0 - rate)
        return mask(self.next_key(), rate, shape, self.inverted)

    def elements(self, site: str, x: Array) -> Array:
        """A mask entry for every element of x, whatever the kind."""
        drawn = self._mask(site, x.shape)
        return x if drawn is None else x * drawn

    def steps(self, site: str, x: Array) -> Array:
        """Drops from x [T, B, D]: one mask [B, D] for all steps (variational) or one a step."""
        shape = (1, *x.shape[1:]) if self.kind == "variational" else x.shape
        drawn = self._mask(site, shape)
        return x if drawn is None else x * drawn

    def gates(self, site: str, groups: int, shape: tuple[int, int]) -> Array | None:
        """A mask [groups, B, D] for all steps of a recurrent layer; None: no dropout."""
        return self._mask(site, (groups, *shape))
