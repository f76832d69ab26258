"""Dropout with traced rates (Flax's own needs a Python number, hence a compilation a rate).

Two generators make the masks. JAX's draws sixteen bits an element. The other makes them from a row
and a column number alone: for window perceptrons, a quarter of whose step JAX's would be, and for
models whose members differ in size: a mask depends neither on padded units nor on how a batch is
cut.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from jaxeval.config import fields
from jaxeval.contracts import Array

_PREFIX = "dropout_"  # of a rate among hyperparameters, the name of its site behind it
_GOLDEN = np.uint32(0x9E3779B9)
InputRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}input")]
OutputRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}output")]
StateRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}state")]
InterLayerRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}inter_layer")]
UpdateRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}update")]
ProjectedRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}projected")]
HiddenRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}hidden")]
AttentionInputRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}attention_input")]
AttentionRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}attention")]
LayerInputRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}layer_input")]
CharactersRate = Annotated[fields.Rate, fields.dropout(f"{_PREFIX}characters")]
Kind = Annotated[
    Literal["none", "naive", "variational"],
    Field(description="of sequences; variational: one mask for all words; naive: one each"),
]


def rate_name(site: str) -> str:
    """The hyperparameter that is the rate of a site, in models that have several."""
    return f"{_PREFIX}{site}"


def rates(hparams: Mapping[str, Array]) -> dict[str, Array]:
    """The rates among hyperparameters, by site."""
    return {n.removeprefix(_PREFIX): v for n, v in hparams.items() if n.startswith(_PREFIX)}


def _mix(x: Array) -> Array:
    """A bijection of 32-bit numbers whose outputs look random (murmur3's last step, Appleby)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def words(key: Array) -> Array:
    """[2] uint32: what `bits` needs of a threefry key, which is consumed."""
    return jax.random.key_data(key).astype(jnp.uint32)


def fold_in(words: Array, number: Array | int) -> Array:
    """Other words for every number."""
    return _mix(words + _mix(jnp.asarray(number).astype(jnp.uint32) * _GOLDEN + 3))


@jax.jit  # traced once for all masks and weights of a shape
def bits(words: Array, rows: Array, columns: Array) -> Array:
    """[rows, columns] uint32 that depend on the words and the numbers of row and column alone."""
    first, second = words
    by_row = _mix(first ^ _mix(rows.astype(jnp.uint32) * _GOLDEN + 1))
    by_column = _mix(second ^ _mix(columns.astype(jnp.uint32) * _GOLDEN + 2))
    return _mix(by_row[:, None] + by_column[None])


def _keeps(bits: Array, rate: Array | float, count: int) -> Array:
    """Which elements stay: bits are uniform below 2**count, to which the rate is rounded."""
    return bits < jnp.round((1.0 - rate) * (1 << count)).astype(jnp.uint32)


def mask(
    key: Array, rate: Array, shape: tuple[int, ...], inverted: bool = True, hashed: bool = False
) -> Array:
    """Zeros with probability `rate`, else 1 / (1 - rate) (inverted) or 1; float32 of `shape`.

    A rate of 0 gives ones exactly. The key is consumed.
    """
    if hashed:
        rows, columns = jnp.arange(math.prod(shape[:-1])), jnp.arange(shape[-1])
        keeps = _keeps(bits(words(key), rows, columns).reshape(shape) >> 8, rate, 24)
    else:
        keeps = _keeps(jax.random.bits(key, shape, jnp.uint16).astype(jnp.uint32), rate, 16)
    return jnp.where(keeps, 1.0 / (1.0 - rate) if inverted else jnp.ones_like(rate), 0.0)


class KeyedDropout:
    """The dropout of one forward pass; every mask takes a key of its own.

    Args:
      rates: traced, by site; a site without a rate drops nothing and costs nothing.
      key: of this forward pass, consumed; None at evaluation, when nothing is dropped.
      sites: masks are numbered by site and layer; without sites, as they are drawn.
      variational: `steps` drops the same units at all time steps; else others at each (naive).
      inverted: scale by 1 / (1 - rate) in training; else by 1 - rate at evaluation.
      hashed: masks and keys are made from numbers alone.
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
        self.variational, self.inverted, self.hashed = variational, inverted, hashed
        self._drawn = 0

    def next_key(self, number: int | None = None) -> Array:
        """A key that no other mask of this pass uses; without a number, numbered as drawn."""
        assert self.key is not None
        if number is None:
            self._drawn += 1
            number = self._drawn
        if not self.hashed:
            return jax.random.fold_in(self.key, number)
        made = fold_in(words(self.key), number)
        return jax.random.wrap_key_data(made, impl=jax.random.key_impl(self.key))

    def drops(self, site: str) -> bool:
        """Whether this pass changes anything at a site."""
        return site in self.rates and (self.key is not None or not self.inverted)

    def mask(self, site: str, shape: tuple[int, ...], layer: int = 0) -> Array | None:
        """A mask of the shape; None: nothing is dropped."""
        if not self.drops(site):
            return None
        rate, sites = self.rates[site], self.sites
        if self.key is None:
            return jnp.full(shape, 1.0 - rate)
        key = self.next_key(sites.index(site) + len(sites) * layer if sites else None)
        return mask(key, rate, shape, self.inverted, self.hashed)

    def elements(self, site: str, x: Array, layer: int = 0) -> Array:
        """x with a mask entry for every element."""
        drawn = self.mask(site, x.shape, layer)
        return x if drawn is None else x * drawn

    def steps(self, site: str, x: Array) -> Array:
        """x [T, B, D] with one mask [B, D] for all steps (variational), or one a step."""
        drawn = self.mask(site, (1, *x.shape[1:]) if self.variational else x.shape)
        return x if drawn is None else x * drawn


class HashedDropout(NamedTuple):
    """Dropout of one pass: every site has words of its own; without any nothing is dropped."""

    words: Array | None = None  # [2] uint32
    rate: Array | float = 0.0
    rows: Array | None = None  # [B] positions of the rows in their batch; None: in order

    def at(self, *numbers: int | Array) -> "HashedDropout":
        """The dropout of a site."""
        words = self.words
        if words is not None:
            for number in numbers:
                words = fold_in(words, number)
        return self._replace(words=words)

    def apply(self, x: Array, rows_axis: int = 0, numbers: Array | None = None) -> Array:
        """x [B, T, n], or [T, B, n] with 1: units dropped by position r T + t and number [n]."""
        if self.words is None:
            return x
        steps = x.shape[1 - rows_axis]
        rows = jnp.arange(x.shape[rows_axis]) if self.rows is None else self.rows
        positions = rows[:, None] * steps + jnp.arange(steps)[None]
        positions = positions.T if rows_axis else positions
        numbers = jnp.arange(x.shape[-1]) if numbers is None else numbers
        # a hash a unit: with two to a hash, putting the halves side by side was a pass of its own
        drawn = bits(self.words, positions.reshape(-1), numbers).reshape(x.shape)
        return jnp.where(_keeps(drawn >> 8, self.rate, 24), x / (1.0 - self.rate), 0.0)
