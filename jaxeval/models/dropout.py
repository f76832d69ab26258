"""Dropout with traced rates (flax's own needs a Python number, hence a compilation a rate).

Two generators make the masks. `mask` draws sixteen bits an element from JAX's: of recurrent
taggers and language models, whose masks are few. `hashed` makes the bits of an element from its
position and unit number alone, so that a mask depends neither on padded units nor on how a batch
is cut: of models whose members differ in size within one program. The position of row r and time
step t is r T + t: within one padded length T. `hashed_mask` is as cheap: of window perceptrons, a
quarter of whose step would be JAX's generator.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.config import fields, markers
from jaxeval.contracts import Array
from jaxeval.models import hash_random

_PREFIX = "dropout_"  # of a rate among hyperparameters, the name of its site behind it
_LEVELS = 1 << 16  # of a rate
_HASHED_LEVELS = 1 << 24
InputRate = Annotated[fields.Rate, markers.dropout(f"{_PREFIX}input")]
OutputRate = Annotated[fields.Rate, markers.dropout(f"{_PREFIX}output")]
StateRate = Annotated[fields.Rate, markers.dropout(f"{_PREFIX}state")]


def rate_name(site: str) -> str:
    """The hyperparameter that is the rate of a site: of every model that has several."""
    return f"{_PREFIX}{site}"


def rates(hparams: Mapping[str, Array]) -> dict[str, Array]:
    """The rates among hyperparameters, by site."""
    return {n.removeprefix(_PREFIX): v for n, v in hparams.items() if n.startswith(_PREFIX)}


def mask(key: Array, rate: Array, shape: tuple[int, ...], inverted: bool = True) -> Array:
    """Zeros with probability `rate`, else 1 / (1 - rate) (inverted) or 1; float32 of `shape`.

    The rate is rounded to a multiple of 2**-16: sixteen random bits an element halve the cost of
    the generator. A rate of 0 gives ones exactly. The key is consumed.
    """
    threshold = jnp.round((1.0 - rate) * _LEVELS).astype(jnp.uint32)
    keep = jax.random.bits(key, shape, jnp.uint16).astype(jnp.uint32) < threshold
    return jnp.where(keep, 1.0 / (1.0 - rate) if inverted else jnp.ones_like(rate), 0.0)


def hashed_mask(key: Array, rate: Array, shape: tuple[int, ...], inverted: bool = True) -> Array:
    """As `mask`, with the bits of `hash_random`; the rate is a multiple of 2**-24."""
    rows, columns = jnp.arange(math.prod(shape[:-1])), jnp.arange(shape[-1])
    drawn = hash_random.bits(hash_random.words(key), rows, columns).reshape(shape)
    return jnp.where(_not_dropped(drawn, rate), 1.0 / (1.0 - rate) if inverted else 1.0, 0.0)


def _not_dropped(bits: Array, rate: Array | float) -> Array:
    """Whether each unit of [...] uint32 stays."""
    return (bits >> 8) < jnp.round((1.0 - rate) * _HASHED_LEVELS).astype(jnp.uint32)


class KeyedDropout:
    """The dropout of one forward pass; every mask takes a key of its own.

    Args:
      rates: traced, by site; a site without a rate drops nothing and costs nothing.
      key: of this forward pass, consumed; None at evaluation, when nothing is dropped.
      sites: all sites there are: masks are numbered by site and layer; without any they are
        numbered as they are drawn.
      variational: `steps` drops the same units at all time steps; else others at each (naive).
      inverted: scale by 1 / (1 - rate) in training; else by 1 - rate at evaluation.
      hashed: masks and keys are made by `hash_random`.
    """

    def __init__(
        self,
        rates: Mapping[str, Array],
        key: Array | None,
        *,
        sites: Sequence[str] = (),
        variational: bool = False,
        inverted: bool = True,
        hashed: bool = False,
    ):
        self.rates, self.key, self.sites = rates, key, sites
        self.variational, self.inverted = variational, inverted
        self._mask = hashed_mask if hashed else mask
        self._fold_in = hash_random.key_of if hashed else jax.random.fold_in
        self._drawn = 0

    def next_key(self) -> Array:
        """A key that no other mask of this pass uses, where masks are numbered as drawn."""
        assert self.key is not None
        self._drawn += 1
        return self._fold_in(self.key, self._drawn)

    def drops(self, site: str) -> bool:
        """Whether this pass changes anything at a site."""
        return site in self.rates and (self.key is not None or not self.inverted)

    def mask(self, site: str, shape: tuple[int, ...], layer: int = 0) -> Array | None:
        """A mask of the shape; None: nothing is dropped."""
        if not self.drops(site):
            return None
        rate = self.rates[site]
        if self.key is None:
            return jnp.full(shape, 1.0 - rate)
        if self.sites:
            number = self.sites.index(site) + len(self.sites) * layer
            key = self._fold_in(self.key, number)
        else:
            key = self.next_key()
        return self._mask(key, rate, shape, self.inverted)

    def elements(self, site: str, x: Array, layer: int = 0) -> Array:
        """x with a mask entry for every element."""
        drawn = self.mask(site, x.shape, layer)
        return x if drawn is None else x * drawn

    def steps(self, site: str, x: Array) -> Array:
        """x [T, B, D] with one mask [B, D] for all steps (variational), or one a step."""
        drawn = self.mask(site, (1, *x.shape[1:]) if self.variational else x.shape)
        return x if drawn is None else x * drawn


def hashed(
    words: Array, rate: Array | float, x: Array, positions: Array, numbers: Array | None = None
) -> Array:
    """x [..., n] with units zeroed at random, the others scaled up.

    A hash makes the bits of one unit: when two shared one, putting the halves side by side was a
    pass of its own, 15 % of a transformer's step. Rates are multiples of 2**-24.

    Args:
      words: of `hash_random`, consumed.
      positions: [...] int32; the mask of a unit depends on its position and number, not on the
        shape.
      numbers: [n] int32 of the units; None: in order.
    """
    numbers = jnp.arange(x.shape[-1]) if numbers is None else numbers
    drawn = hash_random.bits(words, positions.reshape(-1), numbers).reshape(x.shape)
    return jnp.where(_not_dropped(drawn, rate), x / (1.0 - rate), 0.0)


class HashedDropout(NamedTuple):
    """Dropout of one pass: every site has words of its own; without any nothing is dropped."""

    words: Array | None = None  # [2] uint32 (`hash_random.words`)
    rate: Array | float = 0.0
    rows: Array | None = None  # [B] positions of the rows in their batch; None: in order

    def at(self, *numbers: int | Array) -> "HashedDropout":
        """The dropout of a site."""
        words = self.words
        if words is not None:
            for number in numbers:
                words = hash_random.fold_in(words, number)
        return self._replace(words=words)

    def apply(self, x: Array, rows_axis: int = 0, numbers: Array | None = None) -> Array:
        """x [B, T, n], or [T, B, n] with 1: units dropped by row, time step and number [n].

        The same row and step of another padded length T have another mask, but for row 0.
        """
        if self.words is None:
            return x
        steps = x.shape[1 - rows_axis]
        rows = jnp.arange(x.shape[rows_axis]) if self.rows is None else self.rows
        positions = rows[:, None] * steps + jnp.arange(steps)[None]
        if rows_axis:
            positions = positions.T
        return hashed(self.words, self.rate, x, positions, numbers)
